from __future__ import annotations

import logging
from typing import Any

import pytest

from reviewbot.review.client import MAX_PAGES, ApiError, GitHub, Token
from tests.review.double import Fault, served
from tests.review.kit import DirectGitHub, item, pulled, review


def test_a_token_does_not_print_itself(caplog: pytest.LogCaptureFixture) -> None:
    token = Token(" secret-token\n")
    assert [repr(token), str(token), f"{token}", repr([token])] == ["Token(***)", "Token(***)", "Token(***)", "[Token(***)]"]
    assert token.redacted("a secret-token b") == "a *** b" and token.reveal() == "secret-token" and not Token(" ")
    with pytest.raises(AttributeError):
        token.more = 1  # type: ignore[attr-defined]
    double = pulled()
    double.faults.append(Fault(418, "your token secret-token is no teapot", times=9))
    caplog.set_level(logging.DEBUG)
    with served(double) as api:
        client = GitHub("bench/recipes", Token("secret-token"), api=api, pace=0)
        with pytest.raises(ApiError) as error:
            client.pull(1)
        client.close()
    assert "secret-token" not in str(error.value) and "no teapot" in str(error.value)
    assert not any(
        "secret-token" in str(record.args) and "Authorization" in str(record.args) and "removed" not in str(record.args)
        for record in caplog.records
    )
    assert "secret-token" not in repr(vars(client))


@pytest.mark.parametrize("name", ["x", "../x", "a/..", "a/b/c", "a b/c", "a/b?x", "a/b\n", ".a/b", ""])
def test_a_repository_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="OWNER/NAME"):
        GitHub(name, Token("t"))


def test_no_answer_is_an_unknown_outcome() -> None:
    waits: list[float] = []
    client = GitHub("bench/recipes", Token("secret-token"), api="http://127.0.0.1:9", wait=waits.append, pace=0, timeout=1)
    with pytest.raises(ApiError) as error:
        client.pull(1)
    assert (error.value.kind, len(waits)) == ("unknown", 3)  # reading is tried again
    waits.clear()
    with pytest.raises(ApiError) as error:
        client.post_summary(1, "x")
    assert (error.value.kind, waits) == ("unknown", [])  # a POST is never sent twice blindly
    client.close()


def test_an_answer_that_is_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    double = pulled()
    monkeypatch.setattr(double, "handle", lambda *argv: (200, {}, "<html>a gateway</html>"))
    with served(double) as api:
        client = GitHub("bench/recipes", Token("secret-token"), api=api, pace=0)
        with pytest.raises(ApiError, match="no list"):
            client.review_comments(1)
        client.close()


def test_pages_end() -> None:
    double = pulled()
    client = DirectGitHub(double)

    def endless(*argv: Any) -> Any:
        return {"link": '<x>; rel="next"'}, [{"id": 1}]

    client._once = endless  # type: ignore[method-assign]
    assert len(client.review_comments(1)) == MAX_PAGES
    client.close()


@pytest.mark.parametrize("login", ["github-actions[bot]", "bench-bot", "some-app[bot]"])
def test_whose_comments_are_its_own(login: str) -> None:
    double = pulled(login=login)
    client = DirectGitHub(double)
    assert client.login() == login
    client.close()
    review(double, [item("f", 3)])
    review(double, [item("f", 3)])
    assert len(double.own()) == 1


def test_comments_that_are_not_recognised_are_told() -> None:
    double = pulled(login="some-app[bot]")
    double.graphql_down = "API rate limit exceeded"
    outcome = review(double, [item("f", 3)])
    assert outcome.failed and any("--bot-login" in problem for problem in outcome.problems)
    double.graphql_down = ""


def test_a_limit_that_is_too_far_is_not_waited_for() -> None:
    double = pulled()
    double.faults.append(
        Fault(403, "API rate limit exceeded for user ID 1.", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999"})
    )
    with pytest.raises(ApiError) as error:
        review(double, [item("f", 3)])
    assert error.value.kind == "limited" and double.clock < 60


def test_patience_ends() -> None:
    double = pulled()
    double.faults.append(Fault(429, "You have exceeded a secondary rate limit.", {"retry-after": "290"}, times=99))
    with pytest.raises(ApiError, match="rate of requests"):
        review(double, [item("f", 3)])
    assert double.clock < 700


def test_a_forbidden_resource_is_no_limit() -> None:
    double = pulled(rights=frozenset())
    with pytest.raises(ApiError) as error:
        review(double, [item("f", 3)])
    assert error.value.kind == "forbidden" and double.clock < 10


@pytest.mark.parametrize(("permission", "may"), [("admin", True), ("write", True), ("read", False), ("none", False)])
def test_who_may_write(permission: str, may: bool) -> None:
    double = pulled()
    client = DirectGitHub(double)
    asked: list[str] = []

    def once(verb: str, path: str, query: Any, body: Any) -> Any:
        asked.append(path)
        return {}, {"permission": permission}

    client._once = once  # type: ignore[method-assign]
    assert client.may_write("a/../b") is may and client.may_write("a/../b") is may
    assert asked == ["/repos/bench/recipes/collaborators/a%2F..%2Fb/permission"]
    client.close()


def test_paging_of_threads() -> None:
    double = pulled()
    for _ in range(250):
        double.paste(1, "someone", "talk", "a.yaml", 3)
    client = DirectGitHub(double)
    threads = client.threads(1)
    assert threads is not None and len(threads) == 250
    client.close()
