from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from reviewbot import cli
from reviewbot.cli import main
from reviewbot.engine.baseline import write_baseline
from reviewbot.engine.model import Fix, Replacement
from reviewbot.engine.registry import load_rules
from tests.review.conftest import Reviewed
from tests.review.double import Fault
from tests.review.kit import committed, git, numbered
from tests.support import marks, module

ROOT = Path(__file__).parent.parent.parent


def dry_run(capsys: pytest.CaptureFixture[str], root: Path, *argv: str) -> tuple[int, Any]:
    status = main(["-C", str(root), "review", "--no-cache", "--dry-run", *argv])
    out = capsys.readouterr().out
    report = json.loads(out)
    schema = json.loads((ROOT / "schemas" / "review-report.schema.json").read_text("utf-8"))
    jsonschema_rs.validator_for(schema).validate(report)
    return status, report


def test_a_dry_run_needs_git_alone(reviewed: Reviewed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*argv: Any, **more: Any) -> None:
        raise AssertionError("a dry run opens a socket")

    root = reviewed.root / "repository"
    reviewed.prepare({"a.yaml": "BAD 1\n", "sub/b.yaml": "x\nBAD 2\n"}, {"z.yaml": "BAD 0\n"}, None, False)
    monkeypatch.setattr(socket, "socket", refuse)
    for name in ("GITHUB_TOKEN", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    status, report = dry_run(capsys, root, "--base", "main", "--head", "topic")
    assert status == 1
    assert [(c["path"], c["line"], c["side"], c["start_line"]) for c in report["comments"]] == [
        ("a.yaml", 1, "RIGHT", None),
        ("sub/b.yaml", 2, "RIGHT", None),
    ]
    assert report["comments"][0]["body"].startswith("**error** `bad-word`: BAD is written\n")
    assert "2 errors new" in report["summary"] and "z.yaml" not in json.dumps(report)
    assert dry_run(capsys, root, "--base", "main", "--head", "main") == (
        0,
        {**report, "head": report["base"], "comments": [], "summary": ""},
    )


def test_what_is_posted_is_what_the_dry_run_says(reviewed: Reviewed, capsys: pytest.CaptureFixture[str]) -> None:
    reviewed()
    _, report = dry_run(capsys, reviewed.root / "repository", "--base", "main", "--head", "topic", "--repo", "bench/recipes")
    assert [(c["path"], c["line"], c["body"]) for c in report["comments"]] == [(c.path, c.line, c.body) for c in reviewed.double.own()]
    [summary] = reviewed.double.summaries().values()
    assert summary.startswith(report["summary"])


def test_markdown_for_people_is_no_workflow_command(reviewed: Reviewed, capsys: pytest.CaptureFixture[str]) -> None:
    reviewed.prepare({"a.yaml": "::error::BAD\n"}, {}, None, False)
    main(
        [
            "-C",
            str(reviewed.root / "repository"),
            "review",
            "--no-cache",
            "--dry-run",
            "--base",
            "main",
            "--head",
            "topic",
            "--format",
            "markdown",
        ]
    )
    out = capsys.readouterr().out
    assert "**a.yaml:1**" in out and not any(line.lstrip().startswith("::") for line in out.split("\n"))


def test_the_life_of_a_pull_request(reviewed: Reviewed) -> None:
    status, out, step = reviewed()
    assert status == 1 and out == "" and "2 errors new" in step
    assert (reviewed.root / "output").read_text().startswith("findings=2\nerrors=2\nmerge-base=")
    count = len(reviewed.double.requests)
    reviewed(again=True)
    assert {verb for verb, path in reviewed.double.requests[count:] if path != "/graphql"} == {"GET"}
    # Lines move, one is fixed, one is new.
    reviewed(files={"a.yaml": "x\ny\nBAD 1\n", "sub/b.yaml": "fine\n", "c.yaml": "BAD 3\n"})
    bodies = {(c.path, "Fixed in" in c.body) for c in reviewed.double.own()}
    assert bodies == {("a.yaml", False), ("sub/b.yaml", True), ("c.yaml", False)} and len(reviewed.double.own()) == 3
    status, _, step = reviewed(files={"a.yaml": "x\n", "c.yaml": "x\n"})
    assert status == 0 and all("Fixed in" in c.body for c in reviewed.double.own()) and "3 fixed" in step


def test_a_finding_that_main_has_meanwhile_is_not_called_fixed(reviewed: Reviewed) -> None:
    reviewed()
    root = reviewed.root / "repository"
    git(root, "checkout", "-q", "main")
    reviewed.base = committed(root, {"a.yaml": "BAD 1\n"})
    git(root, "checkout", "-q", "topic")
    git(root, "merge", "-q", "main", "-m", "merge")
    reviewed(files={})
    [comment] = [c for c in reviewed.double.own() if c.path == "a.yaml"]
    assert "the base branch has it too" in comment.body and "Fixed" not in comment.body


def test_settings_of_the_change_are_linted_and_not_obeyed(reviewed: Reviewed) -> None:
    off = {"a.yaml": "BAD 1\n", ".reviewbot.yaml": "rules: {bad-word: off}\nfail-on: never\n"}
    status, _, _ = reviewed(files=off)
    assert status == 1 and [c.path for c in reviewed.double.own()] == ["a.yaml"]
    assert "The settings are those of the base" in next(iter(reviewed.double.summaries().values()))
    reviewed(files={".reviewbot.yaml": "fail-on: never\nrulse: {}\n"})
    assert {(c.path, c.line) for c in reviewed.double.own()} == {("a.yaml", 1), (".reviewbot.yaml", 2)}


def test_a_baseline_of_the_change_does_not_count(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = write_baseline([])
    status, _, _ = reviewed("--baseline", "known.json", files={"a.yaml": "BAD 1\n", "known.json": "{broken"}, base={"known.json": empty})
    assert status == 1 and len(reviewed.double.own()) == 1


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault(500, times=99), 3),
        (Fault(401, "Bad credentials", times=99), 3),
        (Fault(404, "Not Found", times=99), 3),
        (Fault(403, "secret-token is not allowed\n::stop-commands::x", times=99), 3),
    ],
)
def test_faults_of_the_api_lose_nothing(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, fault: Fault, status: int) -> None:
    import time

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    from reviewbot.review.client import GitHub

    monkeypatch.setattr(GitHub.__init__, "__kwdefaults__", {**(GitHub.__init__.__kwdefaults__ or {}), "wait": lambda seconds: None})
    reviewed.double.faults.append(fault)
    got, out, step = reviewed()
    assert got == status and out.count("::error ") == 2 and step.count("bad-word") == 2
    assert "\n::" not in "\n" + reviewed.errors


def test_no_token_means_annotations(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = reviewed.prepare({"a.yaml": "BAD 1\n"}, {}, None, False)
    event = {
        "pull_request": {"number": 1, "head": {"sha": head, "ref": "t", "repo": {"full_name": "bench/recipes"}}, "base": {"sha": base}}
    }
    step = reviewed.environment("http://127.0.0.1:9", event, "pull_request")
    monkeypatch.setenv("GITHUB_TOKEN", "")
    assert reviewed.run(step) == (1, step_out(1), step.read_text())
    assert "bad-word" in step.read_text()


def step_out(line: int) -> str:
    return f"::error file=a.yaml,line={line},title=reviewbot%3A bad-word,col=1::BAD is written\nreviewbot: 1 error\n"


@pytest.mark.parametrize(
    ("name", "event"),
    [("push", {"before": "BASE", "after": "HEAD"}), ("merge_group", {"merge_group": {"base_sha": "BASE", "head_sha": "HEAD"}})],
)
def test_events_without_a_pull_request_are_annotated(reviewed: Reviewed, name: str, event: dict[str, Any]) -> None:
    base, head = reviewed.prepare({"a.yaml": "BAD 1\n"}, {}, None, False)
    text = json.dumps({**event, "repository": {"full_name": "bench/recipes"}}).replace("BASE", base).replace("HEAD", head)
    step = reviewed.environment("http://127.0.0.1:9", json.loads(text), name)
    assert reviewed.run(step)[:2] == (1, step_out(1))
    first = json.dumps({"before": "0" * 40, "after": head, "repository": {"full_name": "bench/recipes"}})
    step = reviewed.environment("http://127.0.0.1:9", json.loads(first), "push")
    assert reviewed.run(step)[:2] == (1, step_out(1))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--dry-run"], "needs --base"),
        (["--dry-run", "--base", "gone"], "no revision 'gone'"),
        (["--dry-run", "--base", "--output=x"], "expected one argument"),
        ([], "GITHUB_EVENT_PATH is not set"),
        (["--event", "/nonexistent"], "No such file"),
        (["--repo", "../x", "--base", "main", "--head", "topic"], "OWNER/NAME"),
        (["--pr", "0"], "at least 1"),
        (["--dry-run", "--base", "main", "--baseline", "none.json"], "none.json"),
        (["--dry-run", "--base", "main", "--sarif", "/nonexistent/x"], "No such file"),
    ],
)
def test_bad_usage(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    reviewed.prepare({"a.yaml": "BAD 1\n"}, {}, None, False)
    monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    assert main(["-C", str(reviewed.root / "repository"), "review", *argv]) == 2
    assert said in capsys.readouterr().err


def test_a_workflow_run_checks_nothing_itself(reviewed: Reviewed) -> None:
    reviewed.prepare({"a.yaml": "BAD 1\n"}, {}, None, True)
    event = {"workflow_run": {"head_sha": "a" * 40, "head_repository": {"full_name": "stranger/recipes"}}}
    step = reviewed.environment("http://127.0.0.1:9", event, "workflow_run")
    assert reviewed.run(step)[0] == 2 and "--artifact-in" in reviewed.errors


@pytest.mark.parametrize(("ending", "suggested"), [("\n", True), ("\r\n", False)])
def test_suggestions_keep_line_ends(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, ending: str, suggested: bool) -> None:
    def check(context: Any) -> Any:
        for one in marks(context):
            yield replace(one, fix=Fix("mend", (Replacement(one.path, one.line, 1, one.line, 4, "GOOD"),), True))

    monkeypatch.setattr(cli, "_known_rules", lambda: {"bad-word": module("bad-word", check)})
    reviewed(files={"a.yaml": f"x{ending}BAD 1{ending}"})
    [comment] = reviewed.double.own()
    assert ("```suggestion\nGOOD 1\n```" in comment.body) is suggested


def test_a_recipe_with_two_faults_and_its_repair(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new recipe: a value of it is rewritten by the launcher, and a comment says what the line above does not."""
    launcher = "sed -i 's/max_attempts: [0-9]*/max_attempts: 720/' recipe.yaml\nsrtctl apply -f recipe.yaml\n"
    recipe = (
        numbered(34)
        + "max_attempts: 1440 BAD\n"
        + numbered(36)
        + "RETENTION: '0'\n# BAD there is no\n"
        + "# RETENTION here\n" * 5
        + numbered(60)
    )
    reviewed(files={"recipe.yaml": recipe}, base={"launch.sh": launcher})
    assert [(c.path, c.start_line, c.line) for c in reviewed.double.own()] == [("recipe.yaml", None, 35), ("recipe.yaml", None, 73)]
    requests = len(reviewed.double.requests)
    reviewed(again=True)
    assert {verb for verb, path in reviewed.double.requests[requests:] if path != "/graphql"} == {"GET"}
    reviewed(files={"recipe.yaml": recipe.replace("BAD", "fine")})
    assert all("Fixed in" in c.body for c in reviewed.double.own()) and len(reviewed.double.own()) == 2


def test_real_rules_and_real_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo repository with all rules, as a pull request that adds everything."""
    import shutil

    base = committed(tmp_path / "demo", {"README.md": "x\n"})
    shutil.copytree(ROOT / "fixtures" / "demo", tmp_path / "demo", dirs_exist_ok=True)
    committed(tmp_path / "demo", {})
    status, report = dry_run(capsys, tmp_path / "demo", "--base", base)
    assert status in (0, 1) and not report["incomplete"]
    assert {c["rule"] for c in report["comments"]} <= load_rules().keys() and cli.OK == 0
