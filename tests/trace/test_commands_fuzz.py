"""Text commands against the installed tools, on seeded random input: the same output and status, or *unknown*."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reviewbot.trace.values import is_known
from tests.trace.shells import FakeShell

_WORDS = [
    "a",
    "b",
    "ab",
    "abc",
    "x y",
    "a,b,c",
    "10,3",
    "9,20",
    "12",
    "3",
    "a b c",
    "A B",
    "",
    "b:1:2",
    "aab",
    "  x",
    "1 2",
    "2 10",
    "ab ab",
]
_PATTERNS = [
    "a",
    "b.",
    "[0-9]",
    "^a",
    "x$",
    "a*",
    "[0-9]\\+",
    "[0-9]+",
    "a b",
    "^$",
    "A",
    "(a|b)+",
    "ab\\|b",
    "\\bab",
    "a.c",
    "\\K",
    "b\\Kc",
    "\\d+",
    ".",
    "(?<=a)b",
    "a{2}",
]
_AWK = [
    "{print $1}",
    "{print $NF}",
    "/a/",
    "/a/{print $2}",
    "NR==1",
    "NR==2{print;exit}",
    "END{print NR}",
    "{s+=$1}END{print s}",
    "{print NF}",
    "BEGIN{print 7/3}",
    '$1=="a"',
    '$1>1{print "x" $1}',
    "/a/{t=1;next} t&&/b/{p=1} END{exit !(p)}",
    "{print $1,$2}",
    '{printf "%s-%d\\n",$1,$2}',
    "/a/,/b/",
    "!/a/",
    "{print length($0)}",
    "{print toupper($1)}",
    '{gsub(/a/,"z");print}',
    '{sub(/b+/,"");print}',
    "NR>1 && $2~/^b/{print $1}",
    '{if($1=="a")print "A";else print "B"}',
    "BEGIN{x=3;print x*2+1,x%2}",
    "{n++} END{print n+0}",
    '$1 != "a" { print substr($0,2,3) }',
    "BEGIN{print (9472-1)/32}",
    "BEGIN{print 1e6, 1234567, 0.1+0.2, 100000*10}",
    'BEGIN{printf "%.2f|%5d|%-4s|\\n",3.14159,42,"a"}',
]
Choice = Callable[[list[list[str]]], list[str]]


def _command(rng: random.Random, tool: str) -> list[str]:
    def one(choices: list[list[str]]) -> list[str]:
        return rng.choice(choices)

    if tool == "cut":
        delimiter = one([["-d", ","], ["-d:"], ["-d", " "], []])
        return [
            tool,
            *delimiter,
            *one([["-f", "1"], ["-f", "1,3"], ["-f2-"], ["-f", "-2"], ["-c", "1"], ["-c", "2-3"]]),
            *one([[], [], ["-s"]]),
        ]
    if tool == "tr":
        sets = [
            ["a-z", "A-Z"],
            ["-d", "a-c"],
            ["-d", " ,"],
            ["-s", " "],
            ["a", "\n"],
            [" ", "\n"],
            ["-cd", "0-9"],
            ["-c", "a-z", "_"],
            ["-d", "[:space:]"],
            ["[:lower:]", "[:upper:]"],
            ["abc", "x"],
            ["-s", "a", "b"],
            ["-d", "\n"],
            ["-cs", "a-z", "\n"],
            ["\\n", ","],
        ]
        return [tool, *one(sets)]
    if tool == "head":
        return [tool, *one([[], ["-n", "2"], ["-n", "0"], ["-n", "-1"], ["-1"], ["-n1"], ["-c", "3"]])]
    if tool == "tail":
        return [tool, *one([[], ["-n", "2"], ["-n", "+2"], ["-n", "+1"], ["-1"], ["-n1"], ["-c", "3"]])]
    if tool == "sort":
        keys = [[], ["-u"], ["-n"], ["-r"], ["-nr"], ["-V"], ["-k2,2n"], ["-t,", "-k2,2n"], ["-k", "1,1"], ["-un"], ["-rn", "-k", "2"]]
        return [tool, *one(keys)]
    if tool == "uniq":
        return [tool, *one([[], ["-c"], ["-d"], ["-u"]])]
    if tool == "wc":
        return [tool, *one([["-l"], ["-w"], ["-c"]])]
    if tool == "grep":
        flags = ["-v", "-o", "-c", "-n", "-q", "-i", "-w", "-x", "-m1", "-on", "-vc", "-oE", "-E", "-F", "-P", "-oP", "-oi", "-s"]
        return [tool, rng.choice(flags), rng.choice(_PATTERNS)]
    if tool == "awk":
        return [tool, *one([[], ["-F,"], ["-F", ":"], ["-v", "x=2"]]), rng.choice(_AWK)]
    return [tool]


@pytest.mark.parametrize("tool", ["cut", "tr", "head", "tail", "sort", "uniq", "wc", "grep", "awk", "rev", "tac"])
def test_random_input(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool} here")
    rng = random.Random(tool)
    refused = 0
    count = 60
    for _ in range(count):
        argv = _command(rng, tool)
        text = "\n".join(rng.choice(_WORDS) for _ in range(rng.randint(0, 6))) + rng.choice(["\n", "\n", ""])
        got = FakeShell().call(*argv, stdin=text)
        if got.status is None or not is_known(got.stdout):
            refused += 1
            continue
        done = subprocess.run(
            argv, input=text.encode(), capture_output=True, env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}, cwd=tmp_path, check=False
        )
        assert (got.stdout, got.status) == (done.stdout.decode(), done.returncode), (argv, text)
    assert refused <= count * 0.4, f"{refused} of {count} were refused"


@pytest.mark.parametrize(
    "argv",
    [
        ["printf", "%s\\n", "a", "b c"],
        ["printf", "%s\\n"],
        ["printf", "%d-%02d\\n", "5", "7", "9"],
        ["printf", "%5s|%-5s|\\n", "ab", "cd"],
        ["printf", "%b", "a\\tb\\n"],
        ["printf", "%x %X %o\\n", "255", "255", "8"],
        ["printf", "%q\\n", "a b"],
        ["printf", "%q\\n", 'a$b"'],
        ["printf", "%.2f\\n", "3.14159"],
        ["printf", "%%%s\\n", "x"],
        ["printf", "a\\x41\\101\\n"],
        ["printf", "%s %s\\n", "a", "b", "c"],
        ["printf", "%d\\n", "'A"],
        ["printf", "%+d % d\\n", "5", "5"],
        ["printf", "%.3s\\n", "abcdef"],
        ["printf", "%*d\\n", "5", "3"],
        ["printf", "%i\\n", "0x1f"],
        ["printf", "--", "%s", "x"],
        ["printf", "plain\\n", "x", "y"],
        ["echo", "a"],
        ["echo", "-n", "a"],
        ["echo", "-e", "a\\tb"],
        ["echo", "-e", "a\\nb\\c", "x"],
        ["echo", "-E", "a\\n"],
        ["echo", "-ne", "\\x41"],
        ["echo", "a", "-n"],
        ["echo", "-x"],
        ["echo", "-e", "\\0101"],
        ["echo", "--"],
        ["echo", "-e", "a\\\\b"],
        ["echo"],
        ["basename", "/a/b.c"],
        ["basename", "/a/b.c", ".c"],
        ["basename", "a/"],
        ["basename", "/"],
        ["basename", ".c", ".c"],
        ["basename", "-s", ".c", "a.c", "b.c"],
        ["basename", "-a", "x/y", "z"],
        ["basename", ""],
        ["basename", "a//b//"],
        ["dirname", "/a/b"],
        ["dirname", "a"],
        ["dirname", "/a"],
        ["dirname", "/"],
        ["dirname", "a/b/"],
        ["dirname", "a//b"],
        ["dirname", "/a/b", "c/d"],
        ["seq", "3"],
        ["seq", "2", "4"],
        ["seq", "5", "-1", "1"],
        ["seq", "-s", ",", "3"],
        ["seq", "-w", "8", "11"],
        ["seq", "3", "1"],
    ],
    ids=" ".join,
)
def test_without_input(argv: list[str]) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@"', "x", *argv], capture_output=True, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, check=False
    )
    got = FakeShell().call(*argv)
    assert (got.stdout, got.status) == (done.stdout.decode(), done.returncode)
