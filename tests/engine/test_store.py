from __future__ import annotations

from typing import Any

from reviewbot.bench.repository import load_bench
from reviewbot.engine.context import Context
from reviewbot.engine.run import check
from reviewbot.engine.store import DocumentStore
from reviewbot.settings import Settings
from reviewbot.tree import MemoryTree
from tests.support import marks, module

FILES = {
    "configs/x-master.yaml": b"a: {runner: r, scenarios: {}}\n",
    "configs/runners.yaml": b"labels: {r: [r-lab_0]}\n",
    "runners/launch_r-lab.sh": b"echo '\n",
    "benchmarks/m/srt-slurm-recipes/a.yaml": b"name: x\n",
    "docs/notes.yaml": b"a: [\n",
    "perf-changelog.yaml": b"[]\n",
}


def store(**links: str) -> tuple[DocumentStore, Any]:
    tree = MemoryTree(FILES, links)
    bench = load_bench(tree)
    return DocumentStore(tree, lambda: bench), bench


def test_kinds_follow_the_layout():
    documents, _ = store()
    assert documents.paths("master") == ("configs/x-master.yaml",)
    assert documents.paths("launcher") == ("runners/launch_r-lab.sh",)
    assert documents.paths("recipe") == ("benchmarks/m/srt-slurm-recipes/a.yaml",)
    assert "docs/notes.yaml" not in documents.paths("yaml")


def test_a_file_is_parsed_once_and_shared_with_the_bench():
    documents, bench = store()
    assert documents.yaml("configs/x-master.yaml") is bench.yaml_document("configs/x-master.yaml")
    assert documents.shell("runners/launch_r-lab.sh") is documents.scripts["echo '\n"]


def test_problems_are_of_what_takes_part_or_was_asked_for():
    documents, _ = store()
    assert {path for path, _ in documents.problems()} == {"runners/launch_r-lab.sh"}
    documents.yaml("docs/notes.yaml")
    assert "docs/notes.yaml" in {path for path, _ in documents.problems()}


def test_what_cannot_be_read_is_an_empty_document_with_a_problem():
    documents, _ = store()
    assert documents.yaml("gone.yaml").duplicates == ()
    assert documents.shell("gone.sh").body == ()
    found = {path: problem for path, problem in documents.problems() if path.startswith("gone")}
    assert {path: (problem.code, problem.fatal) for path, problem in found.items()} == {
        "gone.yaml": ("missing", True),
        "gone.sh": ("missing", True),
    }


def test_documents_do_not_need_a_bench():
    def broken() -> Any:
        raise ValueError

    documents = DocumentStore(MemoryTree(FILES), broken)
    assert documents.paths("runners") == ("configs/runners.yaml",)
    assert documents.yaml("perf-changelog.yaml").problems is not None


def test_an_ignore_comment_in_a_here_document_is_text():
    script = b"cat > a.yaml <<EOF\n# reviewbot: ignore[bad-word] text\nBAD\nEOF\necho BAD  # reviewbot: ignore[bad-word] real\n"
    tree = MemoryTree({"runners/launch_x.sh": script})
    bench = load_bench(tree)
    context = Context(tree, Settings(), DocumentStore(tree, lambda: bench), lambda: bench, lambda bench: ())
    rule = module("bad-word", marks)
    result = check(context, [rule], {rule.name: rule})
    assert ([f.line for f in result.findings], result.ignored) == ([3], 1)
