"""The verb, from a plan to a report, on this machine."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from reviewbot.cli import main
from reviewbot.sweep.ledger import Ledger
from reviewbot.sweep.plan import make_plan, paths_of, plan_text, read_plan
from tests.sweep.support import ROOT, execute, ledger_of, point, write_plan

KEY = "tiny-bf16-lab-vllm[1k1k,tp1,conc4]@lab_00"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(demo: Path) -> Path:
    git(demo, "init", "-q", "-b", "main")
    git(demo, "add", "-A")
    git(demo, "commit", "-qm", "one")
    return demo


def validate(name: str, data: Any) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema).validate(data)


def states(plan: Path) -> dict[str, int]:
    ledger = Ledger.open(paths_of(plan)[0])
    try:
        return {state: count for state, count in ledger.status().counts.items() if count}
    finally:
        ledger.close()


def reason(plan: Path, key: str) -> str:
    ledger = Ledger.open(paths_of(plan)[0])
    row = ledger.point(key)
    ledger.close()
    assert row is not None
    return f"{row.outcome}: {row.reason}"


def test_from_plan_to_report(repository: Path, tmp_path: Path, call: Any):
    plan = tmp_path / "plan.json"
    status, out, _ = call("-C", repository, "sweep", "plan", "--all", "--filter", "tp=1", "-o", plan, "--format", "json")
    summary = json.loads(out)
    validate("sweep-summary", summary)
    assert status == 0 and len(summary["points"]) == 7 and summary["left_out"] == []
    status, _, err = call("-C", repository, "sweep", "run", plan, "--gpus", "2", "--jobs", "2")
    assert status == 0, err
    assert states(plan) == {"done": 7}
    status, out, _ = call("sweep", "status", plan, "--format", "json")
    validate("sweep-status", json.loads(out))
    assert status == 0 and json.loads(out)["left"] == 0 and json.loads(out)["counts"]["done"] == 7
    status, out, _ = call("sweep", "logs", plan, KEY)
    assert status == 0 and "fixed done" in out and "attempt 1  running" in out
    status, out, _ = call("sweep", "report", plan, "--compare", plan, "--format", "json")
    validate("sweep-report", json.loads(out))
    assert status == 0
    rows = list(csv.DictReader((tmp_path / "plan.report" / "results.csv").read_text().splitlines()))
    by_key = {row["key"]: row for row in rows if row["shape"] != "eval"}
    assert by_key[KEY]["successful"] == "8" and by_key[KEY]["receipt"] == read_plan(plan).by_key[KEY].receipt["digest"]
    assert float(by_key[KEY]["interactivity"]) > 0 and float(by_key[KEY]["tput_per_gpu"]) > 0
    assert {row["shape"] for row in rows} == {"fixed", "agentic", "eval"}
    # A second run has nothing to do, and is refused without --resume.
    assert call("-C", repository, "sweep", "run", plan)[::2] == (
        2,
        f"reviewbot: {paths_of(plan)[0]}: there is a ledger of this plan already: --resume goes on with it\n",
    )
    assert call("-C", repository, "sweep", "run", plan, "--resume")[0] == 0


def test_faults_are_told_apart(repository: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEMO_FAULT", "crash:4,errors:8,empty:16,broken:32,half:64")
    plan = tmp_path / "plan.json"
    words = ["--filter", "isl=1024", "--pass-env", "DEMO_FAULT", "--server-log", "server.log"]
    assert call("-C", repository, "sweep", "plan", "tiny-bf16-lab-vllm", *words, "-o", plan)[0] == 0
    assert call("-C", repository, "sweep", "run", plan, "--jobs", "3")[0] == 1
    assert states(plan) == {"done": 1, "failed": 6}
    for conc, said in (
        ("tp1,conc4", "startup-failure: the server's log says: torch.OutOfMemoryError"),
        ("tp1,conc8", "no-success: "),
        ("tp1,conc16", "empty: it left no result"),
        ("tp1,conc32", "unreadable-result: "),
        ("tp2,conc64", "success: None"),
    ):
        assert reason(plan, f"tiny-bf16-lab-vllm[1k1k,{conc}]@lab_00").startswith(said)
    monkeypatch.setenv("DEMO_FAULT", "")
    assert call("sweep", "retry", plan, "--failed")[1].startswith("6 points pending again")
    assert call("-C", repository, "sweep", "run", plan, "--resume", "--jobs", "3")[0] == 0
    assert states(plan) == {"done": 7}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: edit(r / "runners/launch_lab.sh", "set -euo pipefail", "set -euo pipefail  #"), "runners/launch_lab.sh changed"),
        (lambda r: edit(r / "serving/client.py", "seconds: float = 30.0", "seconds: float = 40.0"), "serving/client.py changed"),
        (lambda r: edit(r / "configs/nvidia-master.yaml", "v0.11.0", "v0.11.1"), "configs/nvidia-master.yaml changed (line "),
        (lambda r: (edit(r / "README.md", "invented", "imagined"), git(r, "commit", "-qam", "two")), "the repository is at "),
        (lambda r: (r / "benchmarks/single_node/fixed_seq_len/tiny_bf16_lab.sh").unlink(), "it has an error now: "),
        (lambda r: edit(r / "configs/nvidia-master.yaml", "conc-start: 4", "conc-start: 8"), "no such point any more"),
    ],
    ids=["launcher", "client", "master", "commit", "error", "gone"],
)
def test_a_stale_receipt_is_refused(repository: Path, tmp_path: Path, call: Any, change: Callable[[Path], Any], said: str):
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", KEY, "-o", plan)[0] == 0
    change(repository)
    status, _, err = call("-C", repository, "sweep", "run", plan)
    assert status == 1 and f"refused   {KEY}: " in err and said in err
    assert states(plan) == {"refused": 1}
    assert not (paths_of(plan)[1] / "points").exists()


def test_a_plan_with_another_command_is_refused(repository: Path, tmp_path: Path, call: Any):
    """Its id and its receipts are in order: somebody made the plan anew around another command."""
    path = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", KEY, "-o", path)[0] == 0
    found = read_plan(path)
    [made] = found.points
    evil = replace(made, files={"step.sh": "touch /tmp/evil\n"})
    again = make_plan([evil], (), made=found.made, repository=found.repository, commit=found.commit, revision=None, options=found.options)
    path.write_text(plan_text(again))
    status, _, err = call("-C", repository, "sweep", "run", path)
    assert status == 1 and "its files in the plan is not what the receipt was made for" in err
    assert not (paths_of(path)[1] / "points").exists()


def test_an_unrelated_file_refuses_nothing(repository: Path, tmp_path: Path, call: Any):
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", KEY, "-o", plan)[0] == 0
    edit(repository / "README.md", "invented", "imagined")
    assert call("-C", repository, "sweep", "run", plan)[0] == 0


def test_a_change_between_two_points_is_seen(repository: Path, tmp_path: Path, call: Any):
    """The first point edits the repository that it was planned from; the second is not executed any more."""
    edit(repository / "runners/launch_lab.sh", "set -euo pipefail", f'set -euo pipefail\necho "# x" >> "{repository}/serving/server.py"')
    git(repository, "commit", "-qam", "two")
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", "tiny-bf16-lab-vllm", "--filter", "isl=1024", "--filter", "tp=1", "-o", plan)[0] == 0
    status, _, err = call("-C", repository, "sweep", "run", plan, "--jobs", "1")
    assert status == 1 and "serving/server.py changed" in err
    assert states(plan) == {"done": 1, "refused": 3}


def test_a_plan_of_a_commit_is_executed_as_committed(repository: Path, tmp_path: Path, call: Any):
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", KEY, "--head", "HEAD", "-o", plan)[0] == 0
    edit(repository / "runners/launch_lab.sh", "set -euo pipefail", "exit 1")
    assert call("-C", repository, "sweep", "run", plan)[0] == 0


def test_points_with_errors_are_left_out(repository: Path, tmp_path: Path, call: Any):
    (repository / "benchmarks/single_node/agentic/tiny_bf16_lab.sh").unlink()
    plan = tmp_path / "plan.json"
    status, out, _ = call("-C", repository, "sweep", "plan", "--all", "-o", plan)
    assert status == 0 and "8 points" in out and "2 left out" in out
    [first, _] = read_plan(plan).left_out
    assert first.key.startswith("tiny-bf16-lab-vllm-agentic") and first.findings[0]["level"] == "error"


def test_findings_come_before_the_first_job(repository: Path, tmp_path: Path, call: Any):
    edit(repository / "configs/nvidia-master.yaml", "  image: vllm", "  # reviewbot: ignore[no-such-rule]: a demonstration\n  image: vllm")
    git(repository, "commit", "-qam", "two")
    out = call("-C", repository, "check")[1]
    assert "[" in out, "the demo needs a finding here"
    plan = tmp_path / "plan.json"
    call("-C", repository, "sweep", "plan", KEY, "-o", plan)
    lines = call("-C", repository, "sweep", "run", plan)[2].splitlines()
    places = {word: number for number, line in enumerate(lines) for word in line.split()[:1]}
    assert places.get("note", places.get("warning", places.get("error", 99))) < places.get("done", 100)


def test_changed_points_only(repository: Path, tmp_path: Path, call: Any):
    edit(repository / "configs/nvidia-master.yaml", "  - { tp: 1, conc-list: [8] }", "  - { tp: 1, conc-list: [8, 12] }")
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", "--changed", "--base", "HEAD", "-o", plan)[0] == 0
    assert [one.point for one in read_plan(plan).points] == ["tiny-bf16-lab-vllm[8k1k,tp1,conc12]"]


def test_scripts_in_containers(repository: Path, tmp_path: Path, call: Any):
    for container, first in (("docker", "docker"), ("pyxis", "srun"), ("none", "bash")):
        plan = tmp_path / f"{container}.json"
        assert call("-C", repository, "sweep", "plan", KEY, "--as", "script", "--container", container, "-o", plan)[0] == 0
        [made] = read_plan(plan).points
        assert (made.kind, made.argv[0], made.argv[-1]) == ("script", first, "benchmarks/single_node/fixed_seq_len/tiny_bf16_lab.sh")
        assert ("vllm/vllm-openai:v0.11.0" in " ".join(made.argv)) is (container != "none")
    assert call("-C", repository, "sweep", "run", tmp_path / "none.json")[0] == 0


@pytest.mark.parametrize(("order", "first"), [("matrix", "conc4]@"), ("cost", "conc4]@"), ("fit", "conc4]@")])
def test_orders(repository: Path, tmp_path: Path, call: Any, order: str, first: str):
    plan = tmp_path / "plan.json"
    assert call("-C", repository, "sweep", "plan", "--all", "--order", order, "-o", plan)[0] == 0
    points = read_plan(plan).points
    assert len(points) == 10 and points[0].key.count(first)
    if order == "cost":
        assert [point.gpu_hours for point in points] == sorted(point.gpu_hours for point in points)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan"], "which points?"),
        (["plan", "--all", "tiny"], "--all leaves nothing to choose"),
        (["plan", "--changed"], "--changed and --base REV go together"),
        (["plan", "tiny-bf16-lab-vlm"], "no point or config key matches 'tiny-bf16-lab-vlm'; the nearest is tiny-bf16-lab-vllm"),
        (["plan", "--all", "--filter", "tp"], "--filter wants FIELD=VALUE"),
        (["plan", "--all", "--time-limit", "soon"], "'soon' is not a time limit"),
        (["run", "{missing}"], "No such file"),
        (["status", "{plan}"], "there is no ledger"),
        (["retry", "{plan}"], "which points?"),
    ],
)
def test_plain_errors(repository: Path, tmp_path: Path, call: Any, words: list[str], said: str):
    plan = write_plan(tmp_path / "p.json", [point("a")])
    given = [word.replace("{plan}", str(plan)).replace("{missing}", str(tmp_path / "none.json")) for word in words]
    more = ["-o", str(tmp_path / "out.json")] if words[0] == "plan" else []
    status, _, err = call("-C", repository, "sweep", *given, *more)
    assert status == 2 and said in err and err.count("\n") == 1


def test_there_is_no_slurm_client(tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = write_plan(tmp_path / "p.json", [point("a")])
    status, _, err = call("sweep", "run", plan, "--executor", "slurm")
    assert status == 2 and err.startswith("reviewbot: there is no Slurm client here: sbatch, ") and err.count("\n") == 1


def test_a_ledger_of_another_plan(tmp_path: Path, call: Any):
    plan = write_plan(tmp_path / "p.json", [point("a")])
    ledger_of(plan).close()
    write_plan(plan, [point("b")])
    status, _, err = call("sweep", "status", plan)
    assert status == 2 and "the ledger is of another plan" in err and err.count("\n") == 1


def test_cancel_on_this_machine(tmp_path: Path, call: Any):
    plan = write_plan(tmp_path / "p.json", [point(f"p{number}", "sleep 300") for number in range(4)])
    command = [sys.executable, str(ROOT / "tests" / "sweep" / "support.py"), str(plan), "local", "2"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL) as runner:
        wait_until(lambda: paths_of(plan)[0].exists() and states(plan).get("running") == 2)
        assert call("sweep", "cancel", plan, "p0", "p3")[0] == 0
        wait_until(lambda: states(plan).get("cancelled") == 2 and states(plan).get("running") == 2)
        runner.kill()  # nobody is there any more to carry it out
    assert call("sweep", "cancel", plan)[0] == 0
    assert states(plan) == {"cancelled": 4}


def test_a_job_that_vanishes_is_tried_again(tmp_path: Path):
    from reviewbot.sweep.executors.local import LocalExecutor

    # The point kills the job that it runs in; the second time it does not.
    script = f'if [[ ! -e {tmp_path}/once ]]; then touch {tmp_path}/once; kill -KILL "$PPID"; sleep 5; fi'
    plan = write_plan(tmp_path / "p.json", [point("a", script)])
    assert execute(plan, LocalExecutor()) == {"done": 1}
    plan = write_plan(tmp_path / "q.json", [point("a", 'kill -KILL "$PPID"; sleep 5')])
    assert execute(plan, LocalExecutor(), retries=1) == {"failed": 1}
    assert reason(plan, "a") == "vanished: its process is gone without a last word; tried 2 times"


def test_fail_fast(tmp_path: Path):
    from reviewbot.sweep.executors.local import LocalExecutor

    plan = write_plan(tmp_path / "p.json", [point("a", "exit 1"), point("b"), point("c")])
    assert execute(plan, LocalExecutor(), jobs=1, fail_fast=True) == {"pending": 2, "failed": 1}
    assert execute(plan, LocalExecutor(), jobs=1) == {"done": 2, "failed": 1}


def test_gpus_are_shared_out(tmp_path: Path):
    from reviewbot.sweep.errors import SweepError
    from reviewbot.sweep.executors.local import LocalExecutor

    log = tmp_path / "log"
    plan = write_plan(
        tmp_path / "p.json", [point(f"p{number}", f'echo "$CUDA_VISIBLE_DEVICES" >> {log}; sleep 1', gpus=2) for number in range(3)]
    )
    assert execute(plan, LocalExecutor(), jobs=4, gpus=4) == {"done": 3}
    assert sorted(log.read_text().split()[:2]) == ["0,1", "2,3"] and log.read_text().split()[2] in ("0,1", "2,3")
    plan = write_plan(tmp_path / "q.json", [point("big", gpus=8)])
    with pytest.raises(SweepError, match="big needs 8 GPUs, --gpus gives 4"):
        execute(plan, LocalExecutor(), gpus=4)


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    import time

    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_page_in_a_browser(tmp_path: Path, repository: Path, call: Any, monkeypatch: pytest.MonkeyPatch):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium here (Debian: chromium)")
    monkeypatch.setenv("DEMO_FAULT", "errors:8")
    for name in ("one", "two"):
        plan = tmp_path / f"{name}.json"
        assert (
            call("-C", repository, "sweep", "plan", "tiny-bf16-lab-vllm", "--filter", "isl=1024", "--pass-env", "DEMO_FAULT", "-o", plan)[0]
            == 0
        )
        call("-C", repository, "sweep", "run", plan, "--jobs", "3")
    assert call("sweep", "report", tmp_path / "two.json", "--compare", tmp_path / "one.json")[0] == 0
    page = tmp_path / "two.report" / "index.html"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=90).stdout
    assert dom.count('<circle class="dot"') == 6 and dom.count('<circle class="previous"') == 6
    assert '<polyline class="frontier"' in dom
    failures = dom.partition('<table id="failures">')[2].partition("</table>")[0]
    assert failures.count("<tr>") == 2 and "not one request was successful" in failures
    assert dom.partition('<table id="comparison">')[2].partition("</table>")[0].count("<tr>") == 8
    assert dom.partition('<table id="results">')[2].partition("</table>")[0].count("<tr") == 8
    assert '<li class="done">6 done</li>' in dom
