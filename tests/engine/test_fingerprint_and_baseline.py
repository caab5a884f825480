from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.engine.baseline import BaselineError, marked, read_baseline, write_baseline
from reviewbot.engine.fingerprint import with_fingerprints
from tests.support import finding


def prints(*findings, **more):  # type: ignore[no-untyped-def]
    return [f.fingerprint for f in with_fingerprints(findings, **more)]


@given(st.integers(1, 500), st.integers(1, 80))
def test_no_line_number_is_part_of_it(line: int, column: int):
    moved = finding(line=line, column=column, end_line=line, end_column=column + 1)
    assert prints(moved) == prints(finding())


@pytest.mark.parametrize("change", [{"rule": "other"}, {"path": "b.yaml"}, {"structure": "x.y"}, {"subject": "s"}, {"message": "else"}])
def test_what_it_is_made_of(change: dict[str, str]):
    assert prints(finding(**change)) != prints(finding())


def test_the_message_counts_only_without_a_subject_and_less_its_lines():
    assert prints(finding(subject="s  t", message="a")) == prints(finding(subject="s t ", message="b"))
    assert prints(finding(message="see a.sh:12 and line 4")) == prints(finding(message="see a.sh:99:3 and line 5"))


def test_occurrences_are_told_apart_in_order_of_place():
    one, two = prints(finding(line=9), finding(line=4))
    assert one != two
    assert one == prints(finding(line=1))[0]


def test_renames_map_the_path():
    assert prints(finding(path="old.yaml"), renames={"old.yaml": "a.yaml"}) == prints(finding())


def test_subtraction_is_that_of_multisets():
    same = [finding(fingerprint="x"), finding(fingerprint="x"), finding(fingerprint="y")]
    assert [f.status for f in marked(same, Counter({"x": 1, "z": 4}))] == ["existing", "new", "new"]


def test_baseline_round_trip_is_sorted_and_holds_no_line():
    findings = with_fingerprints([finding(path="b", line=77), finding(path="a")])
    text = write_baseline(findings)
    assert [entry["path"] for entry in json.loads(text)["findings"]] == ["a", "b"]
    assert "77" not in json.dumps([{**entry, "fingerprint": ""} for entry in json.loads(text)["findings"]])
    assert {f.status for f in marked(findings, read_baseline(text))} == {"existing"}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [3]}', '{"version": 1}', "[" * 90000]
)
def test_what_is_not_a_baseline(text: str):
    with pytest.raises(BaselineError):
        read_baseline(text)
