"""``reviewbot init``: workflows, a hook entry and settings for the repository that is there. Nothing that exists is changed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from reviewbot.settings import NAME

_ACTION = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+@[0-9a-f]{40}")
_PLACEHOLDER = re.compile(r"reviewbot/reviewbot@0{40} # .*")
_WORKFLOWS = Path(__file__).parent / "workflows"
_HOOKS = ".pre-commit-config.yaml"


class InitError(Exception):
    """Arguments that do not do, or a file that cannot be written."""


def init(root: Path, arguments: argparse.Namespace) -> str:
    """Write what is missing below ``root`` and give a report, one line a file. Raises ``InitError``."""
    action: str | None = arguments.action
    if action is not None and not _ACTION.fullmatch(action):
        raise InitError(f"--action wants OWNER/NAME@SHA with the 40 digits of a commit, not {action!r}")
    report = []
    for path, text in _files(root, action, arguments.forks, not arguments.no_hook):
        file = root / path
        if file.exists() or file.is_symlink():
            report.append(f"{path}: exists, left as it is")
            if path == _HOOKS and "id: reviewbot" not in file.read_text("utf-8", "replace"):
                report.append(f"  add to its repos:\n{_indented(text.partition(chr(10))[2])}")
            continue
        if not arguments.dry_run:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            except OSError as error:
                raise InitError(f"{path}: {error.strerror}") from None
        report.append(f"{path}: {'would be written' if arguments.dry_run else 'written'}")
    if action is None:
        report.append("no workflow is written: name the action with --action OWNER/NAME@SHA")
    return "".join(line + "\n" for line in report)


def _files(root: Path, action: str | None, forks: bool, hook: bool) -> list[tuple[str, str]]:
    files = [(NAME, _settings(root))]
    if hook:
        files.append((_HOOKS, _hook_entry(action)))
    if action is not None:
        names = ("reviewbot-fork-analyse.yml", "reviewbot-fork-post.yml") if forks else ("reviewbot.yml",)
        for name in names:
            text = (_WORKFLOWS / name).read_text("utf-8")
            files.append((f".github/workflows/{name}", _PLACEHOLDER.sub(action, text)))
    return files


def _hook_entry(action: str | None) -> str:
    """The hook from the action's repository at the same commit; without one, the program that is installed."""
    if action is not None:
        name, _, commit = action.partition("@")
        repository = "/".join(name.split("/")[:2])
        return f"repos:\n  - repo: https://github.com/{repository}\n    rev: {commit}\n    hooks:\n      - id: reviewbot\n"
    return (
        "repos:\n  - repo: local\n    hooks:\n      - id: reviewbot\n        name: reviewbot\n        entry: reviewbot check --staged\n"
        "        language: system\n        pass_filenames: false\n"
    )


def _settings(root: Path) -> str:
    """Settings that say what is the case anyway, with the layout that was found."""
    from reviewbot.bench.repository import load_bench
    from reviewbot.tree import TreeError, WorkingTree

    try:
        bench = load_bench(WorkingTree(str(root)))
    except TreeError as error:
        raise InitError(str(error)) from None
    counts = {"points of a sweep": bench.points, "launchers": bench.launchers, "recipes": bench.recipe_files}
    found = [f"{len(items)} {what}" for what, items in counts.items() if items]
    said = f"Found: {', '.join(found)}." if found else "No sweep was found: name its files under layout."
    return (
        f"# Settings of reviewbot. Every key is optional.\n# {said}\n\nfail-on: error\n\n"
        f"# The layout of files; default: what is found.\n# profile: {bench.adapter or 'NAME'}\n"
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n"))
