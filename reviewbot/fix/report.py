"""What was mended, as a difference or on disk."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from reviewbot.fix.loop import Fixed
from reviewbot.tree import Tree


def difference(tree: Tree, contents: Mapping[str, bytes]) -> str:
    """A unified difference of the files of ``tree`` and their new contents."""
    lines: list[str] = []
    for path in sorted(contents):
        before, after = (data.decode("utf-8", "replace").split("\n") for data in (tree.read(path), contents[path]))
        for line in difflib.unified_diff(_with_ends(before), _with_ends(after), f"a/{path}", f"b/{path}"):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _with_ends(lines: list[str]) -> list[str]:
    ends = [f"{line}\n" for line in lines[:-1]]
    return [*ends, lines[-1]] if lines[-1] else ends


def write_files(root: Path, contents: Mapping[str, bytes]) -> None:
    """Writes the new contents; mode and owner of a file stay."""
    for path, data in contents.items():
        (root / path).write_bytes(data)


def summary(fixed: Fixed, unsafe: bool, dry: bool) -> str:
    """What happened, in one line for each kind of it."""
    count = len(fixed.applied)
    files = len(fixed.contents)
    verb = "would mend" if dry else "mended"
    said = [f"{verb} {count} finding{'' if count == 1 else 's'} in {files} file{'' if files == 1 else 's'}"]
    if fixed.taken_back:
        names = ", ".join(sorted({f"{one.path}:{one.line} {one.rule}" for one in fixed.taken_back}))
        said.append(f"{len(fixed.taken_back)} taken back, since the finding stayed or another came: {names}")
    more = sum(1 for one in fixed.left if one.fix is not None and not one.fix.safe) if not unsafe else 0
    if more:
        said.append(f"{more} more with --unsafe")
    return "\n".join(said)
