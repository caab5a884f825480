from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Fix, Level, Related, Replacement
from reviewbot.review import artifact as module
from reviewbot.review.artifact import Artifact, ArtifactError, read_artifact, write_artifact
from tests.review.conftest import FILES, Reviewed
from tests.review.kit import commit, finding
from tests.review.test_markup import HOSTILE, acts

HEAD = commit("h1")
RULES = {"some-rule"}


def whole() -> Artifact:
    rich = replace(
        finding("f", 3, help="do it", points=("p1", "p2"), structure="a.b"),
        related=(Related(Site("b.yaml", 2), "there"),),
    )  # fmt: skip
    return Artifact(HEAD, commit("base"), (rich, finding("g", 4, Level.NOTE)), False, ("a file",), frozenset({"a" * 32}))


def written(tmp_path: Path, data: Any) -> str:
    path = tmp_path / "reviewbot-findings.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, write_artifact(whole()))
    assert read_artifact(path, HEAD, RULES) == whole() == read_artifact(str(tmp_path), HEAD, RULES)


def test_a_suggestion_is_not_carried(tmp_path: Path) -> None:
    mended = replace(finding("f", 3), fix=Fix("mend", (Replacement("a.yaml", 3, 1, 3, 4, "x"),), True))
    path = written(tmp_path, write_artifact(replace(whole(), findings=(mended,))))
    assert read_artifact(path, HEAD, RULES).findings == (replace(mended, fix=None),)


def change(**fields: Any) -> Any:
    return lambda data: data.update(fields)


def first(**fields: Any) -> Any:
    return lambda data: data["findings"][0].update(fields)


@pytest.mark.parametrize(
    "forge",
    [
        change(version=2), change(number=7), change(head="HEAD"), change(head=commit("other")), change(complete="yes"), change(findings={}),
        change(unchecked=["x"] * 51), change(existing=["x"]), change(base="../.."),
        first(rule="no-such-rule"), first(rule="$(id)"), first(level="fatal"), first(path="/etc/passwd"), first(path=""),
        first(path="a\0b"),
        first(line=0), first(line=10**9), first(line=True), first(line=1.5), first(column="1"), first(message="x" * 5000),
        first(body="LGTM"),
        first(points=["x"] * 101), first(fingerprint="x"), first(fingerprint="A" * 32), first(related=[{"path": "a", "line": 1}]),
        first(fix={"title": "t", "replacements": []}), lambda data: data["findings"].extend(data["findings"] * 1001), lambda data:
        data.pop("head"),
    ],
)  # fmt: skip
def test_forged_artifacts_are_refused(tmp_path: Path, forge: Any) -> None:
    data = json.loads(write_artifact(whole()))
    forge(data)
    with pytest.raises(ArtifactError) as error:
        read_artifact(written(tmp_path, data), HEAD, RULES)
    assert "\n" not in str(error.value) and "LGTM" not in str(error.value) and "passwd" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 100_000, "{}" + " " * 3_000_000, '{"a":' * 50_000, "\ud800".encode("utf-8", "surrogatepass")]
)
def test_what_is_no_artifact_is_refused(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "reviewbot-findings.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ArtifactError):
        read_artifact(str(path), HEAD, RULES)


def test_links_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    good = written(tmp_path, write_artifact(whole()))
    (tmp_path / "link").symlink_to(good)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "reviewbot-findings.json").symlink_to(good)
    for name in ("link", "pipe", "folder", "none"):
        with pytest.raises(ArtifactError):
            read_artifact(str(tmp_path / name), HEAD, RULES)


def test_an_artifact_is_never_too_large_and_keeps_the_worst(tmp_path: Path) -> None:
    findings = tuple(finding(f"f{n}" + "x" * 2000, level=Level.ERROR if n % 10 == 0 else Level.NOTE) for n in range(3000))
    text = write_artifact(
        Artifact(HEAD, HEAD, findings, True, ("y" * 5000,) * 90, frozenset(finding(str(n)).fingerprint for n in range(6000)))
    )
    assert len(text) <= module.MAX_BYTES
    read = read_artifact(written(tmp_path, text), HEAD, RULES)
    assert sum(f.level is Level.ERROR for f in read.findings) == 300 and len(read.unchecked) == 50


# --- through both workflows ----------------------------------------------------------------------------------------


def test_a_forks_findings_are_posted_by_the_second_run(reviewed: Reviewed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    status, said, step = reviewed("--artifact-out", str(out), rights=frozenset(), fork=True)
    assert status == 1 and not reviewed.double.own() and "::error " in said and "bad-word" in step
    reviewed.double.rights = frozenset({"pull-requests:write"})
    assert reviewed.artifact(out.read_text())[0] == 0
    assert {(c.path, c.line) for c in reviewed.double.own(1)} == {("a.yaml", 1), ("sub/b.yaml", 2)}
    assert not reviewed.double.own(2)
    assert reviewed.artifact(out.read_text())[0] == 0
    assert len(reviewed.double.own(1)) == 2 and len(reviewed.double.summaries()) == 1
    # The fork fixes one; its next run says so.
    reviewed("--artifact-out", str(out), files={"a.yaml": "fine\n"}, fork=True)
    reviewed.artifact(out.read_text())
    assert sorted("Fixed in" in c.body for c in reviewed.double.own(1)) == [False, True]


def test_an_artifact_of_a_commit_that_is_no_head_any_more(reviewed: Reviewed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    reviewed("--artifact-out", str(out), fork=True)
    old = reviewed.double.pulls[1].head
    reviewed.prepare({"a.yaml": "BAD 3\n"}, {}, None, True)
    status, _, errors, double = reviewed.artifact(out.read_text(), head=old)
    assert status == 0 and "nothing is posted" in errors and not double.own()


def test_settings_of_a_fork_that_are_broken_stop_nothing(reviewed: Reviewed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    reviewed("--artifact-out", str(out), files={**FILES, ".reviewbot.yaml": "rules: [\n"}, fork=True)
    assert reviewed.artifact(out.read_text())[0] == 0
    assert {c.path for c in reviewed.double.own(1)} == {"a.yaml", "sub/b.yaml", ".reviewbot.yaml"}


def test_without_the_commits_findings_stand_in_the_summary(reviewed: Reviewed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    reviewed("--artifact-out", str(out), fork=True)
    head = "e" * 40  # not in this clone
    data = {**json.loads(out.read_text()), "head": head}
    reviewed.double.push(1, head, {})
    status, _, _, double = reviewed.artifact(json.dumps(data), head=head)
    [summary] = double.summaries(1).values()
    assert status == 0 and not double.own() and summary.count("bad-word") == 2 and "diff was not at hand" in summary


@pytest.mark.parametrize("half", [0, 1])
def test_forged_texts_are_rendered_again(reviewed: Reviewed, half: int) -> None:
    reviewed.prepare(FILES, {}, None, True)
    head = reviewed.double.pulls[1].head
    texts = [text for text in HOSTILE if "\ud800" not in text][half::2]
    forged = [
        replace(
            finding(text, 1, help=text, points=(text,)),
            rule="bad-word",
            message=text,
            related=(Related(Site("x" + text, 1), text),),
            subject=text,
        )
        for text in texts
    ]
    status, _, _, double = reviewed.artifact(write_artifact(Artifact(head, commit("base"), tuple(forged), True, tuple(texts))), head)
    bodies = [comment.body for comment in double.own(1)] + list(double.summaries(1).values())
    assert status == 0 and len(bodies) == len(texts) + 1
    assert [acts(body) for body in bodies] == [[]] * len(bodies)


def test_a_github_enterprise_server(reviewed: Reviewed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    reviewed("--artifact-out", str(out), fork=True)
    reviewed.double.rights = frozenset({"pull-requests:write", "contents:write"})
    assert reviewed.artifact(out.read_text(), api_prefix="/api/v3")[0] == 0
    reviewed("--artifact-out", str(out), files={"a.yaml": "fine\n", "sub/b.yaml": "fine\n"}, fork=True)
    assert reviewed.artifact(out.read_text(), api_prefix="/api/v3")[0] == 0
    assert len(reviewed.double.own(1)) == 2 and all(comment.resolved for comment in reviewed.double.own(1))  # GraphQL is at /api/graphql
