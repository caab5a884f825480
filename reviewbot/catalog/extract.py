"""Reads flags and environment variables of engine releases out of their packages, and writes ``engine_names.json``.

    pip download --no-deps --only-binary :all: -d DIR sglang==0.5.17 ai-dynamo==1.3.1
    pip download --no-deps --no-binary :all: --no-build-isolation --no-clean vllm==0.27.1  # leaves the unpacked sdist behind
    python -m reviewbot.catalog.extract DIR/sglang-0.5.17-*.whl DIR/ai_dynamo-1.3.1-*.whl vllm-0.27.1/

Each argument is a wheel, an sdist or an unpacked package whose name begins with ``name-version``. Sources are parsed with libcst, since
they may be written for a newer Python than the one that runs this; nothing of them is imported. The file holds ranges of releases and not
one list a release.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import libcst as cst

from reviewbot.catalog.names import DATA, ordered, version_key

PACKAGES = {"vllm": "vllm", "sglang": "sglang", "ai_dynamo": "dynamo", "ai-dynamo": "dynamo"}
_NAMED = re.compile(r"(?P<package>vllm|sglang|ai[_-]dynamo)-(?P<version>\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)(?:[-.].*)?$")
_TOKEN = re.compile(rb"(?<![A-Za-z0-9_])(?:VLLM|SGLANG|SGL|DYN)_[A-Z0-9_]*[A-Z0-9](?![A-Za-z0-9_])")
_REMOVED = re.compile(rb"((?:VLLM|SGLANG|SGL|DYN)_[A-Z0-9_]+) has been removed")  # a name that is only told about
_SCANNED = (".py", ".pyi", ".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp", ".rs", ".sh", ".so")
_MAX_FILE = 200 << 20
_DEPRECATED = re.compile(r"\W*deprecated\b", re.IGNORECASE)
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*\Z")


@dataclass
class Release:
    """What one package says. ``renamed`` maps an old flag (with dashes) or variable to the new one, ``""`` where there is none."""

    engine: str
    version: str
    date: str
    flags: set[str] = field(default_factory=set)
    env: set[str] = field(default_factory=set)  # registered
    read: set[str] = field(default_factory=set)  # mentioned anywhere in the code
    on: set[str] = field(default_factory=set)  # switches that are on where nothing is said
    renamed: dict[str, str] = field(default_factory=dict)
    requires: dict[str, str] = field(default_factory=dict)  # engine -> release that the package asks for


class Package:
    """The files of a wheel, an sdist or a folder: ``(path inside, bytes)``, and the newest date among them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.newest = 0.0

    def files(self) -> Iterator[tuple[str, bytes]]:
        if self._path.is_dir():
            for file in sorted(self._path.rglob("*")):
                if file.is_file():
                    self.newest = max(self.newest, file.stat().st_mtime)
                    yield file.relative_to(self._path).as_posix(), file.read_bytes()
        elif self._path.suffix == ".whl":
            with zipfile.ZipFile(self._path) as wheel:
                for info in wheel.infolist():
                    if not info.is_dir() and info.file_size <= _MAX_FILE:
                        if info.date_time[0] > 2020:
                            self.newest = max(self.newest, datetime(*info.date_time, tzinfo=timezone.utc).timestamp())
                        yield info.filename, wheel.read(info)
        else:
            with tarfile.open(self._path) as sdist:
                for member in sdist:
                    opened = sdist.extractfile(member) if member.isfile() and member.size <= _MAX_FILE else None
                    if opened is not None:
                        self.newest = max(self.newest, member.mtime)
                        yield member.name.partition("/")[2], opened.read()


def read_release(path: Path) -> Release:
    """What the package at ``path`` says. Raises ``ValueError`` where its name is no ``name-version`` of a known package."""
    named = _NAMED.match(path.name.removesuffix(".whl").removesuffix(".tar.gz"))
    if named is None:
        raise ValueError(f"{path.name}: expected the name of a package and its version")
    release = Release(PACKAGES[named["package"]], named["version"], "")
    package = Package(path)
    gone: set[str] = set()
    for name, data in package.files():
        if name.endswith("METADATA") or name == "PKG-INFO":
            _requirements(release, data.decode("utf-8", "replace"))
        if name.endswith(_SCANNED) and "/tests/" not in name:
            release.read.update(token.decode() for token in _TOKEN.findall(data))
            gone.update(token.decode() for token in _REMOVED.findall(data))
        if name.endswith(".py") and _wanted(release.engine, name):
            _READERS[release.engine](release, name, cst.parse_module(data))
    release.date = datetime.fromtimestamp(package.newest, timezone.utc).strftime("%Y-%m-%d") if package.newest else ""
    release.read -= release.env | gone
    return release


def _wanted(engine: str, name: str) -> bool:
    if engine == "dynamo":
        return name.startswith("dynamo/") and "/tests/" not in name and name.rpartition("/")[2].endswith("args.py")
    if engine == "sglang":
        return name in ("sglang/srt/server_args.py", "sglang/srt/environ.py") or name.startswith("sglang/srt/arg_groups/fields/")
    folder, _, file = name.rpartition("/")
    return (
        name in ("vllm/envs.py", "vllm/engine/arg_utils.py")
        or folder == "vllm/config"
        or (folder.startswith("vllm/entrypoints") and file in _VLLM_CLI)
    )


_VLLM_CLI = ("cli_args.py", "serve.py")


def _requirements(release: Release, text: str) -> None:
    for name, asked in re.findall(r"^Requires-Dist: (vllm|sglang)(?:\[[\w,]*\])?\s*\(?==([\w.]+)\)?; extra", text, re.MULTILINE):
        release.requires[name] = asked


# --- syntax ----------------------------------------------------------------------------------------------------------


class _Calls(cst.CSTVisitor):
    """Calls ``on_call`` for every call and ``on_class`` for every class of a module, outermost first."""

    def __init__(self, on_call: Callable[[cst.Call], None], on_class: Callable[[cst.ClassDef], None]) -> None:
        self._on_call = on_call
        self._on_class = on_class

    def visit_Call(self, node: cst.Call) -> None:
        self._on_call(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._on_class(node)


def _text(node: cst.BaseExpression | None) -> str | None:
    """The value of a text literal, concatenated ones included."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def _called(call: cst.Call) -> str:
    function = call.func
    return function.attr.value if isinstance(function, cst.Attribute) else function.value if isinstance(function, cst.Name) else ""


def _keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    return next((argument.value for argument in call.args if argument.keyword is not None and argument.keyword.value == name), None)


def _annotated(body: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression, cst.BaseExpression | None]]:
    """The annotated names of a class body: name, annotation, value."""
    for statement in body.body.body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                yield small.target.value, small.annotation.annotation, small.value


def _assigned(body: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    for statement in body.body.body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name):
                yield small.targets[0].target.value, small.value


def _name(dest: str) -> str:
    return dest.lstrip("-").replace("_", "-")


def _is_true(node: cst.BaseExpression | None) -> bool:
    if isinstance(node, cst.Call):  # Field(default=True, ...)
        first = next((argument.value for argument in node.args if argument.keyword is None), None)
        return _is_true(_keyword(node, "default") or first)
    return isinstance(node, cst.Name) and node.value == "True"


def _told_flag(told: str, names: list[str]) -> str:
    """The flag that a help text sends the reader to."""
    found = re.search(r"(?:use|of|by|alias for|to)\W+(--[a-z][\w-]*[a-z0-9])", told, re.IGNORECASE)
    return found[1] if found is not None and _name(found[1]) not in map(_name, names) else ""


def _add_argument(release: Release, call: cst.Call) -> None:
    if _called(call) not in ("add_argument", "add_negatable_bool_argument"):
        return
    names = [text for argument in call.args if argument.keyword is None and (text := _text(argument.value)) and _FLAG.match(text)]
    flag_name = _text(_keyword(call, "flag_name"))
    names += [flag_name] if flag_name else []
    release.flags.update(map(_name, names))
    action = _keyword(call, "action")
    kind = action.attr.value if isinstance(action, cst.Attribute) else action.value if isinstance(action, cst.Name) else ""
    if kind == "BooleanOptionalAction" or _called(call) == "add_negatable_bool_argument":
        release.flags.update(f"no-{_name(name)}" for name in names)
    variable = _text(_keyword(call, "env_var"))
    if variable:
        release.env.add(variable)
    told = _text(_keyword(call, "help")) or ""
    if kind.startswith("Deprecated") or _is_true(_keyword(call, "deprecated")) or _DEPRECATED.match(told):
        instead = _text(_keyword(call, "new_flag")) or _told_flag(told, names)
        for name in names:
            release.renamed[f"--{_name(name)}"] = f"--{_name(instead)}" if instead else ""


# --- engines ---------------------------------------------------------------------------------------------------------


def _vllm(release: Release, path: str, module: cst.Module) -> None:
    if path == "vllm/envs.py":
        for node in _top_dicts(module, "environment_variables"):
            release.env.update(key for element in node.elements if isinstance(element, cst.DictElement) and (key := _text(element.key)))
        return

    def on_class(body: cst.ClassDef) -> None:
        if path.startswith("vllm/config/"):
            release.on.update(_name(name) for name, annotation, value in _annotated(body) if _is_true(value))
        elif body.name.value.endswith("FrontendArgs"):
            for name, _annotation, value in _annotated(body):
                release.flags.add(_name(name))
                if _is_true(value):
                    release.on.add(_name(name))

    module.visit(_Calls(lambda call: _add_argument(release, call), on_class))


def _sglang(release: Release, path: str, module: cst.Module) -> None:
    if path.endswith("/environ.py"):
        _sglang_environment(release, module)
        return

    def on_class(body: cst.ClassDef) -> None:
        for name, annotation, value in _annotated(body):
            if isinstance(annotation, cst.Subscript) and isinstance(annotation.value, cst.Name) and annotation.value.value == "A":
                _sglang_field(release, name, annotation)
                if _is_true(value):
                    release.on.add(_name(name))

    module.visit(_Calls(lambda call: _add_argument(release, call), on_class))


def _sglang_field(release: Release, name: str, annotation: cst.Subscript) -> None:
    """``name: A[type, "help"]`` or ``name: A[type, Arg(aliases=[...], cli_name=..., no_cli=True)]``."""
    names = [name]
    told = ""
    for element in annotation.slice:
        index = element.slice
        call = index.value if isinstance(index, cst.Index) else None
        told = told or _text(call) or (_text(_keyword(call, "help")) if isinstance(call, cst.Call) else None) or ""
        if not isinstance(call, cst.Call) or _called(call) != "Arg":
            continue
        if _is_true(_keyword(call, "no_cli")):
            return
        written = _text(_keyword(call, "cli_name"))
        names = [written] if written else names
        aliases = _keyword(call, "aliases")
        if isinstance(aliases, (cst.List, cst.Tuple)):
            names += [text for item in aliases.elements if (text := _text(item.value))]
    release.flags.update(map(_name, names))
    if _DEPRECATED.match(told):
        instead = _told_flag(told, names)
        release.renamed.update((f"--{_name(one)}", f"--{_name(instead)}" if instead else "") for one in names)


def _sglang_environment(release: Release, module: cst.Module) -> None:
    def on_class(body: cst.ClassDef) -> None:
        if body.name.value == "Envs":
            release.env.update(name for name, value in _assigned(body) if isinstance(value, cst.Call))

    def on_call(call: cst.Call) -> None:
        name = _called(call)
        texts = [_text(argument.value) for argument in call.args if argument.keyword is None]
        if name == "_print_deprecated_env" and texts and texts[0]:
            old, new = (texts[0], texts[1] if len(texts) > 1 else None)
            if old_first:
                release.renamed[old] = new or ""
            elif new:
                release.renamed[new] = old
        elif name == "_warn_deprecated_env_to_cli_flag" and texts and texts[0]:
            flag = re.search(r"--[a-z][\w-]+", (texts[1] if len(texts) > 1 else "") or "")
            release.renamed[texts[0]] = flag.group().rstrip("-") if flag else ""

    old_first = not re.search(r"def _print_deprecated_env\(\s*new_name", module.code)
    module.visit(_Calls(on_call, on_class))
    for node in _top_dicts(module, "_DEPRECATED_ENVS"):
        for element in node.elements:
            if isinstance(element, cst.DictElement) and (old := _text(element.key)) and isinstance(element.value, cst.Call):
                release.renamed[old] = _text(_keyword(element.value, "replacement")) or ""
    for node in _top_dicts(module, "_deprecated_ms_to_s"):
        for element in node.elements:
            if isinstance(element, cst.DictElement) and (old := _text(element.key)):
                release.renamed[old] = _text(element.value) or ""
    release.env -= release.renamed.keys()


def _dynamo(release: Release, path: str, module: cst.Module) -> None:
    module.visit(_Calls(lambda call: _add_argument(release, call), lambda body: None))


_READERS: dict[str, Callable[[Release, str, cst.Module], None]] = {"vllm": _vllm, "sglang": _sglang, "dynamo": _dynamo}


class _Dicts(cst.CSTVisitor):
    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[cst.Dict] = []

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        if isinstance(target, cst.Name) and target.value == self._name and isinstance(node.value, cst.Dict):
            self.found.append(node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if isinstance(node.target, cst.Name) and node.target.value == self._name and isinstance(node.value, cst.Dict):
            self.found.append(node.value)


def _top_dicts(module: cst.Module, name: str) -> list[cst.Dict]:
    visitor = _Dicts(name)
    module.visit(visitor)
    return visitor.found


# --- the file --------------------------------------------------------------------------------------------------------


def catalog(releases: Sequence[Release]) -> dict[str, object]:
    """The content of ``engine_names.json``: by engine, names with the ranges of releases (by position) that have them."""
    found: dict[str, object] = {}
    for engine in sorted({release.engine for release in releases}):
        own = ordered((release for release in releases if release.engine == engine), lambda release: release.version)
        renamed: dict[str, tuple[str, int]] = {}
        for position, release in enumerate(own):
            for old, new in release.renamed.items():
                since = renamed.get(old, ("", position))[1]
                renamed[old] = (new or renamed.get(old, ("", 0))[0], since)
        found[engine] = {
            "versions": [[release.version, release.date] for release in own],
            "flags": _ranges([release.flags for release in own]),
            "env": _ranges([release.env for release in own]),
            "read": _ranges([release.read for release in own]),
            "on": _ranges([release.on & release.flags for release in own]),
            "renamed": {old: list(value) for old, value in sorted(renamed.items())},
            "requires": {release.version: release.requires for release in own if release.requires},
        }
    return found


def _ranges(sets: Sequence[set[str]]) -> dict[str, str]:
    """Name -> ``0-3,5-6``: the positions of the releases that have it; ``-`` where all have."""
    found: dict[str, str] = {}
    for name in sorted(set().union(*sets)):
        ranges: list[list[int]] = []
        for position, names in enumerate(sets):
            if name not in names:
                continue
            if ranges and ranges[-1][1] == position - 1:
                ranges[-1][1] = position
            else:
                ranges.append([position, position])
        whole = ranges == [[0, len(sets) - 1]]
        found[name] = "-" if whole else ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reviewbot.catalog.extract", description="read flags and variables of engine releases")
    parser.add_argument("packages", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args(argv)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        releases = list(pool.map(read_release, arguments.packages))
    for release in sorted(releases, key=lambda one: (one.engine, version_key(one.version))):
        counts = f"{len(release.flags)} flags, {len(release.env)} registered and {len(release.read)} other variables"
        print(f"{release.engine} {release.version} {release.date}: {counts}", file=sys.stderr)
    text = json.dumps(catalog(releases), sort_keys=True, separators=(",", ":"), indent=0)
    arguments.output.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
