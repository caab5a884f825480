"""A bench script of speculative decoding sends raw prompts

What
The server of the script decodes speculatively, or the script's name says so (`_mtp`), and its load generator gets neither
`--use-chat-template` nor `--dsv4`.

Why
Drafts are accepted far more, or less, often on text that is not a chat: the acceptance, and with it the throughput that is published, is
not that of real requests.

Example
    # toy_fp8_lab_mtp.sh
    run_benchmark_serving --model "$MODEL" --max-concurrency "$CONC"

Instead
    run_benchmark_serving --model "$MODEL" --max-concurrency "$CONC" --use-chat-template

Fix
Adds the flag at the end of the command (unsafe).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from reviewbot.documents.shell_syntax import Simple
from reviewbot.engine.commands import held_by, program_of
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, facts_of

RULE = Rule("missing-chat-template", Level.ERROR, frozenset({"documents"}), scope="document")

_NAME = re.compile(r"_(?:mtp\d*|eagle3?|dspark|dflash)(?=[_.])")
_SPECULATIVE = re.compile(r"--?(?:speculative[-_]|num[-_]speculative|method[ =]mtp)|speculative_config|decoding_type")
_GIVEN = re.compile(r"--(?:use[-_]chat[-_]template|dsv4|apply[-_]chat[-_]template|chat[-_]template)\b")
_CLIENTS = frozenset({"run_benchmark_serving", "benchmark_serving.py"})


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        why = _speculative(path, facts)
        for placed in facts.statements if why else ():
            command = placed.statement
            program = program_of(command)
            if program is None or program.name not in _CLIENTS or not isinstance(command, Simple):
                continue
            text = " ".join(word.text for word in command.words)
            if "$@" in text or "$*" in text or _GIVEN.search(text) or any(_GIVEN.search(held) for held in held_by(command.words, facts)):
                continue
            end = command.words[-1].span
            yield context.finding(
                RULE,
                f"{why}, and `{program.name}` sends raw prompts",
                command.words[0].span,
                path=path,
                help="add `--use-chat-template`, or `--dsv4` where the tokenizer has no template",
                fix=Fix(
                    "add --use-chat-template",
                    (Replacement(path, end.end_line, end.end_column, end.end_line, end.end_column, " --use-chat-template"),),
                    safe=False,
                ),
                structure=program.name,
                subject="chat template",
                level=Level.NOTE if is_retired(path) else None,
            )


def _speculative(path: str, facts: Facts) -> str:
    """What says that the script's server decodes speculatively."""
    if _NAME.search(posixpath.basename(path)):
        return "the script's name says that its server decodes speculatively"
    for placed in facts.statements:
        program = program_of(placed.statement)
        if program is not None and program.kind == "server" and isinstance(placed.statement, Simple):
            for word in placed.statement.words:
                if _SPECULATIVE.match(word.text):
                    return f"the server decodes speculatively (`{word.text.partition('=')[0]}` on line {word.line})"
    return ""
