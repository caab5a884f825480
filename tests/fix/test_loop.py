"""Fixes that hold are kept; those that do not are taken back."""

from __future__ import annotations

import re

from reviewbot.engine.model import Finding, Fix, Level, Replacement
from reviewbot.fix.loop import apply_fixes
from reviewbot.tree import MemoryTree, Tree


def finding(rule: str, path: str, line: int, start: int, end: int, text: str | None, safe: bool = True) -> Finding:
    fix = None if text is None else Fix("x", (Replacement(path, line, start, line, end, text),), safe)
    return Finding(rule, Level.ERROR, path, line, start, line, end, rule, fix=fix, fingerprint=f"{rule} {path} {line}")


def words(rules: dict[str, tuple[str | None, bool]]):
    """A check that finds the words of ``rules`` and puts others in their place."""

    def check(tree: Tree) -> tuple[Finding, ...]:
        found = []
        for path in tree.paths():
            for number, line in enumerate(tree.read(path).decode().split("\n"), 1):
                for match in re.finditer(r"\w+", line):
                    if match.group() in rules:
                        text, safe = rules[match.group()]
                        found.append(finding(match.group(), path, number, match.start() + 1, match.end() + 1, text, safe))
        return tuple(found)

    return check


def everything(one: Finding) -> bool:
    return True


def test_fixes_are_applied_together_and_once():
    tree = MemoryTree({"a": b"bad x bad\nworse\n"})
    check = words({"bad": ("good", True), "worse": ("better", True)})
    fixed = apply_fixes(tree, check, everything)
    assert fixed.contents == {"a": b"good x good\nbetter\n"}
    assert not fixed.taken_back and not fixed.left
    again = apply_fixes(MemoryTree(fixed.contents), check, everything)
    assert again.contents == {} and again.applied == []


def test_a_fix_that_brings_another_finding_is_taken_back_and_others_stay():
    tree = MemoryTree({"a": b"bad\n\nworse\n"})
    fixed = apply_fixes(tree, words({"bad": ("awful", True), "awful": (None, True), "worse": ("better", True)}), everything)
    assert fixed.contents == {"a": b"bad\n\nbetter\n"}
    assert [one.rule for one in fixed.taken_back] == ["bad"]


def test_a_fix_that_leaves_its_finding_is_taken_back():
    fixed = apply_fixes(MemoryTree({"a": b"bad\n"}), words({"bad": ("bad", True)}), everything)
    assert fixed.contents == {} and [one.rule for one in fixed.taken_back] == ["bad"]


def test_unsafe_fixes_are_asked_for():
    tree = MemoryTree({"a": b"bad\n"})
    check = words({"bad": ("good", False)})
    assert apply_fixes(tree, check, everything).contents == {}
    assert apply_fixes(tree, check, everything, unsafe=True).contents == {"a": b"good\n"}


def test_only_what_is_wanted():
    tree = MemoryTree({"a": b"bad\n", "b": b"bad\n"})
    assert apply_fixes(tree, words({"bad": ("good", True)}), lambda one: one.path == "b").contents == {"b": b"good\n"}


def test_a_place_that_is_not_there_is_no_crash():
    tree = MemoryTree({"a": b"bad\n"})

    def check(_tree: Tree) -> tuple[Finding, ...]:
        return (finding("bad", "a", 9, 1, 2, "x"),)

    assert apply_fixes(tree, check, everything).contents == {}


def test_links_are_left_alone():
    tree = MemoryTree({"a": b"bad\n"}, links={"b": "a"})
    fixed = apply_fixes(tree, words({"bad": ("good", True)}), lambda one: one.path == "b")
    assert fixed.contents == {}
