from __future__ import annotations

import pytest

from reviewbot.settings import FAIL_LEVELS, LEVELS, Settings, SettingsError, parse_settings, settings_schema

FULL = b"""
rules:
  bad-word: off
  row-refused: warning
fail-on: warning
exclude: [vendor/**]
upstreams:
  NVIDIA/srt-slurm: ../srt-slurm
layout:
  masters: [configs/*.yaml]
opaque-helpers:
  runners/rewrite.py: [benchmark.concurrencies, backend.*]
policy:
  frozen: {image: [a]}
"""


def test_all_keys():
    settings = parse_settings(FULL)
    assert settings.levels == {"bad-word": "off", "row-refused": "warning"}
    assert settings.fail_on == "warning"
    assert settings.exclude == ("vendor/**",)
    assert settings.upstreams == {"NVIDIA/srt-slurm": "../srt-slurm"}
    assert settings.layout.masters == ("configs/*.yaml",)
    assert settings.layout.recipes == ()
    assert settings.opaque_helpers == {"runners/rewrite.py": ("benchmark.concurrencies", "backend.*")}
    assert settings.policy == {"frozen": {"image": ["a"]}}
    assert settings.lines[("rules", "row-refused")] == 4


@pytest.mark.parametrize("text", [b"", b"# nothing\n", b"---\n"])
def test_empty(text: bytes):
    assert parse_settings(text).levels == Settings().levels


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (b"\nfail_on: error\n", 2, "unknown key 'fail_on'; the nearest is 'fail-on'"),
        (b"zzzzzz: 1\n", 1, "known are rules, fail-on"),
        (b"layout:\n  master: []\n", 2, "unknown key 'layout.master'; the nearest is 'masters'"),
        (b"rules:\n  x: off\n  y: loud\n", 3, "loud"),
        (b"fail-on: high\n", 1, "high"),
        (b"exclude: vendor\n", 1, "vendor"),
        (b"upstreams:\n  srt-slurm: x\n", 1, "srt-slurm"),
        (b"rules: {a: off}\nrules: {b: off}\n", 2, "written twice"),
        (b"- 1\n", 1, "must be a mapping"),
        (b"rules: [\n", 2, "not YAML"),
        (b"rules: {a: *b}\n", 1, "not YAML"),
        (b"? [a, b]\n: 1\n", 1, ""),
        (b"a: \xff\n", 1, "not UTF-8"),
        (b"\n\n!!python/object:os.system {}\n", 3, "not YAML"),
        (b"policy: " + b"[" * 400 + b"]" * 400, 1, "too deep"),
        (b"policy:\n  a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"  %c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 9)) for n in range(12)), None, "too deep or too large"),
    ],
)  # fmt: skip
def test_refused(text: bytes, line: int | None, said: str):
    with pytest.raises(SettingsError) as caught:
        parse_settings(text)
    assert said in caught.value.message
    if line is not None:
        assert caught.value.line == line
    assert str(caught.value).startswith(f".reviewbot.yaml:{caught.value.line}: ")


def test_levels_agree_with_the_schema():
    properties = settings_schema()["properties"]
    assert tuple(properties["rules"]["additionalProperties"]["enum"]) == LEVELS
    assert tuple(properties["fail-on"]["enum"]) == FAIL_LEVELS
