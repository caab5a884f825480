from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reviewbot import cli
from reviewbot.cli import main
from reviewbot.documents.positions import Problem, Span
from reviewbot.engine.own_rules import OWN_RULES
from tests import support
from tests.support import marks, module

ROOT = Path(__file__).parent.parent
FILES = {"a.yaml": "BAD 1\n", "sub/b.yaml": "BAD 2\n"}


@pytest.fixture
def reviewbot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """A function that runs a command over trees in memory, with one rule: status, output, errors."""
    known = {own.name: own for own in OWN_RULES} | {"bad-word": module("bad-word", marks)}
    monkeypatch.setattr(cli, "_known_rules", lambda: known)

    def run(*argv: str, files=FILES, base=None, head=None, **more):  # type: ignore[no-untyped-def]
        revisions = {None: files} | ({"base": base} if base is not None else {}) | ({"head": head} if head is not None else {})
        status = main(["-C", str(tmp_path), *argv], support.parts(revisions, **more))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_findings_give_one(reviewbot):  # type: ignore[no-untyped-def]
    status, out, _ = reviewbot("check")
    assert status == 1
    assert out == (
        "a.yaml:1:1 error bad-word: BAD is written\n    1 | BAD 1\n      | ^^^^^\n"
        "sub/b.yaml:1:1 error bad-word: BAD is written\n    1 | BAD 2\n      | ^^^^^\n"
        "2 errors\n"
    )


def test_silent_when_clean(reviewbot):  # type: ignore[no-untyped-def]
    assert reviewbot("check", files={"a.yaml": "fine"}) == (0, "", "")


@pytest.mark.parametrize(
    ("level", "fail_on", "status"),
    [("note", "warning", 0), ("warning", "warning", 1), ("error", "never", 0), ("note", "note", 1), ("warning", None, 0)],
)
def test_fail_on(reviewbot, level: str, fail_on: str | None, status: int):  # type: ignore[no-untyped-def]
    files = FILES | {".reviewbot.yaml": f"rules: {{bad-word: {level}}}\n"}
    assert reviewbot("check", *(["--fail-on", fail_on] if fail_on else []), files=files)[0] == status


def test_fail_on_from_settings_and_over_it(reviewbot):  # type: ignore[no-untyped-def]
    files = FILES | {".reviewbot.yaml": "fail-on: never\n"}
    assert reviewbot("check", files=files)[0] == 0
    assert reviewbot("check", "--fail-on", "error", files=files)[0] == 1


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["check", "--fail-on", "high"], "invalid choice"),
        (["check", "--select", "bad-wrod"], "the nearest is bad-word"),
        (["check", "--ignore", "bad-wrod"], "the nearest is bad-word"),
        (["check", "nowhere"], "there is no nowhere in the repository"),
        (["check", "../.."], "outside of the repository"),
        (["check", "--base", "gone"], "no revision gone"),
        (["check", "--head", "gone"], "no revision gone"),
        (["check", "--baseline", "/nonexistent/b.json"], "No such file"),
        (["check", "--upstream", "x"], "OWNER/NAME=PATH"),
        (["check", "--upstream", "a/b=/nonexistent"], "not a folder"),
        (["check", "--jobs", "0"], "at least 1"),
        (["rules", "bad-wrod"], "the nearest is bad-word"),
        (["trace", "nothing"], "no point or config key matches"),
        ([], "COMMAND"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_usage_gives_two_and_one_line(reviewbot, argv: list[str], said: str):  # type: ignore[no-untyped-def]
    status, out, err = reviewbot(*argv)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("text", "said"), [("ruls: {}\n", "rules"), ("rules: {bad-wrod: off}\n", "bad-word")])
def test_bad_settings_give_two(reviewbot, text: str, said: str):  # type: ignore[no-untyped-def]
    status, _, err = reviewbot("check", files=FILES | {".reviewbot.yaml": text})
    assert status == 2
    assert err.startswith("reviewbot: .reviewbot.yaml:1: ")
    assert said in err


def test_incomplete_gives_three_whatever_was_found(reviewbot):  # type: ignore[no-untyped-def]
    problem = ("c.yaml", Problem("yaml-syntax", "broken", Span(1, 1, 1, 2), fatal=True))
    status, out, _ = reviewbot("check", "--fail-on", "never", problems=[problem])
    assert status == 3
    assert out.endswith("(the check is incomplete)\n")


def test_paths_filter_what_is_shown(reviewbot):  # type: ignore[no-untyped-def]
    out = reviewbot("check", "sub")[1]
    assert "sub/b.yaml:1" in out
    assert "a.yaml:1:1" not in out.replace("sub/b", "")
    assert "2 errors" in reviewbot("check", ".")[1]


def test_base_hides_what_was_there_and_settings_come_from_it(reviewbot):  # type: ignore[no-untyped-def]
    head = {"a.yaml": "x\nBAD 1\n", "new.yaml": "BAD 3\n", ".reviewbot.yaml": "rules: {bad-word: off}\n"}
    status, out, _ = reviewbot("check", "--base", "base", files=head, base={"a.yaml": "BAD 1\n"})
    assert status == 1
    assert out.startswith("new.yaml:1:1 error")
    assert out.endswith("1 error (1 existing)\n")


def test_a_moved_file_has_no_new_findings(reviewbot):  # type: ignore[no-untyped-def]
    assert reviewbot("check", "--base", "base", files={"b.yaml": "BAD 1\n"}, base={"a.yaml": "BAD 1\n"})[0] == 0


def test_head_is_read_instead_of_the_working_tree(reviewbot):  # type: ignore[no-untyped-def]
    assert reviewbot("check", "--head", "head", head={"a.yaml": "fine"})[0] == 0


def test_baseline(reviewbot, tmp_path: Path):  # type: ignore[no-untyped-def]
    file = tmp_path / "baseline.json"
    assert reviewbot("baseline", "-o", str(file))[0] == 0
    assert len(json.loads(file.read_text())["findings"]) == 2
    status, out, _ = reviewbot("check", "--baseline", str(file), files=FILES | {"c.yaml": "BAD 9"})
    assert status == 1
    assert out.endswith("1 error (2 existing)\n")
    assert reviewbot("check", "--baseline", str(file))[0] == 0
    assert reviewbot("baseline")[1] == file.read_text()


def test_select_and_ignore(reviewbot):  # type: ignore[no-untyped-def]
    assert reviewbot("check", "--ignore", "bad-word")[0] == 0
    assert reviewbot("check", "--select", "unused-ignore,unparsable-file")[0] == 0
    assert reviewbot("check", "--select", "bad-word")[0] == 1


@pytest.mark.parametrize("form", ["json", "sarif", "github", "markdown", "text"])
def test_the_status_does_not_depend_on_the_format(reviewbot, form: str):  # type: ignore[no-untyped-def]
    status, out, _ = reviewbot("check", "--format", form)
    assert status == 1
    if form in ("json", "sarif"):
        json.loads(out)


def test_rules(reviewbot):  # type: ignore[no-untyped-def]
    assert "bad-word" in reviewbot("rules")[1]
    assert reviewbot("rules", "unused-ignore")[1].startswith("# unused-ignore\n")


def test_trace_chooses_by_key_point_and_glob(reviewbot):  # type: ignore[no-untyped-def]
    runs = [support.run("one", "one/c1"), support.run("two", "two/c1"), support.run("two", "two/c2")]
    for key, count in (("two", 2), ("two/c1", 1), ("*c1", 2), ("one/c1@pool", 1)):
        status, out, _ = reviewbot("trace", key, "--format", "json", runs=runs)
        assert (status, len(json.loads(out)["runs"])) == (0, count), key
    assert reviewbot("trace", runs=runs)[1].endswith("3 runs\n")


def test_a_crash_is_one_line_unless_debugged(reviewbot, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def crash(*_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(cli, "_rendered", crash)
    assert reviewbot("check") == (3, "", "reviewbot: crashed: RuntimeError: odd (--debug shows where)\n")
    with pytest.raises(RuntimeError):
        reviewbot("check", "--debug")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_help_imports_nothing_heavy():
    code = "import sys; from reviewbot.cli import main; main(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment())
    heavy = {
        "yaml",
        "tree_sitter",
        "tree_sitter_bash",
        "jsonschema",
        "jsonschema_rs",
        "ruamel",
        "libcst",
        "github",
        "unidiff",
        "submitit",
        "sqlite3",
    }
    assert heavy & set(done.stderr.split()) == set()
    assert not any(name.startswith(("reviewbot.trace", "reviewbot.rules", "reviewbot.runs")) for name in done.stderr.split())


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m reviewbot rules | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment())
    assert done.stderr == b""


def test_version():
    done = subprocess.run([sys.executable, "-m", "reviewbot", "--version"], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout) == (0, "reviewbot 0.1.0\n")


def test_an_unknown_profile_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / ".reviewbot.yaml").write_text("fail-on: note\nprofile: inferencex-2026\n", "utf-8")
    assert main(["-C", str(tmp_path), "check", "--no-cache"]) == 2
    assert capsys.readouterr().err == "reviewbot: .reviewbot.yaml:2: there is no profile 'inferencex-2026'; the nearest is inferencex-2026-08\n"
