from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Finding, Fix, Related, Replacement
from reviewbot.git import Repository
from reviewbot.review import diffmap
from reviewbot.review.diffmap import Anchor, DiffMap, place
from reviewbot.review.items import make_items
from tests.review.double import GitHubDouble
from tests.review.kit import committed, finding, git, github_lines, numbered


def diff_of(root: Path, base: str, head: str, prefix: str = "") -> DiffMap:
    return DiffMap.between(Repository.find(str(root)), base, head, prefix)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    root = tmp_path_factory.mktemp("changed")
    base = committed(root, {"a.yaml": numbered(100), "b.yaml": numbered(20), "bin": b"\0\1", "c.yaml": numbered(9), "run.sh": "x\n"})
    git(root, "mv", "c.yaml", "d.yaml")
    (root / "run.sh").chmod(0o755)
    head = committed(root, {"a.yaml": numbered(100, _10="new: 1", _50="new: 2", _51="new: 3"), "bin": b"\0\2", "n.yaml": numbered(30)})
    return root, base, head


@pytest.mark.parametrize(
    ("line", "end_line", "end_column", "kind", "start", "last"),
    [
        (10, 10, 5, "inline", None, 10),
        (7, 7, 5, "inline", None, 7),  # context
        (13, 13, 5, "inline", None, 13),
        (14, 14, 5, "file", None, 0),
        (1, 100, 5, "inline", 7, 13),  # clipped to the first hunk
        (12, 50, 5, "inline", 47, 50),  # the hunk that changes a line of it
        (50, 52, 1, "inline", 50, 51),  # ends before the first character of line 52
        (54, 54, 5, "inline", None, 54),
        (55, 90, 5, "file", None, 0),
    ],
)
def test_ranges(changed: tuple[Path, str, str], line: int, end_line: int, end_column: int, kind: str, start: int | None, last: int) -> None:
    root, base, head = changed
    anchor = place(finding("f", line, end_line=end_line, end_column=end_column), diff_of(root, base, head))
    assert (anchor.kind, anchor.start_line, anchor.line) == (kind, start, last)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("n.yaml", "inline"), ("b.yaml", "summary"), ("bin", "file"), ("d.yaml", "file"), ("run.sh", "file"), (".", "summary")],
)
def test_kinds(changed: tuple[Path, str, str], path: str, kind: str) -> None:
    root, base, head = changed
    assert place(finding("f", 1, path=path), diff_of(root, base, head)).kind == kind
    assert place(finding("f", 1, path=path), None).kind == "summary"


def related(one: Finding, *sites: tuple[str, int]) -> Finding:
    return replace(one, related=tuple(Related(Site(*site), "cause") for site in sites))


def test_a_changed_line_that_causes_it(changed: tuple[Path, str, str]) -> None:
    root, base, head = changed
    diff = diff_of(root, base, head)
    one = finding("f", 5, path="b.yaml")
    assert place(related(one, ("b.yaml", 3), ("a.yaml", 50)), diff) == Anchor("inline", "a.yaml", 50)
    assert place(related(one, ("a.yaml", 49)), diff) == Anchor("summary", "b.yaml", because=Site("a.yaml", 49))
    assert place(related(one, ("b.yaml", 49)), diff) == Anchor("summary", "b.yaml")
    assert place(related(finding("f", 14), ("a.yaml", 50)), diff).kind == "file"


def test_a_comment_and_the_line_that_it_is_about(changed: tuple[Path, str, str]) -> None:
    root, base, head = changed
    one = related(finding("f", 12, path="n.yaml", end_line=17), ("n.yaml", 11), ("n.yaml", 18), ("n.yaml", 25), ("a.yaml", 10))
    anchor = place(one, diff_of(root, base, head))
    assert (anchor.start_line, anchor.line) == (11, 18)


def test_a_folder_of_a_repository(tmp_path: Path) -> None:
    base = committed(tmp_path, {"sub/a.yaml": numbered(9), "a.yaml": numbered(9)})
    head = committed(tmp_path, {"sub/a.yaml": numbered(9, _3="x: 1")})
    diff = diff_of(tmp_path / "sub", base, head, "sub/")
    assert place(finding("f", 3), diff) == Anchor("inline", "sub/a.yaml", 3)
    [item] = make_items([finding("f", 3)], diff, lambda path: [])
    assert item.path == "sub/a.yaml"


def test_undecodable_names_are_not_asked_for(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": "a: 1\n"})
    name = b"\xff.yaml".decode("utf-8", "surrogateescape")
    head = committed(tmp_path, {name: "a: 1\n"})
    assert place(finding("f", 1, path=name), diff_of(tmp_path, base, head)).kind == "summary"


def test_hunks_are_those_of_git(tmp_path: Path) -> None:
    """Every anchor of many random edits is taken by a GitHub whose hunks come from a plain ``git diff``."""
    chance = random.Random(7)
    texts = {f"f{n}.yaml": [f"key{chance.randrange(30)}: {chance.randrange(5)}" for _ in range(chance.randrange(0, 80))] for n in range(12)}
    base = committed(tmp_path, {path: "".join(line + "\n" for line in text) for path, text in texts.items()})
    for text in texts.values():
        for _ in range(chance.randrange(0, 6)):
            at = chance.randrange(len(text) + 1)
            if chance.random() < 0.5:
                text[at : at + chance.randrange(1, 5)] = []
            else:
                text[at:at] = [f"new: {chance.randrange(9)}"] * chance.randrange(1, 4)
    head = committed(tmp_path, {path: "".join(line + "\n" for line in text) for path, text in texts.items()})
    diff = diff_of(tmp_path, base, head)
    hunks = github_lines(tmp_path, base, head)
    inline = 0
    for path, text in texts.items():
        for _ in range(40):
            first = chance.randrange(1, len(text) + 2)
            anchor = place(finding("f", first, path=path, end_line=first + chance.randrange(0, 9)), diff)
            if anchor.kind == "inline":
                inline += 1
                hunk = GitHubDouble._in_hunk(hunks[path], anchor.line, anchor.side)
                assert hunk and GitHubDouble._in_hunk(hunks[path], anchor.start_line or anchor.line, anchor.side) == hunk
                assert anchor.start_line is None or anchor.start_line < anchor.line
            elif anchor.kind == "file":
                assert not any(first in hunk for hunk in hunks[path].new)
    assert inline > 100


def test_each_file_is_read_once_and_only_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = committed(tmp_path, {"a.yaml": numbered(9)})
    head = committed(tmp_path, {f"n{n}.yaml": numbered(9) for n in range(20)})
    asked: list[str | None] = []
    real = Repository.file_diff
    monkeypatch.setattr(
        Repository, "file_diff", lambda self, b, h, old, new, **more: asked.append(new) or real(self, b, h, old, new, **more)
    )
    diff = diff_of(tmp_path, base, head)
    for _ in range(3):
        place(finding("f", 1, path="n3.yaml"), diff)
    assert asked == ["n3.yaml"]


# --- suggestions ---------------------------------------------------------------------------------------------------


def fixed(one: Finding, *replacements: Replacement, safe: bool = True) -> Finding:
    return replace(one, fix=Fix("mend", replacements, safe))


def suggestion(root: Path, base: str, head: str, one: Finding) -> tuple[Anchor, tuple[str, ...] | None]:
    [item] = make_items([one], diff_of(root, base, head), lambda path: Path(root, path).read_text("utf-8", errors="replace").split("\n"))
    return item.anchor, item.suggestion


@pytest.mark.parametrize(
    ("replacements", "anchor", "text"),
    [
        ([(3, 7, 3, 8, "9")], (None, 3), ("key3: 9",)),
        ([(3, 1, 4, 1, "")], (None, 3), ()),
        ([(3, 1, 3, 1, "new: 1\n")], (None, 3), ("new: 1", "key3: 3")),
        ([(3, 7, 3, 8, "9"), (5, 1, 5, 4, "lock")], (3, 5), ("key3: 9", "key4: 4", "lock5: 5")),
        ([(3, 7, 5, 1, "x\n")], (3, 4), ("key3: x",)),
    ],
)
def test_a_safe_fix_becomes_a_suggestion_that_applies(
    tmp_path: Path, replacements: list[tuple[int, int, int, int, str]], anchor: tuple[int | None, int], text: tuple[str, ...]
) -> None:
    base = committed(tmp_path, {"b.yaml": "x\n"})
    head = committed(tmp_path, {"a.yaml": numbered(9)})
    one = fixed(finding("f", 3), *(Replacement("a.yaml", *rest) for rest in replacements))
    got, lines = suggestion(tmp_path, base, head, one)
    assert ((got.start_line, got.line), lines) == (anchor, text)
    # Applied as GitHub does it, the file is what the fix makes of it.
    whole = numbered(9).split("\n")
    whole[(got.start_line or got.line) - 1 : got.line] = list(text)
    offsets = numbered(9)
    for line, column, end_line, end_column, new in sorted(replacements, reverse=True):
        starts = [0]
        for row in numbered(9).splitlines(keepends=True):
            starts.append(starts[-1] + len(row))
        offsets = offsets[: starts[line - 1] + column - 1] + new + offsets[starts[end_line - 1] + end_column - 1 :]
    assert "\n".join(whole) == offsets


@pytest.mark.parametrize(
    ("content", "one"),
    [
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "x"), safe=False)),
        (numbered(9), fixed(finding("f", 3), Replacement("other.yaml", 3, 1, 3, 4, "x"))),
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "x\r\n"))),
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "\u202e"))),
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 99, "x"))),
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "key"))),  # changes nothing
        (numbered(9), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "x"), Replacement("a.yaml", 3, 2, 3, 5, "y"))),  # overlap
        (numbered(9).replace("\n", "\r\n"), fixed(finding("f", 3), Replacement("a.yaml", 3, 1, 3, 4, "x"))),
        (numbered(9).rstrip("\n"), fixed(finding("f", 9), Replacement("a.yaml", 9, 1, 9, 4, "x"))),
        ("\ufffd: 1\nb: 2\n", fixed(finding("f", 1), Replacement("a.yaml", 1, 4, 1, 5, "2"))),
        (numbered(9), fixed(finding("f", 30), Replacement("a.yaml", 30, 1, 30, 4, "x"))),
    ],
)
def test_a_fix_that_is_not_clean_is_no_suggestion(tmp_path: Path, content: str, one: Finding) -> None:
    base = committed(tmp_path, {"b.yaml": "x\n"})
    head = committed(tmp_path, {"a.yaml": content})
    (tmp_path / "a.yaml").write_bytes(content.encode())
    [item] = make_items([one], diff_of(tmp_path, base, head), lambda path: content.split("\n"))
    assert item.suggestion is None


def test_a_fix_outside_of_the_diff_is_no_suggestion(changed: tuple[Path, str, str]) -> None:
    root, base, head = changed
    one = fixed(finding("f", 13), Replacement("a.yaml", 13, 1, 14, 3, "x"))
    anchor, lines = suggestion(root, base, head, one)
    assert lines is None and anchor == Anchor("inline", "a.yaml", 13)


def test_limits_are_those_of_github() -> None:
    assert (diffmap.MAX_LINES, diffmap.MAX_FILES, diffmap.MAX_BYTES, diffmap.CONTEXT) == (20_000, 3_000, 500_000, 3)
