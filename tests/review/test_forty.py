"""Forty failures of other review bots that were reported in public, each as a test that this one does not have it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reviewbot.documents.positions import Site
from reviewbot.engine.baseline import marked
from reviewbot.engine.fingerprint import with_fingerprints
from reviewbot.engine.model import Level, Related
from reviewbot.git import GitError, Repository
from reviewbot.report.common import Report
from reviewbot.report.github import render_github
from reviewbot.review.artifact import Artifact, write_artifact
from reviewbot.review.diffmap import Anchor, DiffMap, place
from reviewbot.review.event import parse_event
from reviewbot.review.items import Item, make_items
from reviewbot.review.post import Request, post
from reviewbot.review.reconcile import MOST_INLINE
from reviewbot.review.render import MAX_BYTES, size
from tests import support
from tests.review.double import Fault, GitHubDouble
from tests.review.kit import (
    LINKS,
    DirectGitHub,
    commit,
    committed,
    finding,
    git,
    github_lines,
    item,
    lines,
    numbered,
    open_findings,
    prints,
    pulled,
    review,
)


def diff_of(root: Path, base: str, head: str) -> DiffMap:
    return DiffMap.between(Repository.find(str(root)), base, head)


def in_repository(root: Path, double: GitHubDouble, base: str, head: str) -> None:
    double.pulls[1].head, double.pulls[1].heads = head, [head]
    double.pulls[1].diff = github_lines(root, base, head)


def posted_for(root: Path, base: str, head: str, findings: list[Any], **more: Any) -> tuple[GitHubDouble, Any]:
    """A run over a pull request of a real repository."""
    double = pulled()
    in_repository(root, double, base, head)
    items = make_items(findings, diff_of(root, base, head), lambda path: git(root, "show", f"{head}:{path}").split("\n") + [""])
    client = DirectGitHub(double)
    outcome = post(client, Request(1, head, items, LINKS, **more))
    client.close()
    return double, outcome


# --- placing a comment ---------------------------------------------------------------------------------------------


def test_01_a_line_outside_of_every_hunk_is_not_commented_on(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": numbered(60)})
    head = committed(tmp_path, {"a.yaml": numbered(60, _10="changed: 1")})
    double, _ = posted_for(tmp_path, base, head, [finding("far", 40), finding("edge", 13), finding("beyond", 14)])
    assert {(c.subject, c.line) for c in double.own()} == {("file", None), ("line", 13)}
    assert len(double.own()) == 3


def test_02_one_bad_comment_does_not_lose_the_others() -> None:
    items = [item(f"f{number}", number) for number in range(1, 9)] + [item("bad", 500)]
    double = pulled()
    outcome = review(double, items)
    assert open_findings(double) == prints(items[:-1])
    [summary] = double.summaries().values()
    assert "bad is wrong" in summary and "f1 is wrong" not in summary
    assert any("refuses" in problem for problem in outcome.problems)


def test_03_one_line_has_no_start_line(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": "a: 1\n"})
    head = committed(tmp_path, {"a.yaml": numbered(9)})
    one, three = finding("one", 4), finding("three", 5, end_line=8, end_column=1)
    assert [place(f, diff_of(tmp_path, base, head)).start_line for f in (one, three)] == [None, 5]
    double, outcome = posted_for(tmp_path, base, head, [one, three])
    assert [(c.start_line, c.line) for c in double.own()] == [(None, 4), (5, 7)] and not outcome.problems


def test_04_no_thread_is_made_where_it_would_be_invisible() -> None:
    double = pulled()
    review(double, [item("f", 3)])
    assert not any("addPullRequestReviewThread" in path for _, path in double.requests)
    assert all(comment.line is not None for comment in double.own())


@pytest.mark.parametrize(("files", "each"), [(350, 1), (12, 2500)], ids=["05_more_than_300_files", "06_more_than_20000_lines"])
def test_05_and_06_a_pull_request_beyond_the_diff_limits(tmp_path: Path, files: int, each: int) -> None:
    base = committed(tmp_path, {"z.yaml": "a: 1\n"})
    head = committed(tmp_path, {f"many/{number:04}.yaml": numbered(each) for number in range(files)})
    findings = [finding(f"f{number}", 1, path=f"many/{number:04}.yaml") for number in range(0, files, max(files // 10, 1))]
    double, outcome = posted_for(tmp_path, base, head, findings)
    assert not any(path.endswith(("/files", ".diff")) for _, path in double.requests)
    [summary] = double.summaries().values()
    assert all(f.message in summary or any(f.message in c.body for c in double.own()) for f in findings)
    assert not outcome.problems
    assert len(double.own()) == (len(findings) if each == 1 else 8)


def test_07_the_size_of_a_pull_request_is_never_asked_of_graphql() -> None:
    double = pulled()
    double.graphql_down = "something is null"
    review(double, [item("f", 3)])
    assert open_findings(double) == prints([item("f", 3)])


def test_08_a_large_file_without_a_patch_still_has_its_lines(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": numbered(15_000), "b.json": "{}"})
    head = committed(tmp_path, {"a.yaml": numbered(15_000, _9000="changed: 1"), "b.json": '{"long": "' + "x" * 300_000 + '"}'})
    double, _ = posted_for(tmp_path, base, head, [finding("deep", 9000), finding("wide", 1, path="b.json")])
    assert {(c.path, c.line) for c in double.own()} == {("a.yaml", 9000), ("b.json", 1)}


def test_09_a_file_over_the_limit_gets_no_comment(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": "a: 1\n"})
    head = committed(tmp_path, {"a.yaml": "b: 1\n", "huge.yaml": numbered(20_500)})
    double, outcome = posted_for(tmp_path, base, head, [finding("in", 7, path="huge.yaml"), finding("fine", 1)])
    assert {c.path for c in double.own()} == {"a.yaml"} and not outcome.problems
    [summary] = double.summaries().values()
    assert f"/blob/{head}/huge.yaml#L7" in summary


def test_10_all_pages_are_read() -> None:
    double = pulled(diff={"a.yaml": lines((1, 400))})
    wanted = item("late", 9)
    for number in range(230):
        double.paste(1, "someone", "talk", "a.yaml", number + 1)
        double.issue_comments[double.id()] = (1, "someone", "talk")
    review(double, [wanted])
    for number in range(130):
        double.paste(1, "someone", "talk", "a.yaml", number + 1)
    outcome = review(double, [wanted])
    assert (outcome.posted, len(double.own()), len(double.summaries())) == (0, 1, 1)


def test_11_nothing_is_posted_twice_after_a_push() -> None:
    double = pulled()
    items = [item("f", 3), item("g", 9, Level.NOTE)]
    review(double, items)
    for number in range(2, 6):
        double.push(1, commit(f"h{number}"), {"a.yaml": lines((1, 100))}, outdated=lambda comment, number=number: number == 4)
        outcome = review(double, [item("f", 3 + number), item("g", 9 + number, Level.NOTE)], f"h{number}")
        assert outcome.posted == 0
    assert open_findings(double) == prints(items) and len(double.own()) == 2


def test_12_a_reply_makes_no_second_comment() -> None:
    double = pulled()
    review(double, [item("f", 3)])
    double.reply(double.own()[0].id, "author")
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))}, outdated=lambda comment: True)
    review(double, [item("f", 4)], "h2")
    assert len(double.own()) == 1


def test_13_the_last_finding_that_is_fixed_leaves_nothing_open() -> None:
    double = pulled(rights=frozenset({"pull-requests:write", "contents:write"}))
    review(double, [item("f", 3)])
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))})
    outcome = review(double, [], "h2")
    [comment] = double.own()
    assert (
        f"Fixed in [`{commit('h2')[:10]}`]" in comment.body and comment.body.startswith("~~") and comment.resolved and outcome.resolved == 1
    )
    [summary] = double.summaries().values()
    assert "No open findings" in summary and "1 fixed" in summary


def test_14_a_force_push_leaves_no_stale_comment() -> None:
    double = pulled()
    review(double, [item("f", 3), item("g", 5)])
    double.pulls[1].heads.clear()
    double.push(1, commit("forced"), {"a.yaml": lines((50, 60))})
    review(double, [item("g", 55)], "forced")
    assert open_findings(double) == prints([item("g", 5)])
    assert {comment.line for comment in double.own()} == {None}


def test_15_the_head_commit_is_what_lines_are_of(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": numbered(30)})
    git(tmp_path, "checkout", "-q", "-b", "topic")
    head = committed(tmp_path, {"a.yaml": numbered(30, _20="changed: 1")})
    git(tmp_path, "checkout", "-q", "main")
    main = committed(tmp_path, {"a.yaml": "".join(f"new{n}: 1\n" for n in range(8)) + numbered(30)})
    git(tmp_path, "merge", "-q", "topic", "-m", "merge")  # what a checkout of a pull request gives: line 20 is line 28 there
    event = parse_event(
        {"pull_request": {"number": 1, "head": {"sha": head, "ref": "topic", "repo": {"full_name": "a/b"}}, "base": {"sha": main}}},
        "pull_request", "a/b",
    )  # fmt: skip
    diff = diff_of(tmp_path, event.base, event.head)
    assert (event.head, diff.merge_base) == (head, base)
    assert place(finding("f", 20), diff) == Anchor("inline", "a.yaml", 20)


def test_16_what_a_deletion_causes_stands_on_the_old_side(tmp_path: Path) -> None:
    base = committed(tmp_path, {"a.yaml": numbered(30), "gone.yaml": numbered(5)})
    head = committed(tmp_path, {"a.yaml": numbered(30).replace("key20: 20\n", ""), "gone.yaml": None, "other.yaml": "x: 1\n"})
    after = finding("lonely", 20)
    about = replace(finding("dangling", 1, path="untouched.yaml"), related=(Related(Site("gone.yaml", 3), "was here"),))
    diff = diff_of(tmp_path, base, head)
    assert place(after, diff) == Anchor("inline", "a.yaml", 20, "LEFT")
    assert place(about, diff) == Anchor("inline", "gone.yaml", 3, "LEFT")
    double, outcome = posted_for(tmp_path, base, head, [after, about])
    assert {(c.path, c.line, c.side) for c in double.own()} == {("a.yaml", 20, "LEFT"), ("gone.yaml", 3, "LEFT")} and not outcome.problems


# --- runs and faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(1, 16))
def test_17_two_runs_at_once_leave_one_comment_and_one_summary(at: int) -> None:
    double = pulled()
    items = [item("f", 3), item("g", 5, kind="file")]
    double.hooks.append((at, lambda: review(double, items)))
    review(double, items)
    review(double, items)
    assert open_findings(double) == prints(items) and len(double.own()) == 2
    assert len(double.summaries()) == 1


@pytest.mark.parametrize("after", [False, True], ids=["lost", "carried out"])
@pytest.mark.parametrize("path", ["/pulls/1/reviews", "/pulls/1/comments", "/issues/1/comments"])
def test_18_a_server_error_after_a_write_posts_nothing_twice(after: bool, path: str) -> None:
    double = pulled()
    items = [item("f", 3), item("g", 5), item("h", 0, kind="file")]
    double.faults.append(Fault(502, after=after, matches=lambda verb, where: verb == "POST" and where.endswith(path)))
    review(double, items)
    assert open_findings(double) == prints(items) and len(double.own()) == 3
    assert len(double.summaries()) == 1
    assert len(double.reviews) == 1


def test_19_a_head_that_moved_is_left_to_its_own_run() -> None:
    double = pulled()
    double.hooks.append((3, lambda: double.push(1, commit("h2"), {"a.yaml": lines((1, 9))})))
    outcome = review(double, [item("f", 30)])
    assert "moved" in outcome.abandoned and not double.own() and not double.summaries()


def test_20_a_fork_without_rights_loses_no_finding(tmp_path: Path, reviewed: Any) -> None:
    status, out, step = reviewed(rights=frozenset(), fork=True)
    assert status == 1 and out.count("::error ") == 2 and "BAD" in step and step.count("bad-word") == 2


@pytest.mark.parametrize("rights", [frozenset({"pull-requests:write"}), frozenset({"pull-requests:write", "contents:write"})])
def test_21_what_was_not_resolved_is_not_said_to_be(rights: frozenset[str]) -> None:
    double = pulled(rights=rights)
    review(double, [item("f", 3), item("g", 4)])
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))})
    outcome = review(double, [], "h2")
    may = "contents:write" in rights
    assert outcome.resolved == (2 if may else 0)
    assert any("2 of 2 threads could not be resolved" in problem for problem in outcome.problems) is not may
    assert all("Fixed in" in comment.body and "resolved" not in comment.body for comment in double.own())


def test_22_without_graphql_comments_are_kept_true_all_the_same() -> None:
    double = pulled()
    review(double, [item("f", 3), item("g", 4)])
    double.graphql_down = "API rate limit exceeded for installation ID 1"
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))})
    review(double, [item("g", 4)], "h2")
    assert open_findings(double) == prints([item("g", 4)]) and len(double.own()) == 2


def test_23_no_body_is_too_long() -> None:
    double = pulled()
    long = "x" * 100_000 + " `" + "y" * 100_000 + "`"
    many = [replace(item(f"f{n}", 3), anchor=Anchor("summary", "a.yaml")) for n in range(3000)]
    one = item("f", 3)
    one = replace(
        one, finding=replace(one.finding, message=long, help=long, points=(long,) * 50, related=(Related(Site("a" * 5000, 1), long),) * 90)
    )
    review(double, [one, *many])
    bodies = [c.body for c in double.own()] + list(double.summaries().values())
    assert len(bodies) == 2 and all(size(body) <= MAX_BYTES for body in bodies)
    assert "more findings" in bodies[1] and "3001 errors" in bodies[1]


def test_24_and_25_at_most_ten_annotations_a_level_and_the_rest_is_counted() -> None:
    findings = tuple(support.finding(message=f"m{n}", line=n, level=level) for level in Level for n in range(1, 80))
    out = render_github(Report(findings, {}, lambda path: []))
    assert [out.count(f"::{word} ") for word in ("error", "warning", "notice")] == [10, 10, 10]
    assert "69 more errors without an annotation" in out and "69 more notes" in out


def test_26_a_request_for_changes_is_taken_back() -> None:
    double = pulled()
    review(double, [item("f", 3)], request_changes=True)
    assert [r["state"] for r in double.reviews.values()] == ["CHANGES_REQUESTED"]
    review(double, [item("f", 3)], request_changes=True)
    assert len(double.reviews) == 1
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))})
    review(double, [], "h2", request_changes=True)
    assert [r["state"] for r in double.reviews.values()] == ["DISMISSED"]
    double.push(1, commit("h3"), {"a.yaml": lines((1, 100))})
    review(double, [item("g", 3)], "h3", request_changes=True)
    review(double, [item("g", 3)], "h3")  # the choice was withdrawn
    assert [r["state"] for r in double.reviews.values()] == ["DISMISSED", "DISMISSED"]


def test_27_there_are_never_more_than_25_comments_and_the_worst_come_first() -> None:
    double = pulled()
    items = [item(f"n{n}", n, Level.NOTE) for n in range(1, 30)] + [item(f"e{n}", n, Level.ERROR) for n in range(30, 50)]
    items.sort(key=lambda one: -one.finding.level)
    review(double, items)
    review(double, items)
    assert len(double.own()) == MOST_INLINE == 25
    assert sum("**error**" in comment.body for comment in double.own()) == 20
    [summary] = double.summaries().values()
    assert summary.count("**note**") == 24 and "20 errors, 29 notes" in summary


def test_28_nothing_is_said_where_there_is_nothing_to_say(reviewed: Any) -> None:
    double = pulled()
    review(double, [])
    assert not double.own() and not double.summaries() and not double.reviews
    assert reviewed(files={"a.yaml": "fine\n"}) == (0, "", "")


@pytest.mark.parametrize("how", ["resolved", "thumbs-down", "deleted"])
def test_29_what_was_refused_is_not_raised_again(how: str) -> None:
    double = pulled()
    review(double, [item("f", 3)])
    [comment] = double.own()
    if how == "resolved":
        double.resolve(comment.id, "maintainer")
    elif how == "thumbs-down":
        double.thumbs_down(comment.id, "maintainer")
    else:
        del double.comments[comment.id]
    findings: list[list[Item]] = [[item("f", 3)], [], [item("f", 3)], [item("f", 9)]]
    for number, now in enumerate(findings):
        double.push(1, commit(str(number)), {"a.yaml": lines((1, 100))}, outdated=lambda comment: True)
        review(double, now, str(number))
        assert len(double.own()) <= 1
    assert "refused by reviewers" in next(iter(double.summaries().values()))
    if how != "deleted":
        assert open_findings(double) == []


@pytest.mark.parametrize(
    ("status", "message", "headers"),
    [
        (403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", {}),
        (403, "You have exceeded a secondary rate limit and have been temporarily blocked from content creation.", {"retry-after": "30"}),
        (429, "You have triggered an abuse detection mechanism. Please retry your request again later.", {}),
        (403, "API rate limit exceeded for installation ID 1.", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}),
        (429, "Too Many Requests", {"retry-after": "3"}),
    ],
)
def test_30_limits_are_recognised_and_waited_for(status: int, message: str, headers: dict[str, str]) -> None:
    double = pulled()
    double.faults.append(Fault(status, message, headers, matches=lambda verb, path: verb == "POST"))
    before = double.clock
    review(double, [item("f", 3)])
    assert len(double.own()) == 1 and double.clock > before


def test_31_a_deleted_account_is_nobody() -> None:
    double = pulled()
    review(double, [item("f", 3), item("g", 4)])
    first, second = double.own()
    double.reply(first.id, "leaver")
    double.resolve(second.id, "leaver")
    double.thumbs_down(second.id, "leaver")
    double.issue_comments[double.id()] = (1, "leaver", "hello")
    double.delete_account("leaver")
    double.issue_comments = {
        key: (pull, None if login == "leaver" else login, body) for key, (pull, login, body) in double.issue_comments.items()
    }
    double.push(1, commit("h2"), {"a.yaml": lines((1, 100))})
    review(double, [item("g", 4)], "h2")
    assert open_findings(double) == prints([item("g", 4)]) and first.id in double.comments


def test_32_where_comments_are_forbidden_every_finding_is_told(reviewed: Any) -> None:
    status, out, step = reviewed(rights=frozenset())
    assert status == 3 and out.count("::error ") == 2 and step.count("bad-word") == 2


def test_33_settings_of_git_eat_no_letters_of_a_path(tmp_path: Path) -> None:
    base = committed(tmp_path, {"main.yaml": "a: 1\n"})
    head = committed(tmp_path, {"main.yaml": "a: 2\n", "b/ x b/y.yaml": "a: 1\n", 'q"\t.yaml': "a: 1\n"})
    for name, value in (("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("core.quotepath", "true"), ("diff.external", "false")):
        git(tmp_path, "config", name, value)
    diff = diff_of(tmp_path, base, head)
    assert set(diff.paths()) == {"main.yaml", "b/ x b/y.yaml", 'q"\t.yaml'}
    assert [place(finding("f", 1, path=path), diff).kind for path in diff.paths()] == ["inline"] * 3


def test_34_merge_commits_deletions_and_shallow_clones(tmp_path: Path) -> None:
    root = tmp_path / "whole"
    base = committed(root, {"a.yaml": numbered(30)})
    git(root, "checkout", "-q", "-b", "topic")
    committed(root, {"a.yaml": numbered(30, _5="mine: 1")})
    git(root, "checkout", "-q", "main")
    main = committed(root, {"a.yaml": numbered(30, _25="theirs: 1"), "new.yaml": "a: 1\n"})
    git(root, "checkout", "-q", "topic")
    git(root, "merge", "-q", "main", "-m", "main into topic")
    diff = diff_of(root, main, "topic")
    assert list(diff.paths()) == ["a.yaml"] and place(finding("f", 25), diff).kind == "file" and place(finding("f", 5), diff).line == 5
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "topic", f"file://{root}", "shallow")
    with pytest.raises(GitError, match="fetch-depth: 0"):
        diff_of(tmp_path / "shallow", base, "HEAD")


def test_35_the_diff_is_against_the_merge_base(tmp_path: Path) -> None:
    committed(tmp_path, {"a.yaml": numbered(30)})
    git(tmp_path, "checkout", "-q", "-b", "topic")
    head = committed(tmp_path, {"b.yaml": "a: 1\n"})
    git(tmp_path, "checkout", "-q", "main")
    main = committed(tmp_path, {"a.yaml": numbered(29)})
    assert list(diff_of(tmp_path, main, head).paths()) == ["b.yaml"]


def test_36_a_renamed_file_is_neither_new_nor_lost(tmp_path: Path) -> None:
    base = committed(tmp_path, {"old.yaml": numbered(40)})
    git(tmp_path, "mv", "old.yaml", "new.yaml")
    head = committed(tmp_path, {"new.yaml": numbered(40, _30="changed: 1")})
    before = with_fingerprints([support.finding(path="old.yaml", subject="x")], {"old.yaml": "new.yaml"})
    after = marked(with_fingerprints([support.finding(path="new.yaml", subject="x")]), Counter(f.fingerprint for f in before))
    assert [f.status for f in after] == ["existing"]
    diff = diff_of(tmp_path, base, head)
    assert [place(finding("f", n, path="new.yaml"), diff).kind for n in (30, 3)] == ["inline", "file"]
    double, outcome = posted_for(tmp_path, base, head, [finding("f", 30, path="new.yaml"), finding("g", 3, path="new.yaml")])
    assert len(double.own()) == 2 and not outcome.problems


# --- forks and reports ---------------------------------------------------------------------------------------------


def test_37_an_artifact_cannot_name_a_pull_request(reviewed: Any) -> None:
    """What is posted goes to the pull request whose head was checked; a number, another head or another field in the artifact is
    refused."""
    artifact = json.loads(write_artifact(Artifact(commit("h1"), commit("base"), (finding("f", 3),), True)))
    for change in ({"number": 2}, {"pr": 2}, {"head": commit("h9")}, {"findings": [{**artifact["findings"][0], "repository": "x/y"}]}):
        status, _, _, double = reviewed.artifact(json.dumps({**artifact, **change}))
        assert status == 3 and not double.own(1) and not double.own(2)


def test_38_the_pull_request_of_a_fork_is_found_by_its_head() -> None:
    double = pulled(head="h1")
    double.pulls[1].head_repo, double.pulls[1].branch = "stranger/recipes", "main"
    double.open_pull(2, commit("h1"), commit("base"), {}, head_repo="other/recipes", branch="main")
    event = parse_event(
        {"workflow_run": {"head_sha": commit("h1"), "head_branch": "main", "head_repository": {"full_name": "stranger/recipes"},
        "pull_requests": []}},
        "workflow_run", "bench/recipes",
    )  # fmt: skip
    client = DirectGitHub(double)
    assert [pull.number for pull in client.pulls_of(event.head, event.head_repository, event.branch)] == [1]
    assert client.pulls_of(commit("h2"), event.head_repository, event.branch) == []
    assert client.pulls_of("HEAD; rm -rf", event.head_repository, event.branch) == []
    client.close()


def test_39_sarif_and_comments_agree_on_what_is_ignored(reviewed: Any, tmp_path: Path) -> None:
    files = {"a.yaml": "BAD\nBAD # reviewbot: ignore[bad-word] -- wanted\n"}
    sarif = tmp_path / "out.sarif"
    status, _, _ = reviewed("--sarif", str(sarif), files=files)
    assert status == 1 and len(reviewed.double.own()) == 1
    assert len(json.loads(sarif.read_text())["runs"][0]["results"]) == 1


def test_40_no_format_turns_a_failure_into_success(reviewed: Any, tmp_path: Path) -> None:
    assert reviewed("--sarif", str(tmp_path / "out.sarif"))[0] == 1
    assert reviewed("--fail-on", "never")[0] == 0
    assert reviewed(crash=True)[0] == 3
    assert reviewed("--fail-on", "never", crash=True)[0] == 3
