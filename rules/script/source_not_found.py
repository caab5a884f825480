"""A script names a file beside itself that does not exist

What
`source`, `bash` or `python3` with a path that begins at the script's own folder (`$(dirname "$0")`, `${BASH_SOURCE[0]}`, or a variable that
holds one), and no file is there.

Why
A script that was moved one folder deeper keeps its old path: it ends at its first line, or runs without the functions it needs.

Example
    # benchmarks/single_node/fixed_seq_len/toy.sh
    source "$(dirname "$0")/../benchmark_lib.sh"

Instead
    source "$(dirname "$0")/../../benchmark_lib.sh"

Fix
Where a file of that name is in one folder above the script or beside it, its path.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from reviewbot.documents.positions import Span
from reviewbot.documents.shell_syntax import AndOr, If, Script, Simple, Word
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, Placed, facts_of, words

RULE = Rule("source-not-found", Level.ERROR, frozenset({"documents"}))

_SELF = r"""\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})"""
_OWN = re.compile(
    rf"""\$\(\s*dirname\s+(?:--\s+)?"?(?:\$\((?:readlink\s+-f|realpath)\s+(?:--\s+)?"?{_SELF}"?\)|{_SELF})"?\s*\)"""
    r"""|\$\{(?:BASH_SOURCE\[0\]|BASH_SOURCE|0)%/\*\}"""
)
_ENTERED = re.compile(r"""\$\(\s*cd\s+(?:--\s+)?"?(?P<to>@[\w./-]*)"?\s*(?:>\s*/dev/null\s*(?:2>&1)?\s*)?&&\s*pwd(?:\s+-P)?\s*\)""")
_NAMED = re.compile(r"\$\{(?P<braced>[A-Za-z_]\w*)\}|\$(?P<bare>[A-Za-z_]\w*)")
_RUNNING = frozenset({"source", ".", "bash", "sh", "python", "python3"})


def check(context: Context) -> Iterator[Finding]:
    for path, (relative, text, span, command) in context.surveyed(RULE):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
        if not target.startswith("..") and not context.tree.is_file(target) and not context.tree.is_dir(target):
            yield _finding(context, path, Span(*span), text, command, relative, target)


def survey(context: Context) -> Iterator[object]:
    """What a script runs of the files beside it without asking for them first: the path from its folder, the word and its span, and the
    command."""
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        facts = facts_of(script)
        for placed in facts.statements:
            word = _file(placed)
            relative = _relative(word.text, facts) if word is not None else None
            if word is not None and relative is not None and not _asked(script, placed, word):
                command = placed.statement
                yield [relative, word.text, list(word.span), command.words[0].text if isinstance(command, Simple) else ""]


def _file(placed: Placed) -> Word | None:
    given = words(placed.statement)
    if len(given) < 2 or given[0].static not in _RUNNING or given[1].text.startswith("-"):
        return None
    return given[1]


def _relative(text: str, facts: Facts, depth: int = 0) -> str | None:
    """The path behind the folder of the script, where the text begins there."""
    plain = _OWN.sub("@", text).replace('"', "").replace("'", "")
    entered = _ENTERED.match(plain)
    if entered is not None:
        plain = entered["to"] + plain[entered.end() :]
    named = _NAMED.match(plain)
    if named is not None and depth < 3:
        name = named["braced"] or named["bare"]
        values = [one for one in facts.assigned if one.name == name]
        if len(values) != 1 or values[0].value is None:
            return None
        head = _relative(values[0].value.text, facts, depth + 1)
        plain = "" if head is None else f"@/{head}{plain[named.end() :]}"
    relative = plain[1:].lstrip("/")
    return relative if plain[:1] == "@" and plain[1:2] in ("", "/") and re.fullmatch(r"[\w./+-]*", relative) else None


def _asked(script: Script, placed: Placed, word: Word) -> bool:
    """Whether the script asks for the file first, or goes on without it."""
    lines = script.text.split("\n")
    for outer in placed.around:
        if isinstance(outer, AndOr):
            return True
        if isinstance(outer, If):
            asked = "\n".join(lines[one.line - 1] for condition, _ in outer.arms for one in condition)
            if word.text.strip('"') in asked or " -f " in asked or " -e " in asked:
                return True
    return False


def _finding(context: Context, path: str, span: Span, word: str, command: str, relative: str, target: str) -> Finding:
    name = posixpath.basename(target)
    folder = posixpath.dirname(path)
    found = ""
    up = folder
    steps = ""
    while name and not found:
        if context.tree.is_file(posixpath.join(up, name)):
            found = steps + name
        if not up:
            break
        up, steps = posixpath.dirname(up), steps + "../"
    fix = None
    if found and word.count(relative) == 1 and span.line == span.end_line:
        text = word.replace(relative, found)
        fix = Fix(f"name {found}", (Replacement(path, span.line, span.column, span.end_line, span.end_column, text),), safe=True)
    return context.finding(
        RULE,
        f"`{target}` does not exist",
        span,
        path=path,
        help=f"write `{found}` behind the folder of the script" if found else "correct the path, or add the file",
        fix=fix,
        structure=command,
        subject=relative,
        level=Level.NOTE if is_retired(path) else None,
    )
