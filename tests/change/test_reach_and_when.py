"""Who reaches a line, and when a value changed."""

from __future__ import annotations

import json

import pytest

from reviewbot.change.branches import conditions_at, statement_at
from reviewbot.change.cost import slurm_seconds
from reviewbot.documents.shell import parse_shell
from tests.change.conftest import H100, MASTER, Repository

SGLANG, VLLM = "toy-fp8-h100-dynamo-sglang", "toy-fp8-h100-dynamo-vllm"

SCRIPT = """\
f() {
    echo body
}
if [[ $A == 1 ]]; then
    one
elif [[ $A == 2 ]]; then
    two
else
    # a remark
    three
fi
case "$B" in
    x | y)
        four
        ;;
esac
"""


@pytest.mark.parametrize(
    ("line", "statement", "conditions"),
    [
        (2, 2, [("f() is called", True)]),
        (5, 5, [("[[ $A == 1 ]]", True)]),
        (7, 7, [("[[ $A == 1 ]]", False), ("[[ $A == 2 ]]", True)]),
        (9, 10, [("[[ $A == 1 ]]", False), ("[[ $A == 2 ]]", False)]),
        (14, 14, [('case "$B" in x | y)', True)]),
        (12, 12, []),
    ],
)
def test_conditions_of_a_line(line: int, statement: int, conditions: list[tuple[str, bool]]):
    script = parse_shell(SCRIPT, "a.sh")
    assert statement_at(script, line) == statement
    assert [(one.text, one.holds) for one in conditions_at(script, statement)] == conditions


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("180", 10_800), ("30:00", 1_800), ("4:00:00", 14_400), ("1-12", 129_600), ("1-00:30", 88_200), ("soon", None), ("", None)],
)
def test_times_of_slurm(text: str, seconds: int | None):
    assert slurm_seconds(text) == seconds


def reach(repository: Repository, *arguments: str) -> dict:
    return json.loads(repository.run("reach", *arguments, "--format", "json"))


def names(points: list[str]) -> set[str]:
    return {point.split("[")[0] for point in points}


def test_reach_of_a_line(repository: Repository):
    line = repository.line(H100, "git checkout v1.0.68")
    found = reach(repository, f"{H100}:{line}")["head"]
    assert names(found[0]["points"]) == {SGLANG, VLLM}
    assert [one["text"] for one in found[0]["conditions"]] == ['[[ "${IS_MULTINODE:-false}" == "true" ]]']
    single = reach(repository, f"{H100}:{repository.line(H100, 'salloc --partition')}")["head"]
    assert names(single[0]["points"]) == {"toy-fp8-h100-vllm", "mini-fp8-h100-vllm"}


def test_reach_on_both_sides(repository: Repository):
    repository.replace(
        H100,
        '    SRT_DIR="srt-slurm"\n',
        '    if [[ $FRAMEWORK == dynamo-vllm ]]; then\n        SRT_DIR="srt-slurm"\n    fi\n    SRT_DIR="${SRT_DIR:-other}"\n',
    )
    line = repository.line(H100, '        SRT_DIR="srt-slurm"')
    report = reach(repository, f"{H100}:{line}", "--base", repository.base)
    assert names(report["head"][0]["points"]) == {VLLM}
    assert names(report["base"][0]["points"]) == {SGLANG, VLLM}


def test_reach_of_all_branches(repository: Repository):
    found = {one["line"]: names(one["points"]) for one in reach(repository, H100)["head"]}
    assert found[repository.line(H100, "toy/fp8)")] == {SGLANG, VLLM}
    assert found[repository.line(H100, "cannot run") - 1] == set()


@pytest.mark.parametrize(("place", "said"), [("runners/none.sh:3", "there is no script"), (f"{H100}:4000", "has no line 4000")])
def test_reach_of_nothing(repository: Repository, place: str, said: str):
    assert said in repository.run("reach", place, status=2)


def test_when_a_value_changed(repository: Repository):
    repository.append("README.md", "more\n")
    repository.commit("words")
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.69")
    second = repository.commit("a newer tool")
    repository.replace(MASTER, f"{VLLM}:\n  image: vllm/vllm-openai:v0.11.0", f"{VLLM}:\n  image: vllm/vllm-openai:v0.12.0")
    third = repository.commit("a newer image")
    report = json.loads(repository.run("when", VLLM, "checkout.1", "--range", f"{repository.base}..{third}", "--format", "json"))
    assert report["commits"] == 3
    assert [(step["commit"], step["subject"]) for step in report["steps"]] == [(second, "a newer tool")]
    change = report["steps"][0]["changes"][0]
    assert (change["before"].rpartition("@")[2], change["after"].rpartition("@")[2]) == ("v1.0.68", "v1.0.69")
    images = json.loads(repository.run("when", VLLM, "cluster.containers.*", "--range", f"{repository.base}..HEAD", "--format", "json"))
    assert [step["commit"] for step in images["steps"]] == [third]


def test_when_a_key_came(repository: Repository):
    text = (repository.root / MASTER).read_text("utf-8")
    start, end = text.index(f"{VLLM}:\n"), text.index("mini-fp8-h200-dynamo-sglang:\n")
    (repository.root / MASTER).write_text(text[:start] + text[end:], "utf-8")
    gone = repository.commit("without")
    (repository.root / MASTER).write_text(text, "utf-8")
    back = repository.commit("with")
    report = json.loads(repository.run("when", VLLM, "outcome", "--range", f"{repository.base}..HEAD", "--format", "json"))
    assert [(step["commit"], step["changes"][0]["before"], step["changes"][0]["after"]) for step in report["steps"]] == [
        (gone, "submit", None), (back, None, "submit"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", "image", "--range", "HEAD~1..HEAD"), "no point or config key matches 'nobody'"),
        ((VLLM, "checkout.7", "--range", "HEAD~1..HEAD"), "the nearest is checkout."),
        ((VLLM, "image", "--range", "HEAD"), "--range wants A..B"),
        ((VLLM, "image", "--range", "nobody..HEAD"), "there is no revision"),
    ],
)
def test_when_of_nothing(repository: Repository, arguments: tuple[str, ...], said: str):
    repository.append("README.md", "more\n")
    repository.commit("words")
    assert said in repository.run("when", *arguments, status=2)
