from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.documents.expressions import (
    CaseSensitive,
    Embedded,
    ExpressionError,
    Partial,
    Unknown,
    evaluate,
    interpolate,
    interpolated_value,
    parse_expression,
    split_template,
    template_errors,
    to_json,
    to_string,
)

CONTEXTS: dict[str, Any] = {
    "inputs": {"tp": "8", "flag": True, "off": False, "empty": "", "n": 3, "Mixed-Case": "m", "list": ["a", "B"], "none": None},
    "matrix": {"config": {"conc": [4, 8], "kv-offload": {"name": "x", "v": 1.5}, "router": None, "pair": [{"a": 1}, {"a": 2}, {"b": 3}]}},
    "env": CaseSensitive({"PATH": "/bin", "path": "lower"}),
    "github": Partial({"event_name": "push", "event": Partial({"action": "x"})}),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("0xff", 255),
        ("0o17", 15),
        ("1e3", 1000),
        ("'it''s'", "it's"),
        ("true", True),
        ("null", None),
        # conversions
        ("'8' == 8", True),
        ("'' == 0", True),
        ("null == 0", True),
        ("null == ''", True),
        ("true == 1", True),
        ("'true' == true", False),
        ("'A' == 'a'", True),
        ("'x' == 0", False),
        ("'0x10' == 16", True),
        ("NaN == NaN", False),
        ("NaN != NaN", True),
        ("null == null", True),
        ("inputs == inputs", True),
        ("inputs == matrix", False),
        ("inputs == 'Object'", False),
        ("inputs == null", False),
        ("'b' > 'A'", True),
        ("'10' > 9", True),
        ("'x' > 1", False),
        ("'x' < 1", False),
        ("true > false", True),
        ("2 >= 2", True),
        ("1 <= '0'", False),
        ("null >= 0", True),
        ("null > null", False),
        ("inputs.list < 1", False),
        # truth
        ("!''", True),
        ("!'0'", False),
        ("!0", True),
        ("!null", True),
        ("!NaN", True),
        ("!inputs", False),
        ("!!'x'", True),
        ("'' || 'x'", "x"),
        ("0 && 'x'", 0),
        ("'a' && 'b'", "b"),
        ("'a' && '' || 'c'", "c"),
        ("false || 0 || null", None),
        ("1 || 2 && 0", 1),
        ("!inputs.off && inputs.tp == 8", True),
        ("(1 || 2) && 0", 0),
        ("1 < 2 == true", True),
        ("'a' == 'b' || 'A' == 'a'", True),
        # access
        ("inputs.tp", "8"),
        ("INPUTS.TP", "8"),
        ("inputs['TP']", "8"),
        ("inputs.mixed-case", "m"),
        ("inputs.absent", None),
        ("inputs.absent.more", None),
        ("inputs.tp.x", None),
        ("inputs.list[0]", "a"),
        ("inputs.list['1']", "B"),
        ("inputs.list[1.9]", "B"),
        ("inputs.list[-1]", None),
        ("inputs.list[9]", None),
        ("inputs.list.a", None),
        ("env.PATH", "/bin"),
        ("env.path", "lower"),
        ("env.Path", None),
        ("matrix.config.pair.*.a", [1, 2]),
        ("matrix.config.pair[*].a", [1, 2]),
        ("matrix.*.conc", [[4, 8]]),
        ("matrix.*.conc[0]", [4]),
        ("matrix.config.*.name", ["x"]),
        ("inputs.tp.*", []),
        ("matrix.config['kv-offload'].v", 1.5),
        ("matrix.config.pair.*.a[0]", []),
        # functions
        ("contains('Hello', 'ELL')", True),
        ("contains(inputs.list, 'b')", True),
        ("contains(inputs.list, 'ab')", False),
        ("contains(1234, 23)", True),
        ("contains(inputs, 'tp')", False),
        ("contains(fromJSON('[1, \"2\"]'), '1')", True),
        ("contains('x', '')", True),
        ("contains(null, '')", True),
        ("startsWith('Abc', 'aB')", True),
        ("endsWith('Abc', 'BC')", True),
        ("startsWith(inputs, 'O')", False),
        ("startsWith(123, 12)", True),
        ("format('{0}-{1}-{0} {{x}}', 'a', 2)", "a-2-a {x}"),
        ("format('{0}', true)", "true"),
        ("format('{0}{1}', null, inputs)", "Object"),
        ("join(matrix.config.conc, ' ')", "4 8"),
        ("join(inputs.list)", "a,B"),
        ("join('x', '-')", "x"),
        ("join(matrix.config.pair.*.a, '+')", "1+2"),
        ('fromJSON(\'{"a": [1, {"B": null}]}\').A[1].b', None),
        ("fromJson('8') == 8", True),
        ("toJSON(inputs.list)", '[\n  "a",\n  "B"\n]'),
        ("toJSON(matrix.config.router)", "null"),
        ("toJson('x')", '"x"'),
        ("always()", True),
        ("case(false, 1, true, 2, 3)", 2),
        ("case(false, 1, 3)", 3),
        # white space
        (" \n inputs . tp \t", "8"),
        ("inputs [ 'tp' ]", "8"),
    ],
)
def test_values(text: str, value: object) -> None:
    got = evaluate(text, CONTEXTS)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("secrets.TOKEN", "secrets.TOKEN"),
        ("github.sha", "github.sha"),
        ("github.event.pull_request.number", "github.event.pull_request.number"),
        ("steps.x.outputs.y || 'd'", "steps.x.outputs.y"),
        ("secrets.A == 'x'", "secrets.A"),
        ("!runner.temp", "runner.temp"),
        ("format('{0}', secrets.B)", "secrets.B"),
        ("true && needs.a.result", "needs.a.result"),
        ("success()", "success()"),
        ("hashFiles('**/x')", "hashFiles('**/x')"),
        ("toJSON(github)", "toJSON(github)"),
        ("inputs[secrets.C]", "secrets.C"),
        ("contains(github.event.labels.*.name, 'x')", "github.event.labels.*.name"),
        ("fromJSON(secrets.D).x", "secrets.D"),
        ("case(secrets.E, 1, 2)", "secrets.E"),
    ],
)
def test_the_unknown_stays_unknown_and_says_why(text: str, unknown: str) -> None:
    assert evaluate(text, CONTEXTS) == Unknown(unknown)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("false && secrets.A", False),
        ("'x' || secrets.A", "x"),
        ("github.event_name == 'push'", True),
        ("github.event.action", "x"),
        ("always() || secrets.A", True),
    ],
)
def test_what_does_not_depend_on_the_unknown_is_known(text: str, value: object) -> None:
    assert evaluate(text, CONTEXTS) == value


def test_a_list_with_unknown_items() -> None:
    contexts = {"matrix": {"a": ["x", Unknown("secrets.Z")]}}
    assert evaluate("contains(matrix.a, 'X')", contexts) is True
    assert evaluate("contains(matrix.a, 'y')", contexts) == Unknown("secrets.Z")
    assert evaluate("join(matrix.a)", contexts) == Unknown("secrets.Z")
    assert evaluate("matrix.a[0]", contexts) == "x"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("  ", 2),
        ("inputs.", 7),
        ("'open", 0),
        ('inputs.a == "x"', 12),
        ("a.b", 0),
        ("nope()", 0),
        ("contains('a')", 0),
        ("(1", 2),
        ("1 2", 2),
        ("inputs[1", 8),
        ("inputs.tp &&", 12),
        ("inputs.tp = 'x'", 10),
        ("1 ==== 2", 4),
        ("inputs.$x", 7),
        ("!" * 60 + "1", 50),
        ("(" * 100 + "1" + ")" * 100, 50),
        ("inputs..a", 7),
        ("format()", 0),
        ("1x", 0),
        ("'a'.b", 3),
        ("a" * 30_000, 21_000),
    ],
)
def test_syntax_errors_have_a_place(text: str, offset: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert caught.value.offset == offset


@pytest.mark.parametrize("text", ["format('{1}', 'a')", "format('{')", "format('}')", "format('{x}', 1)", "fromJSON('{')", "fromJSON('')"])
def test_what_stops_a_job_is_an_error_and_unknown_in_a_text(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {})
    assert interpolate(f"a ${{{{ {text} }}}} b", {}) == ["a ", Unknown(text), " b"]


def test_interpolation() -> None:
    text = "tp=${{ inputs.tp }} ${{inputs.flag}} ${{ secrets.X }}${{ 'a}}b' }}$"
    assert interpolate(text, CONTEXTS) == ["tp=8 true ", Unknown("secrets.X"), "a}}b$"]
    assert interpolate("plain", CONTEXTS) == ["plain"]
    assert interpolate("", CONTEXTS) == interpolate("${{ inputs.empty }}", CONTEXTS) == []
    assert interpolate("x ${{ inputs.tp", CONTEXTS) == ["x ", Unknown("inputs.tp")]
    pieces = split_template(text)
    assert [text[piece.start : piece.end] for piece in pieces if isinstance(piece, Embedded)] == [
        "${{ inputs.tp }}",
        "${{inputs.flag}}",
        "${{ secrets.X }}",
        "${{ 'a}}b' }}",
    ]


def test_a_value_that_is_one_expression_keeps_its_type() -> None:
    assert interpolated_value("${{ inputs.flag }}", CONTEXTS) is True
    assert interpolated_value("x${{ inputs.flag }}", CONTEXTS) == "xtrue"
    assert interpolated_value("${{ matrix.config.conc }}", CONTEXTS) == [4, 8]
    assert interpolated_value("x${{ secrets.A }}", CONTEXTS) == Unknown("secrets.A")
    assert interpolated_value("${{ bad", CONTEXTS) == Unknown("bad")
    assert interpolated_value("", CONTEXTS) == ""


def test_errors_in_a_text_have_offsets_in_the_text() -> None:
    text = "ok ${{ inputs.a }} bad ${{ inputs. }} open ${{ x"
    errors = template_errors(text)
    assert [error.offset for error in errors] == [text.index("inputs. ") + 8, text.index("${{ x")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (0.0, "0"),
        (-0.0, "0"),
        (8, "8"),
        (0.8, "0.8"),
        (1.0, "1"),
        (0.1 + 0.2, "0.3"),
        (1e15, "1E+15"),
        (1e21, "1E+21"),
        (123456789012345, "123456789012345"),
        (0.00001, "1E-05"),
        (0.0001, "0.0001"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ([1], "Array"),
        ({}, "Object"),
        (10**400, "Infinity"),
    ],
)
def test_texts_of_values(value: object, text: str) -> None:
    assert to_string(value) == text


def test_json_is_printed_as_github_prints_it() -> None:
    value: dict[str, object] = {"name": 'a"b\\/\n\u2028é\x01', "list": [1, 2.50, True, None, [], {}], "object": {"a": {"b": 0.80}}}
    assert to_json(value) == (
        '{\n  "name": "a\\"b\\\\/\\n\\u2028é\\u0001",\n  "list": [\n    1,\n    2.5,\n    true,\n    null,\n    [],\n    {}\n  ],\n'
        '  "object": {\n    "a": {\n      "b": 0.8\n    }\n  }\n}'
    )


@settings(max_examples=300, deadline=None)
@given(st.text("inputs.tp[]()'\"&|!=<>*, 01x{}$-", max_size=40))
def test_anything_is_a_value_or_an_error(text: str) -> None:
    try:
        evaluate(text, CONTEXTS)
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)
    parts = interpolate("${{" + text + "}}", CONTEXTS)
    assert all(isinstance(part, (str, Unknown)) for part in parts)


def test_long_chains_are_bounded() -> None:
    with pytest.raises(ExpressionError):
        evaluate("inputs" + ".a" * 5000, CONTEXTS)
    with pytest.raises(ExpressionError):
        evaluate("==".join(["1"] * 7000), CONTEXTS)
    assert evaluate(" || ".join(["0"] * 4000) + " || 5", CONTEXTS) == 5
