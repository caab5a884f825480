"""Other linters, where they are installed: run on the files that a change touches, and their findings merged.

The files are copied into a folder of their own, with the linters' settings and all workflows beside them, so that a revision is checked as
well as a working tree and nothing is written into it. What was said about equal contents is kept. A linter is a program of the user's
machine, found on PATH; nothing is fetched, and nothing of the repository is started.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.engine.model import Finding, Level
from reviewbot.tree import Tree, TreeError

TIME_LIMIT = 60.0  # seconds a linter may take
MOST_FILES = 2_000
_SETTINGS = (
    ".shellcheckrc", "ruff.toml", ".ruff.toml", "pyproject.toml", "zizmor.yml", ".github/zizmor.yml",
    ".github/actionlint.yaml", ".github/actionlint.yml",
)  # fmt: skip
_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Tool:
    """How a linter is called (with the files behind), which files it reads, and how its answer is read."""

    name: str
    argv: tuple[str, ...]
    takes: Callable[[str], bool]
    read: Callable[[Any], Iterator[tuple[str, Level, str, int, int, int, int, str]]]  # code, level, path, place, message


def _workflow(path: str) -> bool:
    return path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml"))


def _actionlint(answer: Any) -> Iterator[tuple[str, Level, str, int, int, int, int, str]]:
    for one in answer or ():
        line, column = int(one["line"]), max(int(one["column"]), 1)
        end = max(int(one.get("end_column", column)), column) + 1
        yield one["kind"], Level.WARNING, one["filepath"], line, column, line, end, one["message"]


def _shellcheck(answer: Any) -> Iterator[tuple[str, Level, str, int, int, int, int, str]]:
    for one in answer["comments"]:
        level = Level.WARNING if one["level"] in ("error", "warning") else Level.NOTE
        place = (int(one["line"]), int(one["column"]), int(one["endLine"]), int(one["endColumn"]))
        yield f"SC{one['code']}", level, one["file"], *place, one["message"]


def _ruff(answer: Any) -> Iterator[tuple[str, Level, str, int, int, int, int, str]]:
    for one in answer:
        start, end = one["location"], one["end_location"]
        place = (int(start["row"]), int(start["column"]), int(end["row"]), int(end["column"]))
        yield one["code"] or "syntax", Level.NOTE if one["code"] else Level.WARNING, one["filename"], *place, one["message"]


def _zizmor(answer: Any) -> Iterator[tuple[str, Level, str, int, int, int, int, str]]:
    for one in answer:
        location = next((item for item in one["locations"] if item["symbolic"].get("kind") == "Primary"), one["locations"][0])
        start, end = location["concrete"]["location"]["start_point"], location["concrete"]["location"]["end_point"]
        level = Level.WARNING if one["determinations"]["severity"] == "High" else Level.NOTE
        place = (start["row"] + 1, start["column"] + 1, end["row"] + 1, end["column"] + 1)
        yield one["ident"], level, location["symbolic"]["key"]["Local"]["given_path"], *place, one["desc"]


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("actionlint", ("-no-color", "-shellcheck=", "-pyflakes=", "-format", "{{json .}}"), _workflow, _actionlint),
        Tool("zizmor", ("--offline", "--format", "json", "--quiet"), _workflow, _zizmor),
        Tool("shellcheck", ("-f", "json1"), lambda path: path.endswith((".sh", ".bash")), _shellcheck),
        Tool("ruff", ("check", "--output-format", "json", "--no-cache", "--quiet"), lambda path: path.endswith(".py"), _ruff),
    )
}


def external_findings(
    names: Iterable[str], tree: Tree, paths: Collection[str], cache: Path | None, *, find: Callable[[str], str | None] = shutil.which
) -> list[Finding]:
    """What the linters of ``names`` say about the files of ``paths`` in ``tree``. One that is absent or fails is a note."""
    found: list[Finding] = []
    for name in names:
        tool = TOOLS[name]
        files = [path for path in sorted(paths) if tool.takes(path) and tree.is_file(path) and not tree.is_link(path)][:MOST_FILES]
        program = find(name)
        if program is None:
            found.append(_note(name, "missing", f"{name} is not installed: nothing on PATH has its name"))
        elif files:
            found.extend(_findings(tool, program, tree, files, cache))
    return found


def _findings(tool: Tool, program: str, tree: Tree, files: Sequence[str], cache: Path | None) -> Iterator[Finding]:
    beside = {path for path in tree.paths() if _workflow(path)} if tool.takes(".github/workflows/a.yml") else set()
    contents = dict(_read(tree, {*files, *(path for path in _SETTINGS if tree.is_file(path)), *beside}))
    kept = None if cache is None else cache / "external" / f"{_key(tool, program, files, contents)}.json"
    try:
        if kept is not None and kept.is_file():
            answer = json.loads(kept.read_text("utf-8"))
        else:
            answer = _answer(tool, program, files, contents)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(answer), "utf-8")
        rows = list(tool.read(answer))
    except subprocess.TimeoutExpired:
        yield _note(tool.name, "failed", f"{tool.name} did not end within {TIME_LIMIT:g} s")
        return
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        yield _note(tool.name, "failed", f"{tool.name} gave no answer that can be read: {' '.join(str(error).split())[:200]}")
        return
    known = set(files)
    for code, level, path, line, column, end_line, end_column, message in rows:
        name = os.path.normpath(path).replace(os.sep, "/")
        name = next((one for one in known if name == one or name.endswith(f"/{one}")), None) or ""
        if not name:
            continue
        lines = contents[name].decode("utf-8", "replace").split("\n")
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        yield Finding(
            f"{tool.name}/{code}", level, name, max(line, 1), max(column, 1), max(end_line, line, 1), max(end_column, 1),
            " ".join(str(message).split()), subject=f"{code} {text}",
        )  # fmt: skip


def _read(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        try:
            yield path, tree.read(path)
        except TreeError:
            yield path, b""


def _key(tool: Tool, program: str, files: Sequence[str], contents: Mapping[str, bytes]) -> str:
    """Of all that an answer depends on: the program as it is installed, how it is called, every file that it may read."""
    try:
        state = os.stat(os.path.realpath(program))
        binary = (os.path.realpath(program), state.st_size, state.st_mtime_ns)
    except OSError:
        binary = (program, 0, 0)
    digest = hashlib.sha256(repr((binary, tool.argv, list(files))).encode())
    for path in sorted(contents):
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(contents[path]).digest())
    return digest.hexdigest()


def _answer(tool: Tool, program: str, files: Sequence[str], contents: Mapping[str, bytes]) -> Any:
    with tempfile.TemporaryDirectory(prefix="reviewbot-") as folder:
        root = Path(folder)
        (root / ".git").mkdir()  # where the linters take the top of a repository to be
        for path, data in contents.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        done = subprocess.run(
            [program, *tool.argv, *(f"./{path}" for path in files)], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
    try:
        return json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise ValueError(said or f"exit status {done.returncode}") from None


def _note(name: str, what: str, message: str) -> Finding:
    return Finding(f"{name}/{what}", Level.NOTE, ".", 1, 1, 1, 1, message, subject=f"{name} {what}")
