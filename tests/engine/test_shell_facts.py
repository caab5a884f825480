"""What scripts set and read, and where their statements stand."""

from __future__ import annotations

import pytest

from reviewbot.documents.shell import parse_shell
from reviewbot.engine.shell_facts import Facts, exclusive, facts_of, first_word, stops_at_failure, text_of


def facts(text: str) -> Facts:
    return facts_of(parse_shell(text))


@pytest.mark.parametrize(
    ("text", "name", "static", "exported"),
    [
        ("X=1", "X", "1", False),
        ("X=", "X", "", False),
        ('X=""', "X", "", False),
        ("X=$Y", "X", None, False),
        ("X+=1", "X", None, False),
        ("X[1]=2", "X", None, False),
        ("X=(1 2)", "X", None, False),
        ("export X=1", "X", "1", True),
        ("declare -x X=1", "X", "1", True),
        ("f() { local X=1; }", "X", "1", False),
        ("read -r X < file", "X", None, False),
        ("printf -v X %s a", "X", None, False),
        ("for X in a b; do :; done", "X", None, False),
        (': "${X:=1}"', "X", None, False),
        ("((X = 1))", "X", None, False),
        ("echo $(( X += 2 ))", "X", None, False),
        ("echo $(X=1; echo $X)", "X", "1", False),
    ],
)
def test_assignments(text: str, name: str, static: str | None, exported: bool):
    found = [one for one in facts(text).assigned if one.name == name]
    assert [(one.static, one.exported) for one in found] == [(static, exported)]


def test_what_is_set_for_one_command_is_not_assigned():
    assert facts("X=1 make").assigned == ()


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("echo $X", False),
        ('echo "${X%%:*}"', False),
        ("echo ${X:-1}", True),
        ("echo ${X:?}", True),
        ('[[ -n "$X" ]]', True),
        ('[ -z "$X" ]', True),
        ('[ "$X" = 1 ]', False),
        ('[[ "$X" == 1 ]]', False),
        ("echo $((X + 1))", True),
        ("cat <<EOF\n$X\nEOF", False),
    ],
)
def test_reads(text: str, guarded: bool):
    assert [read.guarded for read in facts(text).reads if read.name == "X"] == [guarded]


@pytest.mark.parametrize("text", ["echo '$X'", 'bash -c "echo \\$X"', "cat <<'EOF'\n$X\nEOF", "echo $1 $# $?"])
def test_what_is_no_read(text: str):
    assert not [read for read in facts(text).reads if read.name == "X"]


def test_an_assignment_holds_to_the_end_of_its_block():
    found = facts("if a; then\n    X=1\n    b\nfi\nc\n").assigned[0]
    assert (found.line, found.until) == (2, 3)


@pytest.mark.parametrize(
    ("text", "only_one"),
    [
        ("if a; then\n    one\nelse\n    two\nfi", True),
        ("if a; then\n    one\nfi\ntwo", False),
        ("if a; then\n    one\n    two\nfi", False),
        ("case $X in\n    a) one ;;\n    b) two ;;\nesac", True),
        ("if one; then\n    two\nfi", False),
    ],
)
def test_statements_of_different_arms_exclude_each_other(text: str, only_one: bool):
    placed = {first_word(item.statement): item for item in facts(text).statements}
    assert exclusive(placed["one"], placed["two"]) is only_one
    assert exclusive(placed["two"], placed["one"]) is only_one


@pytest.mark.parametrize(
    ("text", "stops"), [("set -e", True), ("set -euo pipefail", True), ("set -o errexit", True), ("set -x", False), ("true", False)]
)
def test_whether_a_script_stops_at_a_failure(text: str, stops: bool):
    assert stops_at_failure(facts(text)) is stops


def test_the_text_of_a_statement_has_all_of_its_lines():
    script = parse_shell("a\nb \\\n  c\nd\n")
    assert text_of(script, script.body[1]) == "b \\\n  c"
