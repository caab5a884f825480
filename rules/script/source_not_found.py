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

from reviewbot.documents.shell_syntax import AndOr, If, Simple, Word
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
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        for placed in facts.statements:
            word = _file(placed)
            relative = _relative(word.text, facts) if word is not None else None
            if word is None or relative is None:
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
            if target.startswith("..") or context.tree.is_file(target) or context.tree.is_dir(target):
                continue
            if _asked(context, path, placed, word):
                continue
            yield _finding(context, path, placed, word, relative, target)


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


def _asked(context: Context, path: str, placed: Placed, word: Word) -> bool:
    """Whether the script asks for the file first, or goes on without it."""
    lines = context.documents.shell(path).text.split("\n")
    for outer in placed.around:
        if isinstance(outer, AndOr):
            return True
        if isinstance(outer, If):
            asked = "\n".join(lines[one.line - 1] for condition, _ in outer.arms for one in condition)
            if word.text.strip('"') in asked or " -f " in asked or " -e " in asked:
                return True
    return False


def _finding(context: Context, path: str, placed: Placed, word: Word, relative: str, target: str) -> Finding:
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
    if found and word.text.count(relative) == 1 and word.span.line == word.span.end_line:
        text = word.text.replace(relative, found)
        span = word.span
        fix = Fix(f"name {found}", (Replacement(path, span.line, span.column, span.end_line, span.end_column, text),), safe=True)
    command = placed.statement
    return context.finding(
        RULE,
        f"`{target}` does not exist",
        word.span,
        path=path,
        help=f"write `{found}` behind the folder of the script" if found else "correct the path, or add the file",
        fix=fix,
        structure=command.words[0].text if isinstance(command, Simple) else "",
        subject=relative,
        level=Level.NOTE if is_retired(path) else None,
    )
