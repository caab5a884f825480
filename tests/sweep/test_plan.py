from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.plan import plan_identity, plan_text, read_plan
from reviewbot.sweep.points import slurm_time
from tests.sweep.support import ROOT, plan, point


def test_a_plan_is_read_as_it_was_written(tmp_path: Path):
    made = plan(
        [
            point("a", "echo 'ä\udcff'", gpus=8, time_limit=90.0, gpu_hours=0.2),
            point("b", health={"url": "", "interval": 1, "attempts": 2, "log": "l", "fatal": []}),
        ]
    )
    path = tmp_path / "plan.json"
    path.write_text(plan_text(made))
    assert read_plan(path) == made
    assert plan_identity(path) == made.id
    assert made.gpu_hours == pytest.approx(0.2)


def test_the_schema_is_one():
    jsonschema_rs.meta.validate(json.loads((ROOT / "schemas" / "sweep-plan.schema.json").read_text()))


def changed(**more: object) -> str:
    return json.dumps({**json.loads(plan_text(plan([point("a")]))), **more})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a sweep plan"),
        ("[" * 100_000, "not a sweep plan"),
        ("[]", "not a sweep plan"),
        ('{"version": 1}', "not a sweep plan"),
        (changed(version=2), "a plan of version 2; this program knows version 1"),
        (changed(points=[{"key": "a"}]), "not a sweep plan: points/0"),
        (changed(commit="other"), "was changed after it was made"),
        (changed(unknown=1), "not a sweep plan"),
    ],
)
def test_bad_plans(tmp_path: Path, text: str, said: str):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(SweepError) as error:
        read_plan(path)
    assert said in str(error.value) and "\n" not in str(error.value) and error.value.status == 2


def test_a_plan_that_is_not_there(tmp_path: Path):
    for read in (read_plan, plan_identity):
        with pytest.raises(SweepError, match="No such file"):
            read(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("1:30", 90),
        ("02:00:00", 7200),
        ("1-0", 86400),
        ("1-2:30", 95400),
        ("1-2:30:15", 95415),
        ("0", None),
        ("4 hours", None),
        ("-5", None),
        ("1:2:3:4", None),
        ("x-5", None),
        ("", None),
    ],
)
def test_time_limits(text: str, seconds: float | None):
    assert slurm_time(text) == seconds
