"""Text tools on known input print what the real tools print."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reviewbot.trace.commands import COMMANDS
from tests.trace.scripts import only, variable

SCRIPTS = [
    "seq -s, 3",
    "seq -s ' ' 2 4",
    "seq -s, 5 -2 1",
    "seq --separator=+ 3",
    "seq -s, 3 1",
    "printf '%s\\n' a/b a_b-1 a_b-2 | LC_ALL=C sort",
    "printf '%s\\n' a/c a/b-2 a/b-1 | sort",
    "printf '%s\\n' x/10 x/9 x/100 | sort -t/ -k2n",
    "printf '%s\\n' b_2 b_1 a_9 | sort -r",
    "printf 'b 1\\na 2\\nc 0\\n' | sort -k2",
    "printf 'c\\0a\\0b\\0' | sort -z | tr '\\0' ,",
    "printf '%s\\n' 3 1 2 1 | sort -nu",
    "printf '%s\\n' 1 2 3 | paste -sd,",
    "printf '%s\\n' 1 2 3 | paste -sd+ -",
    "printf '%s\\n' 1 2 3 4 | paste -s -d ',;'",
    "printf '%s\\n' 1 2 3 | paste - -",
    "printf '%s\\n' a b > f; printf '%s\\n' 1 > g; paste -d: f g",
    "printf '%s\\n' 1 2 | paste -sd'\\n'",
    "seq 9 | grep -A1 5",
    "seq 9 | grep -B2 5",
    "seq 9 | grep -C 1 -e 2 -e 7",
    "seq 9 | grep -n -A1 '[38]'",
    "seq 9 | grep -A 2 -B1 -e 3 -e 5",
    "seq 9 > f; seq 3 > g; grep -H -A1 2 f g",
    "seq 3 | grep -A1 7 || echo none",
    "seq 4 | head -n -1",
    "seq 4 | head -n -9",
    "seq 4 | head -2",
    "seq 4 | tail -n +3",
    "seq 4 | head --lines=-2",
    "printf 'x\\ny\\nx\\n' | sed '0,/x/s//z/'",
    "printf 'y\\nx\\nx\\n' | sed '0,/x/d'",
    "printf 'ax\\nb\\n' | sed '/a\\(.\\)/s//<\\1>/'",
    "printf 'x\\nx\\n' | sed '1,/x/s/x/z/'",
    "mkdir -p d/e; [[ -w d/e && -r d && -x d ]] && echo yes",
    "echo > f; [[ -w f && -s f ]] && echo yes",
    "echo > f; [[ f -ef ./f ]] && echo same",
    "echo > f; echo > g; [[ f -ef g ]] || echo other",
    "echo > f; rm f; [[ f -ef f ]] || echo gone",
    "mkdir d; [[ d -ef d/../d ]] && echo same",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_output(script: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    done = subprocess.run(
        [bash, "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=10,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
    )
    path = only(f"cd /tmp/w; v=$({script})", commands=COMMANDS, stop="end")
    assert variable(path, "v") == done.stdout.rstrip("\n").replace("\0", ""), done.stderr


@pytest.mark.parametrize("script", ["printf '%s\\n' a B | sort", "printf '%s\\n' a-b ab | sort", "printf '%s\\n' '1 a' '1 B' | sort -n"])
def test_an_order_that_depends_on_the_locale_is_unknown(script: str) -> None:
    value = variable(only(f"v=$({script})", commands=COMMANDS, stop="end"), "v")
    assert value is not None and not value.isascii()
