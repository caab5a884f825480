"""What counts as agreement between a trace and bash."""

from __future__ import annotations

import pytest

from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Effect, Exec, Submit
from reviewbot.trace.files import FileText
from reviewbot.trace.trace import TracePath
from reviewbot.trace.values import Hole, Holes
from tests.differential.compare import disagreements, same_text
from tests.differential.harness import Call, Record

HOLES = Holes()
ANY = HOLES.new(Hole("anything", None))
SOME = HOLES.new(Hole("something", None, nonempty=True))
ONE_OF = HOLES.new(Hole("one of", None, choices=("x", "y")))
SITE = Site("run.sh", 3)


@pytest.mark.parametrize(("said", "done", "same"), [
    ("a.b", "a.b", True), ("a.b", "axb", False), (f"run-{ANY}", "run-", True), (f"run-{SOME}", "run-", False),
    (f"run-{SOME}", "run-7\n8", True), (f"{ANY}/{ANY}", "1/1", True), (f"{ANY}/{ANY}", "1/2", False), (f"{ANY}/{SOME}", "1/2", True),
    (ONE_OF, "y", True), (ONE_OF, "z", False),
])
def test_a_hole_is_any_text_and_the_same_hole_the_same_text(said: str, done: str, same: bool) -> None:
    assert same_text(said, done, HOLES) is same


def path_of(*effects: Effect, status: int | None = None) -> TracePath:
    return TracePath(effects, "ended", status, "", None, {})


def record_of(*calls: Call, status: int = 0) -> Record:
    return Record(calls, status, b"", b"")


def started(*argv: str, certain: bool = True) -> Exec:
    return Exec(argv, {}, "/", SITE, certain=certain)


def call(*argv: str, recipe: bytes | None = None) -> Call:
    return Call(argv, "/", {}, recipe=recipe)


@pytest.mark.parametrize(("path", "record", "problems"), [
    (path_of(started("vllm", "a")), record_of(call("vllm", "a")), []),
    (
        path_of(started("vllm", "a")), record_of(call("vllm", "b")),
        ["line 3: word 1 of vllm is 'a' in the trace, 'b' in bash (of 'vllm' 'b')"],
    ),
    (path_of(started("vllm", "a")), record_of(), ["line 3: bash never started 'vllm' 'a'"]),
    (path_of(started("vllm", "a", certain=False)), record_of(), []),
    (path_of(), record_of(call("vllm", "a")), ["the trace misses 'vllm' 'a'"]),
    (path_of(status=1), record_of(status=2), ["exit status: the trace says 1, bash 2"]),
    (path_of(status=None), record_of(status=2), []),
    (path_of(started("git", "x")), record_of(), []),
], ids=range(8))
def test_programs_in_order(path: TracePath, record: Record, problems: list[str]) -> None:
    assert disagreements(path, record, HOLES) == problems


def test_bytes_of_a_recipe() -> None:
    argv = ("srtctl", "apply", "-f", "a.yaml")
    submit = Submit("srtctl", argv, {}, "/", SITE, "a.yaml", "/a.yaml", FileText(f"name: x\nrun: {ANY}\n", ()))
    assert disagreements(path_of(submit), record_of(call(*argv, recipe=b"name: x\nrun: 7\n")), HOLES) == []
    assert disagreements(path_of(submit), record_of(call(*argv, recipe=b"name: y\nrun: 7\n")), HOLES) == [
        "line 3: the recipe differs: line 1 is 'name: x', bash 'name: y'",
    ]
    assert disagreements(path_of(submit), record_of(call(*argv)), HOLES) == ["line 3: the trace has a recipe, bash none"]


def test_only_what_decides_counts_before_the_end() -> None:
    path = path_of(started("srun", "bash", "bench.sh"), status=0)
    clean = call("srun", "bash", "-c", "rm -rf x.sh y"), call("srun", "bash", "bench.sh"), call("sbatch", "later.sh")
    assert disagreements(path, record_of(*clean, status=9), HOLES, to_the_end=False) == []
    never = ["line 3: bash never started 'srun' 'bash' 'bench.sh'"]
    assert disagreements(path, record_of(clean[0], status=9), HOLES, to_the_end=False) == never
