from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema_rs
import pytest

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Fix, Level, Related, Replacement
from reviewbot.engine.own_rules import OWN_RULES
from reviewbot.progress import Progress
from reviewbot.report.common import Report, summary, visible
from reviewbot.report.github import escape_data, escape_property, render_github
from reviewbot.report.json import render_json
from reviewbot.report.markdown import code_span, escape_markdown, render_markdown
from reviewbot.report.sarif import MAX_TEXT, sarif_log
from reviewbot.report.text import render_text
from reviewbot.report.trace import render_trace_text, trace_report
from reviewbot.runs.model import Layer, Server, Setting
from reviewbot.trace.effects import Assume, Edit, Limit, OpaqueEdit
from reviewbot.trace.files import FileText, LineOrigin
from tests.support import finding, run

SCHEMAS = Path(__file__).parent.parent.parent / "schemas"
EVIL = "a\x1b[31m\u202eb\n::error::x\ud800\U000f0001%,:"
PRINT = "0" * 32


def report(*findings, lines=("x: 123",), **more):  # type: ignore[no-untyped-def]
    return Report(findings, {rule.name: rule for rule in OWN_RULES}, lambda path: lines, **more)


def validate(name: str, data: object) -> None:
    schema = json.loads((SCHEMAS / name).read_text("utf-8"))
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema).validate(data)


FULL = finding(
    line=1, column=4, end_column=7, message="123 is written, 45 runs", help="write 45", points=("p1", "p2", "p3", "p4"),
    related=(Related(Site("b.sh", 9), "sed writes 45"),), fingerprint=PRINT,
    fix=Fix("write 45", (Replacement("a.yaml", 1, 4, 1, 7, "45"),), True),
)  # fmt: skip
HOSTILE = finding(
    path=EVIL, message=EVIL, help=EVIL, points=(EVIL,), related=(Related(Site(EVIL, 1), EVIL),), fingerprint=PRINT, subject=EVIL
)


def test_text():
    assert render_text(report(FULL, finding(level=Level.NOTE, status="existing"), ignored=2)) == (
        "a.yaml:1:4 error some-rule: 123 is written, 45 runs\n"
        "    1 | x: 123\n"
        "      |    ^^^\n"
        "    => b.sh:9: sed writes 45\n"
        "    help: write 45\n"
        "    4 runs: p1, p2, p3 and 1 more\n"
        "1 error (1 existing, 2 ignored by comments)\n"
    )


def test_text_colour_only_when_asked_for():
    assert "\x1b[31merror\x1b[0m" in render_text(report(FULL), colour=True)
    assert "\x1b" not in render_text(report(FULL))


def test_text_when_clean():
    assert render_text(report()) == ""
    assert render_text(report(), terminal=True) == "no findings\n"
    assert render_text(report(incomplete=True)) == "no findings (the check is incomplete)\n"


@pytest.mark.parametrize(
    ("line", "column", "end", "source", "caret"),
    [
        ("\tx: 1", 2, 3, "1 |     x: 1", "  |     ^"),
        ("世界: 1", 3, 4, "1 | 世界: 1", "  |     ^"),
        ("x", 90, 95, "1 | x", "  |  ^"),
        ("x" * 300 + "BAD", 301, 304, None, "^^^"),
        ("x: \x1b[0m", 1, 2, "1 | x: \\x1b[0m", "  | ^"),
        ("x: \u202ey", 5, 6, "1 | x: \\u202ey", "  |          ^"),
    ],
)
def test_carets(line: str, column: int, end: int, source: str | None, caret: str):
    shown = render_text(report(finding(column=column, end_column=end), lines=(line,))).split("\n")
    assert source is None or shown[1].strip() == source
    assert shown[2][4:].endswith(caret) if source is None else shown[2][4:] == caret
    assert len(shown[1]) < 200


def test_a_path_cannot_be_a_workflow_command():
    assert render_text(report(finding(path="::error::x"), lines=())).startswith("./::error::x:1:1")


def test_json_matches_its_schema():
    data = json.loads(render_json(report(FULL, HOSTILE, ignored=1)))
    validate("check-report.schema.json", data)
    assert data["summary"] == {"errors": 2, "warnings": 0, "notes": 0, "new": 2, "existing": 0, "ignored": 1, "incomplete": False}
    assert data["findings"][0]["fix"]["replacements"][0]["text"] == "45"


@pytest.mark.parametrize("render", [render_text, render_github, render_markdown])
def test_nothing_of_the_repository_acts(render):  # type: ignore[no-untyped-def]
    text = render(report(HOSTILE))
    text.encode("utf-8")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not [line for line in text.split("\n") if line.startswith("::error::")]


def test_visible_keeps_what_is_harmless():
    assert visible("größer 世界 é") == "größer 世界 é"
    assert visible("a\u200bb\x00\U000f0000") == "a\\u200bb\\x00<?>"


def test_github_counts_what_is_over_ten_a_level():
    many = [finding(line=n) for n in range(1, 14)] + [finding(level=Level.WARNING)]
    lines = render_github(report(*many)).splitlines()
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert "reviewbot: 3 more errors without an annotation" in lines
    assert sum(line.startswith("::warning ") for line in lines) == 1
    assert lines[-1] == "reviewbot: 13 errors, 1 warning"


def test_github_escapes():
    assert escape_data("a%b\r\nc:,") == "a%25b%0D%0Ac:,"
    assert escape_property("a:b,c%") == "a%3Ab%2Cc%25"
    first = render_github(report(finding(path="a,b:c.yaml"))).splitlines()[0]
    assert first == "::error file=a%2Cb%3Ac.yaml,line=1,title=reviewbot%3A some-rule,col=1::it is wrong"


def test_markdown_escapes():
    assert escape_markdown("@all #12 <b> [x](y) *a*") == "&#64;all &#35;12 &lt;b&gt; \\[x\\]\\(y\\) \\*a\\*"
    assert code_span("a`b") == "``a`b``"
    assert code_span("`") == "`` ` ``"


def test_sarif_keeps_githubs_limits():
    log = sarif_log(report(FULL, HOSTILE, finding(rule="unused-ignore", line=0, column=0, end_line=0, end_column=0, fingerprint=PRINT)))
    [one] = log["runs"]
    assert (log["version"], one["tool"]["driver"]["name"]) == ("2.1.0", "reviewbot")
    rules = one["tool"]["driver"]["rules"]
    assert all(rule[key]["text"] for rule in rules for key in ("shortDescription", "fullDescription", "help"))
    assert all(len(rule[key]["text"]) <= MAX_TEXT for rule in rules for key in ("shortDescription", "fullDescription"))
    for result in one["results"]:
        [location] = result["locations"]
        region = location["physicalLocation"]["region"]
        assert min(region.values()) >= 1
        assert (region["endLine"], region["endColumn"]) >= (region["startLine"], region["startColumn"])
        assert set(result["partialFingerprints"]) == {"reviewbot/v1"}
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]
    json.dumps(log).encode("ascii")


def test_sarif_of_nothing_has_results_and_a_crash_is_a_notification():
    assert sarif_log(report())["runs"][0]["results"] == []
    log = sarif_log(report(finding(rule="internal-error", path="."), incomplete=True))
    assert log["runs"][0]["results"] == []
    [invocation] = log["runs"][0]["invocations"]
    assert (invocation["executionSuccessful"], len(invocation["toolExecutionNotifications"])) == (False, 1)


def test_sarif_leaves_existing_out_and_follows_links():
    log = sarif_log(report(finding(status="existing"), finding(path="link.yaml"), resolve=lambda path: "real file.yaml"))
    [result] = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "real%20file.yaml"


def full_run():  # type: ignore[no-untyped-def]
    site = Site("runners/l.sh", 12)
    setting = Setting(("45",), layers=(Layer(Site("r.yaml", 3), "recipe", "123"), Layer(site, "sed", "45")))
    server = Server("decode", "sglang", {"tp": setting, "x": Setting(("1", "2"))}, {"E": Setting((), unknown=True)}, 8, 2, None)
    return run(
        recipe_path="r.yaml", text=FileText("a: \U000f0000\n", (LineOrigin(None),)), servers=(server,), image=setting, where=site,
        argv=("srtctl", "apply"), digest="d",
        effects=(
            Edit("r.yaml", 3, "a: 123", "a: 45", None, site), Assume("x is set", site), OpaqueEdit("r.yaml", ("p",), site), Limit("l", site)
        ),
    )  # fmt: skip


def test_trace_json_matches_its_schema():
    data = trace_report([full_run(), run(outcome="refused", message=EVIL)], with_text=True)
    validate("trace-report.schema.json", data)
    one = data["runs"][0]
    assert one["recipe_text"] == "a: \ufffd\n"
    assert one["edits"] == [{"path": "r.yaml", "line": 3, "before": "a: 123", "after": "a: 45", "by": {"path": "runners/l.sh", "line": 12}}]
    assert one["servers"][0]["flags"] == {"tp": "45", "x": ["1", "2"]}
    assert one["servers"][0]["env"] == {"E": None}
    assert [layer["operation"] for layer in one["provenance"]["servers[0].flags.tp"]] == ["recipe", "sed"]
    assert trace_report([full_run()])["runs"][0]["recipe_text"] is None


def test_trace_text():
    text = render_trace_text([full_run()])
    lines = text.split("\n")
    for line in (
        "demo/c8 on pool: submit", "        --tp 45  (runners/l.sh:12)", "        --x 1 or 2", "        E=unknown", "        + a: 45",
    ):  # fmt: skip
        assert line in lines
    assert "| a: <?>" in render_trace_text([full_run()], with_text=True)


def test_summary_numbers():
    assert summary(report(FULL, FULL, finding(level=Level.NOTE))) == "2 errors, 1 note"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_waits_and_needs_a_terminal(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("reviewbot.progress.time.monotonic", lambda: now[0])
    quiet, loud = io.StringIO(), Terminal()
    both = [Progress(quiet), Progress(loud)]
    for now[0] in (1.0, 2.5, 2.51):
        for progress in both:
            progress("tracing", int(now[0]), 9)
    both[1].clear()
    assert quiet.getvalue() == ""
    assert loud.getvalue() == "\r\x1b[Ktracing 2/9\r\x1b[K"
