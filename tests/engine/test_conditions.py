"""Conditions as alternatives of clauses."""

from __future__ import annotations

import pytest

from reviewbot.documents.shell import parse_shell
from reviewbot.documents.shell_syntax import If
from reviewbot.engine.conditions import alternatives, equalities


def said(condition: str) -> list[list[str]]:
    statement = parse_shell(f"if {condition}; then\n    :\nfi\n").body[0]
    assert isinstance(statement, If)
    return [sorted(map(str, clause)) for clause in alternatives(statement.arms[0][0])]


@pytest.mark.parametrize(
    ("condition", "clauses"),
    [
        ('[[ $A == "x" ]]', [["A = x"]]),
        ('[ "$A" = x ]', [["A = x"]]),
        ('test "$A" = x', [["A = x"]]),
        ('[[ "${A:-}" == x && $B != y ]]', [["A = x", "B != y"]]),
        ("[[ $A == x || $A == y ]]", [["A = x"], ["A = y"]]),
        ('[[ $A == x ]] && [ -n "$B" ]', [["A = x", "B -n"]]),
        ("[[ $A == x ]] || [[ $B == y ]]", [["A = x"], ["B = y"]]),
        ("[[ ! ( $A == x || -z $B ) ]]", [["A != x", "B -n"]]),
        ("! [[ $A == x ]]", [["A != x"]]),
        ("[[ ( $A == x || $A == y ) && $B == z ]]", [["A = x", "B = z"], ["A = y", "B = z"]]),
        ("[[ $A ]]", [["A -n"]]),
        ("[ $A -lt 3 ]", [["A -lt 3"]]),
        ("[[ $A == x* ]]", [["A = x*"]]),
    ],
)
def test_alternatives(condition: str, clauses: list[list[str]]):
    assert said(condition) == clauses


@pytest.mark.parametrize(
    "condition", ["mkdir x", "[[ -f $A ]]", "[[ $(cmd) == x ]]", "[[ $A == x ]]; [[ $B == y ]]", "[[ $A == $(cmd) ]]", "! [ $A -lt 3 ]"]
)
def test_what_is_no_comparison_of_values_gives_none(condition: str):
    assert said(condition) == []


def test_many_alternatives_give_none():
    one = "[[ ( {} ) ]]".format(" || ".join(f"$A == {number}" for number in range(20)))
    assert said(f"{one} && {one.replace('$A', '$B')}") == []


def test_a_pattern_is_no_equality():
    statement = parse_shell('if [[ $A == x* && $B == "y*" && $C == z ]]; then\n    :\nfi\n').body[0]
    assert isinstance(statement, If)
    (clause,) = alternatives(statement.arms[0][0])
    assert sorted(equalities(clause)) == [("B", "y*"), ("C", "z")]
