from __future__ import annotations

import pytest

from reviewbot.documents.nodes import Entry, Scalar
from reviewbot.documents.positions import Problem, Site, Span
from reviewbot.engine.context import Context, glob_pattern
from reviewbot.engine.model import Level
from reviewbot.engine.own_rules import OWN_RULES
from reviewbot.engine.run import against, check
from reviewbot.settings import Settings
from tests.support import MARKS, FakeDocuments, FakeTree, context, finding, marks, module, run


def checked(ctx: Context, *modules, **more):  # type: ignore[no-untyped-def]
    chosen = [*OWN_RULES, *modules]
    return check(ctx, chosen, {m.name: m for m in chosen}, **more)


def marking():  # type: ignore[no-untyped-def]
    return module("bad-word", marks)


def test_a_crash_is_one_finding_and_the_others_go_on(capsys: pytest.CaptureFixture[str]):
    def crash(ctx: Context):  # type: ignore[no-untyped-def]
        yield finding(path="a.yaml", line=1)
        raise KeyError("tp")

    result = checked(context({"a.yaml": "BAD\n"}), module("some-rule", crash), marking(), debug=True)
    assert [f.rule for f in result.findings] == ["internal-error", "bad-word", "some-rule"]
    assert "some-rule crashed: KeyError: 'tp'" in result.findings[0].message
    assert result.incomplete
    assert "Traceback" in capsys.readouterr().err


def test_a_broken_bench_is_told_once_and_cheap_rules_still_run():
    def broken():  # type: ignore[no-untyped-def]
        raise ValueError("no")

    ctx = Context(FakeTree({"a.yaml": "BAD"}), Settings(), FakeDocuments(), broken, lambda bench: ())
    needy = [module(name, lambda ctx: iter(ctx.runs), needs=frozenset({"runs"})) for name in ("one", "two")]
    assert [f.rule for f in checked(ctx, *needy, marking()).findings] == ["internal-error", "bad-word"]


def test_runs_are_not_made_for_rules_that_do_not_need_them():
    def never(bench: object):  # type: ignore[no-untyped-def]
        raise AssertionError

    ctx = Context(FakeTree({"a.yaml": "BAD"}), Settings(), FakeDocuments(), lambda: None, never)
    assert [f.rule for f in checked(ctx, marking()).findings] == ["bad-word"]


def test_problems_of_documents():
    problems = [
        ("a.yaml", Problem("yaml-syntax", "a colon is missing", Span(2, 1, 2, 3))),
        ("b.sh", Problem("shell-syntax", "a quote is open", Span(1, 1, 1, 2))),
        ("c.yaml", Problem("duplicate-key", "not about reading", Span(1, 1, 1, 2))),
    ]
    result = checked(context(problems=[*problems, problems[0]]))
    assert [(f.path, f.level) for f in result.findings] == [("a.yaml", Level.ERROR), ("b.sh", Level.WARNING)]
    assert not result.incomplete
    unread = ("d.yaml", Problem("outside", "leaves the repository", Span(1, 1, 1, 1), fatal=True))
    assert checked(context(problems=[unread])).incomplete


def test_one_cause_is_one_finding():
    def twice(ctx: Context):  # type: ignore[no-untyped-def]
        yield finding(points=("p1",), subject="s")
        yield finding(points=("p2", "p1"), subject="s", level=Level.WARNING)
        yield finding(points=("p3",), subject="t")

    result = checked(context(), module("some-rule", twice))
    assert [f.points for f in result.findings] == [("p1", "p2"), ("p3",)]


def test_settings_change_levels_switch_off_and_exclude():
    files = {"a.yaml": "BAD", "vendor/x/b.yaml": "BAD"}
    assert checked(context(files, Settings(levels={"bad-word": "off"})), marking()).findings == ()
    result = checked(context(files, Settings(levels={"bad-word": "note"}, exclude=("vendor/**",))), marking())
    assert [(f.path, f.level) for f in result.findings] == [("a.yaml", Level.NOTE)]


def test_a_guess_is_a_note():
    result = checked(context(), module("some-rule", lambda ctx: iter([finding()]), guess=True))
    assert [f.level for f in result.findings] == [Level.NOTE]


def test_comments_ignore_and_are_counted():
    result = checked(context({"a.yaml": "BAD # reviewbot: ignore[bad-word] on purpose\nBAD\n"}), marking())
    assert [f.line for f in result.findings] == [2]
    assert result.ignored == 1


def test_ignoring_one_does_not_change_the_fingerprint_of_the_next():
    plain = checked(context({"a.yaml": "BAD\nBAD\n"}), marking())
    ignoring = checked(context({"a.yaml": "# reviewbot: ignore[bad-word] on purpose\nBAD\nBAD\n"}), marking())
    assert ignoring.findings[0].fingerprint == plain.findings[1].fingerprint


@pytest.mark.parametrize(
    ("base", "head", "new"),
    [
        ("BAD 1\n", "BAD 1\n", 0),
        ("BAD 1\n", "x\nx\nBAD 1\n", 0),
        ("", "BAD 1\n", 1),
        ("BAD 1\n", "BAD 1\nBAD 1\n", 1),
        ("BAD 1\nBAD 1\n", "BAD 1\n", 0),
        ("BAD 1\n", "BAD 2\n", 1),
        ("BAD 1 # reviewbot: ignore[bad-word] r\n", "BAD 1\n", 1),
        ("BAD 1\n", "BAD 1 # reviewbot: ignore[bad-word] r\n", 0),
        ("BAD 1 # reviewbot: ignore[bad-word] r\n", "BAD 1 # reviewbot: ignore[bad-word] r\n", 0),
    ],
)
def test_base_against_head(base: str, head: str, new: int):
    before = checked(context({"a.yaml": base}), marking())
    after = against(checked(context({"a.yaml": head}), marking()), before.findings)
    assert len([f for f in after.findings if f.status == "new"]) == new


def test_a_rename_keeps_findings_existing():
    before = checked(context({"old.yaml": "BAD 1"}), marking(), renames={"old.yaml": "new.yaml"})
    after = against(checked(context({"new.yaml": "BAD 1"}), marking()), before.findings)
    assert [f.status for f in after.findings] == ["existing"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (Site("a.yaml", 2), (2, 3, 2, 9)),
        (Site("a.yaml", 40), (40, 1, 40, 1)),
        (Span(1, 2, 3, 4), (1, 2, 3, 4)),
        (Entry(Scalar("x", "x", "x", "", "s", Span(2, 3, 2, 4)), Scalar(1, "1", "1", "", "i", Span(2, 6, 2, 7))), (2, 3, 2, 7)),
    ],
)
def test_places(at, expected: tuple[int, int, int, int]):  # type: ignore[no-untyped-def]
    ctx = context({"a.yaml": "top:\n  x: 123 \n"})
    made = ctx.finding(MARKS, "m", at, path="a.yaml", touches=[run(), "demo/c8", "other"], structure=("a", 0, "b"))
    assert (made.line, made.column, made.end_line, made.end_column) == expected
    assert made.points == ("demo/c8", "other")
    assert made.structure == "a.0.b"


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("a/*.sh", "a/x.sh", True),
        ("a/*.sh", "a/b/x.sh", False),
        ("a/**/*.sh", "a/x.sh", True),
        ("a/**/*.sh", "a/b/c/x.sh", True),
        ("**/x.sh", "x.sh", True),
        ("vendor", "vendor/a/b", True),
        ("vendor", "vendors/a", False),
        ("a.b", "aXb", False),
    ],
)
def test_globs(glob: str, path: str, matches: bool):
    assert bool(glob_pattern(glob).match(path)) is matches
