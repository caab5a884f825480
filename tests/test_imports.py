"""Who may import whom, and who may touch the outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "reviewbot"

# Layers of the design; a module may import its own layer and those named here.
_BOTTOM = {"catalog", "settings"}
_DOCUMENTS = _BOTTOM | {"git", "tree", "documents"}
_RUNS = _DOCUMENTS | {"bench", "trace", "runs"}
_ENGINE = _RUNS | {"fit", "engine"}
MAY_IMPORT: dict[str, set[str]] = {
    "catalog": set(),
    "settings": set(),
    "git": _BOTTOM,
    "tree": _BOTTOM | {"git"},
    "documents": _BOTTOM | {"git", "tree"},
    "bench": _DOCUMENTS,
    "trace": _DOCUMENTS,
    "runs": _DOCUMENTS | {"bench", "trace"},
    "fit": _RUNS,
    "engine": _RUNS,
    "change": _ENGINE,
    # A rule sees runs, documents and facts: never git, and of trees nothing but what the context hands out.
    "rules": (_ENGINE | {"change"}) - {"git", "tree", "settings"},
    "report": _ENGINE | {"change"},
    "fix": _ENGINE,
    "review": _ENGINE | {"change", "report"},
    "sweep": _ENGINE | {"change"},
}
TOP = {"cli", "__main__", "parts", "docs", "progress"}
# Inside of a job, the health of the server that the point itself started; never another machine.
PROBES = {"reviewbot.sweep.health"}
# Other linters of the user's machine, for those who ask for them with --with; never a program of the repository.
LINTERS = {"reviewbot.engine.external"}
HTTP = {"http", "urllib.request", "requests", "httpx", "aiohttp", "urllib3", "github", "socket"}
STARTS_PROGRAMS = {"subprocess", "pty", "multiprocessing.popen_fork"}


def modules() -> list[Path]:
    own = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "rules"]  # the link to rules/
    return sorted([*own, *(ROOT / "rules").rglob("*.py")])


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("reviewbot", *parts) if parts[0] == "rules" else parts)


def layer_of(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(tree: ast.AST, name: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".") if is_package else name.split(".")[:-1]
            prefix = ".".join(base[: len(base) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (prefix, node.module)))
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def complaints(source: str, name: str, is_package: bool = False) -> list[str]:
    layer = layer_of(name)
    found = []
    tree = ast.parse(source)
    for line, imported in imports_of(tree, name, is_package):
        if imported.split(".")[0] == "reviewbot":
            other = layer_of(imported)
            known = other in MAY_IMPORT or other in TOP
            if known and layer in MAY_IMPORT and other != layer and other not in MAY_IMPORT[layer]:
                found.append(f"{name}:{line}: {layer} must not import {imported}")
        if layer != "review" and name not in PROBES and any(imported == http or imported.startswith(http + ".") for http in HTTP):
            found.append(f"{name}:{line}: only review may import {imported}")
        if (
            layer not in ("git", "sweep")
            and name not in LINTERS
            and any(imported == module or imported.startswith(module + ".") for module in STARTS_PROGRAMS)
        ):
            found.append(f"{name}:{line}: only git and sweep may import {imported}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.system", "os.popen", "os.execv", "os.execvp", "os.posix_spawn"):
            found.append(f"{name}:{node.lineno}: only git and sweep start programs")
    return found


def test_every_module_has_a_layer():
    assert {layer_of(name_of(path)) for path in modules()} - {"__init__"} <= MAY_IMPORT.keys() | TOP


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_import_order(path: Path):
    assert complaints(path.read_text("utf-8"), name_of(path), path.name == "__init__.py") == []


def test_there_is_no_circle():
    for layer, below in MAY_IMPORT.items():
        for other in below:
            assert layer not in MAY_IMPORT[other] or layer == other, f"{layer} and {other} may import each other"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("reviewbot.trace.x", "from reviewbot.runs import model"),
        ("reviewbot.trace.x", "import reviewbot.bench.model"),
        ("reviewbot.settings", "def f():\n    from reviewbot.documents import yaml"),
        ("reviewbot.engine.x", "from ..report import text"),
        ("reviewbot.rules.a.b", "from reviewbot.git import Repository"),
        ("reviewbot.report.x", "import urllib.request"),
        ("reviewbot.engine.x", "import subprocess"),
        ("reviewbot.cli", "import os\nos.system('x')"),
    ],
)
def test_the_test_finds_it(name: str, source: str):
    assert len(complaints(source, name)) == 1
