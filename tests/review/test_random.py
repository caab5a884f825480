"""Five hundred random lives of a pull request: pushes, replies, resolutions, crashes, faults and runs at the same time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from reviewbot.engine.model import Level
from reviewbot.review.client import ApiError
from reviewbot.review.items import Item
from reviewbot.review.state import read_marker
from tests.review.double import Comment, Crash, Fault, GitHubDouble
from tests.review.kit import commit, item, lines, open_findings, review

NAMES = [f"f{number}" for number in range(7)]
MOST = 4
FAULTS = [
    Fault(502, after=True),
    Fault(502),
    Fault(500, after=True, times=2),
    Fault(503, times=3),
    Fault(403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
    Fault(403, "You have triggered an abuse detection mechanism. Please retry your request again later.", {"retry-after": "7"}),
    Fault(429, "Too Many Requests"),
    Fault(200, crash=True),
    Fault(200, crash=True, after=True),
]


@dataclass
class World:
    seed: int
    double: GitHubDouble = field(default_factory=GitHubDouble)
    head: int = 0
    findings: dict[str, int] = field(default_factory=dict)  # name -> line
    refused: set[str] = field(default_factory=set)
    replied: set[int] = field(default_factory=set)
    ever: bool = False
    together: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.double.rights |= {"contents:write"} if self.random.random() < 0.5 else set()
        self.double.open_pull(1, commit("head0"), commit("base"), {"a.yaml": lines((1, 60))})
        self.change()

    def items(self) -> list[Item]:
        found = [item(name, line, self.level(name)) for name, line in self.findings.items()]
        return sorted(found, key=lambda one: (-one.finding.level, one.finding.line))

    @staticmethod
    def level(name: str) -> Level:
        return Level(int(name[1:]) % 3 + 1)

    def change(self) -> None:
        lines_ = self.random.sample(range(1, 60), len(NAMES))
        self.findings = {name: line for name, line in zip(NAMES, lines_, strict=True) if self.random.random() < 0.5}

    # --- what can happen

    def push(self) -> None:
        self.head += 1
        self.change()
        dice = self.random.random()
        self.double.push(1, commit(f"head{self.head}"), {"a.yaml": lines((1, 60))}, lambda comment: self.random.random() < dice)

    def run(self) -> None:
        self.attempt()

    def attempt(self) -> None:
        try:
            outcome = review(self.double, self.items(), f"head{self.head}", most=MOST)
        except (ApiError, Crash):
            return
        self.ever = self.ever or (not outcome.abandoned and bool(outcome.summary))

    def faulty(self) -> None:
        chosen = self.random.choice(FAULTS)
        verbs = self.random.choice([("GET",), ("POST",), ("PATCH", "DELETE"), ("GET", "POST", "PATCH", "DELETE")])
        skip = self.random.randrange(8)

        def matches(verb: str, path: str) -> bool:
            nonlocal skip
            if verb in verbs:
                skip -= 1
            return verb in verbs and skip < 0

        self.double.faults.append(
            Fault(chosen.status, chosen.message, dict(chosen.headers), chosen.after, matches, chosen.times, chosen.crash)
        )
        self.attempt()
        self.double.faults.clear()

    def pushed_meanwhile(self) -> None:
        self.double.hooks.append((len(self.double.requests) + self.random.randrange(1, 14), self.push))
        self.attempt()
        self.double.hooks.clear()

    def two_at_once(self) -> None:
        """A second run over the same commit, as a whole, in the middle of the first."""
        self.together = True
        self.double.hooks.append((len(self.double.requests) + self.random.randrange(1, 14), self.attempt))
        self.attempt()
        self.double.hooks.clear()

    def without_graphql(self) -> None:
        self.double.graphql_down = "API rate limit exceeded"
        self.attempt()
        self.double.graphql_down = ""

    def some_comment(self) -> Comment | None:
        own = [comment for comment in self.double.own() if comment.reply_to is None]
        return self.random.choice(own) if own else None

    def reply(self) -> None:
        comment = self.some_comment()
        if comment is not None:
            self.double.reply(comment.id, self.random.choice(["author", "maintainer", None]))
            self.replied.add(comment.id)

    def resolve(self) -> None:
        comment = self.some_comment()
        if comment is not None:
            who = self.random.choice(["author", "maintainer", None])
            fresh = not comment.resolved
            self.double.resolve(comment.id, who)
            if who == "maintainer" and fresh and is_open(comment):
                self.refused.add(fingerprint(comment))

    def thumbs_down(self) -> None:
        comment = self.some_comment()
        if comment is not None:
            who = self.random.choice(["author", "maintainer"])
            self.double.thumbs_down(comment.id, who)
            if who == "maintainer":
                self.refused.add(fingerprint(comment))

    def forge(self) -> None:
        """Somebody pastes a marker of the bot's, so that a finding seems to have its comment."""
        name = self.random.choice(NAMES)
        body = f"<!-- reviewbot:v1 fp={item(name).finding.fingerprint} sha={commit('x')} state=open -->"
        self.double.paste(1, self.random.choice(["stranger", None]), body, "a.yaml", 3)

    def live(self) -> None:
        steps = [self.push, self.run, self.run, self.faulty, self.faulty, self.pushed_meanwhile, self.two_at_once, self.without_graphql]
        steps += [self.reply, self.resolve, self.thumbs_down, self.forge]
        for _ in range(self.random.randrange(4, 16)):
            self.random.choice(steps)()


def fingerprint(comment: Comment) -> str:
    marker = read_marker(comment.body)
    assert marker is not None
    return marker["fp"]


def is_open(comment: Comment) -> bool:
    """Whether resolving it is a refusal: it is open, or was called fixed when nobody could ask whether it had been resolved."""
    marker = read_marker(comment.body)
    return marker is not None and (marker["state"] == "open" or marker.get("unseen") == "1")


@pytest.mark.parametrize("block", range(10))
def test_the_right_comments_in_the_end(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        world = World(seed)
        world.live()
        before = len([comment for comment in world.double.own() if fingerprint(comment) in world.refused])
        world.attempt()
        world.attempt()
        check(world, before)


def check(world: World, refused_before: int) -> None:
    double, said = world.double, f"seed {world.seed}"
    shown = open_findings(double)
    present = {one.finding.fingerprint: one for one in world.items()}
    raised = {fp for fp in present if fp not in world.refused}

    assert len(shown) == len(set(shown)), f"{said}: two comments about one finding"
    assert set(shown) - world.refused <= present.keys(), f"{said}: a finding that is gone has an open comment"
    assert len([c for c in double.own() if fingerprint(c) in world.refused]) <= refused_before, (
        f"{said}: a refused finding was raised again"
    )
    assert world.replied <= double.comments.keys(), f"{said}: a comment with a reply was deleted"
    visible = set(shown) & raised
    if not world.together and not any(comment.login is None for comment in double.comments.values()):
        assert len(visible) <= MOST, f"{said}: too many comments"
    assert len(visible) >= min(MOST, len(raised)), f"{said}: a finding is not shown"
    missing = raised - visible
    summaries = list(double.summaries().values())
    if world.ever or raised:
        assert len(summaries) == 1, f"{said}: {len(summaries)} summaries"
        for one in missing:
            assert present[one].finding.message.split()[0] in summaries[0], f"{said}: a finding is lost"
    # A third run has nothing to do.
    count = len(double.requests)
    review(double, world.items(), f"head{world.head}", most=MOST)
    assert {verb for verb, path in double.requests[count:] if path != "/graphql"} == {"GET"}, f"{said}: a run without a change writes"
