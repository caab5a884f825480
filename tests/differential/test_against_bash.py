"""Every launcher of ``fixtures/shell`` by the evaluator and by bash: the same bytes are submitted, the same programs start with the same
words, and the exit status is the same."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.trace import trace_script
from reviewbot.tree import open_tree
from tests.differential.compare import disagreements, unknowns
from tests.differential.harness import WORKSPACE, available, run_in_bash

ROOT = Path(__file__).parents[2] / "fixtures" / "shell"
LAUNCHERS = sorted(path.stem for path in ROOT.glob("*.sh"))


@cache
def _walls() -> bool:
    return available()


@dataclass(frozen=True)
class Expected:
    """The head of a launcher: ``# expect: unknowns=0 paths=1 limits=0`` and ``# env: NAME=value ...``.

    The status of a program that is not known is an unknown too: most launchers here end with one.
    """

    unknowns: int
    paths: int
    limits: int
    environment: dict[str, str]


def expected(text: str) -> Expected:
    head = re.search(r"^# expect: unknowns=(\d+) paths=(\d+) limits=(\d+)$", text, re.MULTILINE)
    assert head, "a launcher states what it expects"
    given = re.search(r"^# env: (.*)$", text, re.MULTILINE)
    return Expected(int(head[1]), int(head[2]), int(head[3]), dict(item.split("=", 1) for item in given[1].split(" ")) if given else {})


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_trace_is_what_bash_does(name: str, tmp_path: Path) -> None:
    if not _walls():
        pytest.skip("bubblewrap (bwrap) is missing, or may not make namespaces here")
    repository = tmp_path / "repository"
    shutil.copytree(ROOT / "repository", repository)
    (repository / "launchers").mkdir()
    shutil.copy(ROOT / f"{name}.sh", repository / "launchers")
    expect = expected((ROOT / f"{name}.sh").read_text())
    step = f"bash ./launchers/{name}.sh"
    environment = {"HOME": "/home/runner", "USER": "runner", "LANG": "C.UTF-8", **expect.environment}

    record = run_in_bash(step, expect.environment, repository, upstream=ROOT / "upstream")
    upstream = open_tree(str(ROOT / "upstream" / "srt-slurm"))
    trace = trace_script(
        step, ".github/workflows/run.yml", 0, environment, open_tree(str(repository)), stop="end",
        settings=TraceSettings(workspace=WORKSPACE), upstreams={"https://github.com/example/srt-slurm": lambda _: upstream},
    )

    answers = [disagreements(path, record, trace.holes) for path in trace.paths]
    assert [] in answers, "\n".join(answers[0])
    assert sum(len(path.limits) for path in trace.paths) == expect.limits
    assert len(trace.paths) == expect.paths
    assert unknowns(trace, trace.paths[answers.index([])]) == expect.unknowns


def test_bash_cannot_leave_the_workspace(tmp_path: Path) -> None:
    if not _walls():
        pytest.skip("bubblewrap (bwrap) is missing, or may not make namespaces here")
    script = """
touch /usr/x 2> /dev/null || vllm kept
(: < /dev/tcp/127.0.0.1/1) 2> /dev/null || vllm alone "$(ls /home/runner)" "$(hostname)"
exit 3
"""
    record = run_in_bash(script, {"A": "b c"}, tmp_path)
    assert [call.argv for call in record.calls] == [("vllm", "kept"), ("vllm", "alone", "", "node")]
    assert record.calls[0].environment["A"] == "b c" and record.calls[0].cwd == WORKSPACE
    assert record.status == 3


def test_files_are_recorded_at_the_moment_of_submission(tmp_path: Path) -> None:
    if not _walls():
        pytest.skip("bubblewrap (bwrap) is missing, or may not make namespaces here")
    (tmp_path / "a.yaml").write_bytes(b"x: \xff1\n")
    script = "echo c > srtslurm.yaml\nsrtctl apply -f a.yaml:b\nsed -i s/1/2/ a.yaml\nsrtctl apply -f a.yaml\nsbatch <<E\nbody\nE\n"
    first, second, batch = run_in_bash(script, {}, tmp_path).submits
    assert (first.recipe, first.cluster, second.recipe) == (b"x: \xff1\n", b"c\n", b"x: \xff2\n")
    assert batch.stdin == b"body\n"
