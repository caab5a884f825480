"""The own ``sed`` against GNU's: the same bytes, status and number of lines, or refused."""

from __future__ import annotations

import random
import subprocess

import pytest

from reviewbot.trace.text.sed import parse_sed
from reviewbot.trace.values import Holes

_REGEXES = [
    "a",
    "b",
    "^a",
    "b$",
    "a*",
    "[ab]",
    "x",
    "^",
    "$",
    "name:",
    "  k",
    "[0-9][0-9]*",
    "\\(a\\)b",
    ".*",
    "a\\+",
    "^$",
    "[^a]",
    "a\\|b",
    "[\\/:@#]",
]
_TEXTS = ["\\foo", " foo", "\\  foo", "\\\nfoo", "\\\n  foo\\\n bar", " foo\\n  bar", "   foo", "\\\n\\tx", " a\\\nb"]
_LINES = ["a", "b", "ab", "", "aab", "name: x", "  k: 12", "bab", "A", "x y", "a/b:c"]


def _gnu() -> bool:
    try:
        done = subprocess.run(["sed", "--sandbox", "--version"], capture_output=True, check=False)
    except OSError:
        return False
    return b"GNU sed" in done.stdout


def _address(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.25:
        return str(rng.randint(1, 6))
    if kind < 0.35:
        return "$"
    if kind < 0.85:
        return "/" + rng.choice(_REGEXES).replace("\\/", "") + "/" + rng.choice(["", "", "I"])
    return f"{rng.randint(1, 3)}~{rng.randint(1, 3)}"


def _addresses(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.35:
        return ""
    first = _address(rng)
    if kind > 0.65:
        second = rng.choice([_address(rng), _address(rng), f"+{rng.randint(0, 3)}"])
        first = rng.choice([first] * 5 + ["0"]) + "," + second.replace("~", "")
    return first + rng.choice(["", "", "", "!"])


def _command(rng: random.Random, depth: int = 0) -> str:
    address = _addresses(rng)
    name = rng.choice("ssssdpaicyqnNDP{=hHgGxt" if depth < 2 else "sdp")
    if name == "s":
        regex = rng.choice(_REGEXES)
        delimiter = rng.choice("///|,#@")
        if delimiter in regex:
            delimiter = "/"
        group = "\\1" if "\\(" in regex else "q"
        replacement = rng.choice(
            ["X", "", "&&", "<&>", "\\n", "a\\tb", group, "\\u&", "\\U&\\E!", 'k: "v"', "x\\/y" if delimiter == "/" else "y"]
        )
        flags = rng.choice(["", "", "g", "p", "2", "gp", "I", "3g", "gI"])
        return f"{address}s{delimiter}{regex}{delimiter}{replacement}{delimiter}{flags}"
    if name in "aic":
        return address + name + rng.choice(_TEXTS) + "\n"
    if name == "y":
        return address + rng.choice(["y/ab/ba/", "y,a,\\n,", "y/ab/xy/"])
    if name == "{":
        inner = ";".join(_command(rng, depth + 1) for _ in range(rng.randint(1, 3)))
        return address + "{" + rng.choice(["", " ", "\n"]) + inner + rng.choice([";", "", "\n"]) + "}"
    if name == "q":
        return address.split(",", maxsplit=1)[0] + rng.choice(["q", "q3", "Q"])
    return address + name


@pytest.mark.skipif(not _gnu(), reason="no GNU sed here")
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    refused = compared = 0
    for _ in range(250):
        scripts = [
            rng.choice([";", "\n", " ; "]).join(_command(rng) for _ in range(rng.randint(1, 3))) for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        text = "\n".join(rng.choice(_LINES) for _ in range(rng.randint(0, 7))) + rng.choice(["\n", "\n", ""])
        quiet = rng.random() < 0.3
        program = parse_sed(scripts, quiet=quiet)
        result = None if program is None else program.run(text)
        if result is None:
            refused += 1
            continue
        argv = ["sed", "--sandbox", *(["-n"] if quiet else []), *(word for script in scripts for word in ("-e", script))]
        done = subprocess.run(argv, input=text.encode(), capture_output=True, check=False)
        output = done.stdout.decode()
        assert not done.stderr, (scripts, done.stderr)
        assert (result.text, result.status) == (output, done.returncode), (scripts, quiet, text)
        assert len(result.origins) == output.count("\n") + (output != "" and not output.endswith("\n")), (scripts, text)
        compared += 1
    assert compared >= 120, f"{refused} of 250 were refused"


@pytest.mark.parametrize(
    ("script", "before", "after", "origins"),
    [
        ('s/^name:.*/name: "x"/', "name: a\nb\n", 'name: "x"\nb\n', (0, 1)),
        ("/^b/a\\  new", "a\nb\nc", "a\nb\n  new\nc", (0, 1, None, 2)),
        ("/^b/a new\\n  more", "b", "b\nnew\n  more\n", (0, None, None)),
        ("/^b:/,/^c/{/x/d}", "b:\n x\n y\nc\nx\n", "b:\n y\nc\nx\n", (0, 2, 3, 4)),
        ("$d", "a\nb", "a\n", (0,)),
        ("s|[\\/:@#]|_|g", "a/b:c@d#e\n", "a_b_c_d_e\n", (0,)),
    ],
)
def test_what_launchers_do(script: str, before: str, after: str, origins: tuple[int | None, ...]) -> None:
    program = parse_sed([script])
    assert program is not None
    result = program.run(before)
    assert result is not None
    assert (result.text, result.origins) == (after, origins)


@pytest.mark.parametrize(
    "script", ["s/a/b/e", "w /tmp/f", "r /etc/passwd", "s/a/b/w f", "l", "s/a/b/m", "e id", "s/(/", "k", "1,", "s//x/"]
)
def test_refused(script: str) -> None:
    assert parse_sed([script]) is None


def test_holes() -> None:
    hole = "\U000f0000"
    assert len(Holes()) == 0

    def run(script: str, text: str) -> str | None:
        program = parse_sed([script])
        assert program is not None
        result = program.run(text)
        return None if result is None else result.text

    assert run("s/^name:.*/name: new/", f"name: {hole}\n") == "name: new\n"
    assert run("s/^name:/id:/", f"name:{hole}\n") == f"id:{hole}\n"
    assert run("s/x/y/", f"name:{hole}\n") is None
    assert run("s/[0-9]*$/9/", f"a{hole}\n") is None
    assert run("/^zz/d", f"name:{hole}\n") == f"name:{hole}\n"
    assert run("/b/d", f"name:{hole}\n") is None
    assert run(f"s/^a/{hole}/", "ab\n") == f"{hole}b\n"


def test_a_loop_without_end_is_given_up() -> None:
    program = parse_sed([":a;ba"])
    assert program is not None
    assert program.run("x\n") is None
