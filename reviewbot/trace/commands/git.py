"""``git``: clones and checkouts mount trees; everything else is assumed to work."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from reviewbot.trace.commands.support import error
from reviewbot.trace.effects import Checkout
from reviewbot.trace.filesystem import written
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.values import is_known

_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MARK = ".git/reviewbot-checkout"  # url and ref of a clone, kept where the script does not look
_CLONE_VALUES = {
    "-b",
    "--branch",
    "--depth",
    "-o",
    "--origin",
    "--reference",
    "--filter",
    "-c",
    "--config",
    "-j",
    "--jobs",
    "--shallow-since",
    "--template",
    "--separate-git-dir",
    "-u",
    "--upload-pack",
    "--bundle-uri",
    "--shallow-exclude",
    "--server-option",
}


def git(invocation: Invocation) -> Outcome:
    shell = invocation.shell
    words = list(invocation.argv[1:])
    directory = shell.cwd
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "-C" and words:
            directory = shell.absolute(posixpath.join(directory, words.pop(0)))
        elif word in ("-c", "--git-dir", "--work-tree", "--exec-path") and words:
            words.pop(0)
        elif word == "--version":
            return Outcome(0, shell.hole("version of git", invocation.site, nonempty=True) + "\n")
    if not words:
        return Outcome(1)
    verb, rest = words[0], words[1:]
    if verb == "clone":
        return _clone(invocation, directory, rest)
    if verb in ("checkout", "switch"):
        return _checkout(invocation, directory, rest)
    if verb == "reset":
        refs = [word for word in rest if not word.startswith("-")]
        if "--hard" in rest and refs and refs[0] not in ("HEAD",):
            return _switch(invocation, directory, refs[0], True)
        if "--hard" in rest and not refs:
            return _restored(invocation, directory)
        return Outcome(0)
    if verb == "rev-parse":
        return _rev_parse(invocation, directory, rest)
    if verb == "fetch":
        refs = [word for word in rest if not word.startswith("-") and not word.isdigit()]
        url, _ = _state(invocation, directory)
        if len(refs) > 1 and url:
            shell.files.write(
                posixpath.join(_root(invocation, directory) or directory, ".git/reviewbot-fetched"), written(refs[-1], invocation.site)
            )
        return Outcome(0)
    if verb == "init":
        operands = [word for word in rest if not word.startswith("-")]
        where = shell.absolute(posixpath.join(directory, operands[0])) if operands else directory
        shell.files.make_directory(posixpath.join(where, ".git"))
        return Outcome(0)
    if verb == "remote" and rest[:1] == ["add"] and len(rest) >= 3:
        _remember(invocation, directory, rest[-1], None)
        return Outcome(0)
    if verb in (
        "show",
        "log",
        "describe",
        "diff",
        "ls-files",
        "ls-remote",
        "status",
        "cat-file",
        "branch",
        "remote",
        "rev-list",
        "ls-tree",
    ):
        return Outcome(0, shell.hole(f"output of git {verb}", invocation.site))
    if verb in ("apply", "am", "cherry-pick", "merge", "pull", "rebase", "stash", "revert"):
        root = _root(invocation, directory)
        url, _ = _state(invocation, directory)
        if root and url:
            shell.limit(f"git {verb} changes files in a way that is not evaluated", invocation.site)
        return Outcome(0)
    return Outcome(0)


def _root(invocation: Invocation, directory: str) -> str | None:
    """The top of the clone or of the repository that ``directory`` lies in."""
    files = invocation.shell.files
    while True:
        if files.kind(posixpath.join(directory, _MARK)) == "file" or files.kind(posixpath.join(directory, ".git")) == "dir":
            return directory
        if directory == "/":
            return None
        directory = posixpath.dirname(directory)


def _state(invocation: Invocation, directory: str) -> tuple[str, str | None]:
    root = _root(invocation, directory)
    content = invocation.shell.files.read_text(posixpath.join(root, _MARK)) if root else None
    if content is None:
        return "", None
    url, _, ref = content.text.partition("\n")
    return url, ref or None


def _remember(invocation: Invocation, root: str, url: str, ref: str | None) -> None:
    invocation.shell.files.write(posixpath.join(root, _MARK), written(f"{url}\n{ref or ''}", invocation.site))


def _mount(invocation: Invocation, root: str, url: str, ref: str | None, keep: bool = False, force: bool = False) -> bool:
    shell = invocation.shell
    tree = shell.upstream(url, ref) if is_known(url) and (ref is None or is_known(ref)) else None
    if keep:
        shell.files.checkout(root, tree, force)
    else:
        shell.files.mount(root, tree)
    shell.files.make_directory(posixpath.join(root, ".git"))
    _remember(invocation, root, url, ref)
    shell.emit(Checkout(url, ref, root, tree is not None, invocation.site))
    return tree is not None


def _clone(invocation: Invocation, directory: str, words: Sequence[str]) -> Outcome:
    operands: list[str] = []
    branch: str | None = None
    pending = list(words)
    while pending:
        word = pending.pop(0)
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            if name == "--branch":
                branch = value
        elif word in _CLONE_VALUES:
            value = pending.pop(0) if pending else ""
            if word in ("-b", "--branch"):
                branch = value
        elif not word.startswith("-"):
            operands.append(word)
    if not operands:
        return error(invocation, "You must specify a repository to clone.", 129)
    url = operands[0]
    name = operands[1] if len(operands) > 1 else re.sub(r"\.git$", "", url.rstrip("/").rpartition("/")[2])
    target = invocation.shell.absolute(posixpath.join(directory, name))
    kind = invocation.shell.files.kind(target)
    if kind == "file" or (kind == "dir" and invocation.shell.files.list(target)):
        return Outcome(128, "", f"fatal: destination path '{name}' already exists and is not an empty directory.\n")
    _mount(invocation, target, url, branch)
    return Outcome(0)


def _checkout(invocation: Invocation, directory: str, words: Sequence[str]) -> Outcome:
    if "--" in words:
        return (
            _restored(invocation, directory) if not [w for w in words[: list(words).index("--")] if not w.startswith("-")] else Outcome(0)
        )
    pending = list(words)
    refs: list[str] = []
    while pending:
        word = pending.pop(0)
        if word in ("-b", "-B", "-c", "-C", "--orphan") and pending:
            pending.pop(0)
        elif not word.startswith("-"):
            refs.append(word)
    if not refs or len(refs) > 1:
        return Outcome(0)
    return _switch(invocation, directory, refs[0], any(word in ("-f", "--force", "--discard-changes") for word in words))


def _switch(invocation: Invocation, directory: str, ref: str, force: bool = False) -> Outcome:
    shell = invocation.shell
    root = _root(invocation, directory)
    url, _ = _state(invocation, directory)
    if root is None:
        return Outcome(None)
    if not url:  # the repository itself: its files would change in a way that is not known
        shell.limit("a checkout in the repository itself is not followed", invocation.site)
        return Outcome(0)
    if ref == "FETCH_HEAD":
        fetched = shell.files.read_text(posixpath.join(root, ".git/reviewbot-fetched"))
        if fetched is not None:
            ref = fetched.text
    _mount(invocation, root, url, re.sub(r"^(?:refs/remotes/)?origin/", "", ref), True, force)
    return Outcome(0)


def _restored(invocation: Invocation, directory: str) -> Outcome:
    root = _root(invocation, directory)
    url, ref = _state(invocation, directory)
    if root is not None and url:
        _mount(invocation, root, url, ref, True, True)
    return Outcome(0)


def _rev_parse(invocation: Invocation, directory: str, words: Sequence[str]) -> Outcome:
    shell = invocation.shell
    root = _root(invocation, directory)
    url, ref = _state(invocation, directory)
    if "--show-toplevel" in words:
        return Outcome(0, root + "\n") if root is not None else Outcome(None, shell.hole("top of the repository", invocation.site) + "\n")
    if "--is-inside-work-tree" in words:
        return Outcome(0, "true\n") if root is not None else Outcome(None)
    plain = [word for word in words if not word.startswith("-")]
    if plain == ["HEAD"] and url and ref is not None and _HEX.fullmatch(ref) and not any(word.startswith("--short") for word in words):
        return Outcome(0, ref + "\n")
    return Outcome(0, shell.hole("commit id of " + " ".join(plain), invocation.site, nonempty=True) + "\n")
