"""``awk`` for programs of a small subset; any other program has an unknown result."""

from __future__ import annotations

from reviewbot.trace.commands.support import NotKnown, inputs, own_hole_lines, witnessed
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.text.awk import AwkResult, parse_awk
from reviewbot.trace.values import is_known


def awk(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    variables: dict[str, str] = {}
    separator: str | None = None
    source: str | None = None
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        if word[:2] in ("-F", "-v", "-f") and not word.startswith("--"):
            value = word[2:] or (words.pop(0) if words else "")
            if word[1] == "F":
                separator = value
            elif word[1] == "v":
                name, equals, text = value.partition("=")
                if not equals or "\\" in text:
                    raise NotKnown
                variables[name] = text
            else:
                content = invocation.shell.files.read_text(invocation.shell.absolute(value))
                if content is None or source is not None:
                    raise NotKnown
                source = content.text
        else:
            raise NotKnown
    if source is None:
        if not words:
            return Outcome(2)
        source = words.pop(0)
    program = parse_awk(source)
    if program is None or any("=" in word for word in words):
        raise NotKnown
    if not all(is_known(value) for value in variables.values()) or (separator is not None and not is_known(separator)):
        raise NotKnown
    missing: list[str] = []
    text = ""
    if program.reads:
        texts, missing = inputs(invocation, words)
        if len(texts) > 1 or missing:
            raise NotKnown
        text = texts[0].content.text
    result: AwkResult | None
    if is_known(text):
        result = program.run(text, variables, separator)
        if result is None:
            raise NotKnown
        return Outcome(result.status, result.text)
    if own_hole_lines(text, invocation.shell.holes):
        raise NotKnown
    statuses: set[int] = set()

    def run(plain: str) -> str | None:
        if program is None or program.computes:
            return None
        answer = program.run(plain, variables, separator)
        if answer is None:
            return None
        statuses.add(answer.status)
        return answer.text

    printed = witnessed(text, invocation.shell.holes, run)
    if printed is None or len(statuses) != 1:
        raise NotKnown
    return Outcome(statuses.pop(), printed)
