"""Thin reading of Python files with ``ast``: what a file defines, says and reads from its environment. Nothing is imported or run."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.positions import Problem, Span


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function: ``name`` is qualified (``Class.method``, ``outer.inner``); ``line`` is that of ``def``."""

    name: str
    line: int
    end_line: int
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StringConstant:
    """A string literal (a literal piece of an f-string has the place of the whole f-string)."""

    value: str
    span: Span
    docstring: bool = False


@dataclass(frozen=True, slots=True)
class ArgparseFlag:
    """An ``add_argument`` call: ``names`` as written, ``dest`` as argparse derives it; ``None`` for what is not a literal or not given."""

    names: tuple[str, ...]
    dest: str
    line: int
    action: str | None = None
    type: str | None = None
    default: object = None
    has_default: bool = False
    required: bool = False
    choices: tuple[object, ...] | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """A variable read from the environment. ``required``: the program fails without it; ``default`` is its literal default, if any."""

    name: str
    line: int
    required: bool
    default: object = None


@dataclass(frozen=True, slots=True)
class PythonDocument:
    """A Python file; ``tree`` is ``None`` where it could not be parsed."""

    path: str
    text: str
    tree: ast.Module | None
    functions: tuple[PythonFunction, ...]
    strings: tuple[StringConstant, ...]
    flags: tuple[ArgparseFlag, ...]
    environment: tuple[EnvironmentRead, ...]
    problems: tuple[Problem, ...]


def parse_python(data: bytes, path: str = "") -> PythonDocument:
    """What a file's content holds; everything wrong with it is in ``problems``."""
    problems: list[Problem] = []
    text = _decode(data, problems)
    tree = _parse(text, problems)
    if tree is None:
        return PythonDocument(path, text, None, (), (), (), (), tuple(problems))
    lines = text.split("\n")
    nodes = list(ast.walk(tree))
    names = _names_of_environment(nodes)
    return PythonDocument(
        path,
        text,
        tree,
        tuple(_functions(tree)),
        tuple(_strings(tree, nodes, lines)),
        tuple(sorted(_flags(nodes), key=lambda flag: flag.line)),
        tuple(sorted(_environment(nodes, *names), key=lambda read: read.line)),
        tuple(problems),
    )


def _decode(data: bytes, problems: list[Problem]) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        if isinstance(error, UnicodeDecodeError):
            before = data[: error.start]
            line = before.count(b"\n") + 1
            column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
            message = f"byte 0x{data[error.start]:02x} is not valid in {error.encoding}"
        else:
            try:
                data.decode("utf-8")
                line, column, message = 1, 1, str(error)
            except UnicodeDecodeError as inner:
                before = data[: inner.start]
                line = before.count(b"\n") + 1
                column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
                message = f"byte 0x{data[inner.start]:02x} is not valid UTF-8"
        problems.append(Problem("invalid-utf8", message, Span(line, column, line, column + 1)))
        text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _parse(text: str, problems: list[Problem]) -> ast.Module | None:
    null = text.find("\0")
    if null >= 0:
        line, column = text.count("\n", 0, null) + 1, null - text.rfind("\n", 0, null)
        problems.append(Problem("python-syntax", "a NUL character is not allowed in Python", Span(line, column, line, column + 1), True))
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        problems.append(Problem("python-syntax", error.msg or "invalid syntax", Span(line, column, line, column + 1), True))
    except (RecursionError, MemoryError):
        problems.append(Problem("too-deep", "the file is nested too deeply to be read", Span(1, 1, 1, 1), True))
    except ValueError as error:
        problems.append(Problem("python-syntax", str(error), Span(1, 1, 1, 1), True))
    return None


def _functions(tree: ast.Module) -> Iterator[PythonFunction]:
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    found: list[PythonFunction] = []
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            below = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = child.args
                every = [*arguments.posonlyargs, *arguments.args, *([arguments.vararg] if arguments.vararg else []), *arguments.kwonlyargs]
                every += [arguments.kwarg] if arguments.kwarg else []
                found.append(
                    PythonFunction(prefix + child.name, child.lineno, child.end_lineno or child.lineno, tuple(a.arg for a in every))
                )
                below = f"{prefix}{child.name}."
            elif isinstance(child, ast.ClassDef):
                below = f"{prefix}{child.name}."
            pending.append((child, below))
    yield from sorted(found, key=lambda function: function.line)


def _column(lines: list[str], line: int, offset: int) -> int:
    """A column from 1 in characters, of a byte offset."""
    text = lines[line - 1] if line <= len(lines) else ""
    return offset + 1 if text.isascii() else len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace")) + 1


def _strings(tree: ast.Module, nodes: list[ast.AST], lines: list[str]) -> list[StringConstant]:
    docstrings: set[int] = set()
    outer: dict[int, ast.expr] = {}
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(id(first.value))
        elif isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.Constant):
                    outer[id(part)] = node
    found = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            place = outer.get(id(node), node)
            end_line = place.end_lineno or place.lineno
            span = Span(
                place.lineno, _column(lines, place.lineno, place.col_offset), end_line, _column(lines, end_line, place.end_col_offset or 0)
            )
            found.append(StringConstant(node.value, span, id(node) in docstrings))
    return sorted(found, key=lambda string: string.span)


def _literal(node: ast.expr | None) -> object:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _name(node: ast.expr | None) -> str | None:
    """``int``, ``pathlib.Path``: a dotted name as written."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _flags(nodes: list[ast.AST]) -> Iterator[ArgparseFlag]:
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"):
            continue
        names = tuple(argument.value for argument in node.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str))
        if not names:
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        action = _literal(given.get("action"))
        action = action if isinstance(action, str) else _name(given.get("action"))
        long = next((name for name in names if name.startswith("--")), names[0])
        dest = _literal(given.get("dest"))
        choices = _literal(given.get("choices"))
        text = _literal(given.get("help"))
        yield ArgparseFlag(
            names=names,
            dest=dest if isinstance(dest, str) else long.lstrip("-").replace("-", "_") if long.startswith("-") else long,
            line=node.lineno,
            action=action,
            type=_name(given.get("type")),
            default=_literal(given.get("default")),
            has_default="default" in given,
            required=_literal(given.get("required")) is True or not names[0].startswith("-"),
            choices=tuple(choices) if isinstance(choices, (list, tuple)) else None,
            help=text if isinstance(text, str) else None,
        )


def _names_of_environment(nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that stand for ``os.environ`` and for ``os.getenv`` in this file."""
    environ: set[str] = set()
    getenv: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "os":
                    environ.add(f"{alias.asname or 'os'}.environ")
                    getenv.add(f"{alias.asname or 'os'}.getenv")
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name == "environ":
                    environ.add(alias.asname or alias.name)
                elif alias.name == "getenv":
                    getenv.add(alias.asname or alias.name)
    for node in nodes:
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and _name(node.value) in environ
        ):
            environ.add(node.targets[0].id)
    return environ, getenv


def _environment(nodes: list[ast.AST], environ: set[str], getenv: set[str]) -> Iterator[EnvironmentRead]:
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _name(node.value) in environ:
            name = _literal(node.slice)
            if isinstance(name, str):
                yield EnvironmentRead(name, node.lineno, True)
        elif isinstance(node, ast.Call):
            function = _name(node.func)
            if function is None:
                continue
            owner, _, method = function.rpartition(".")
            if function in getenv or (owner in environ and method in ("get", "pop", "setdefault")):
                arguments = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "default")]
                name = _literal(arguments[0]) if arguments else None
                if isinstance(name, str):
                    required = method == "pop" and len(arguments) == 1
                    yield EnvironmentRead(name, node.lineno, required, _literal(arguments[1]) if len(arguments) > 1 else None)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)) and _name(node.comparators[0]) in environ:
            name = _literal(node.left)
            if isinstance(name, str):
                yield EnvironmentRead(name, node.lineno, False)
