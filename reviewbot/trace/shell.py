"""The evaluator: runs the syntax tree of a script on known, unknown and partly known values, for one path of decisions."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import (
    AndOr,
    ArithCommand,
    ArithFor,
    Assignment,
    Background,
    Block,
    Broken,
    Case,
    Declaration,
    For,
    Function,
    Group,
    If,
    Pipeline,
    ProcessSubstitution,
    Redirect,
    Script,
    Simple,
    Statement,
    Subshell,
    TestCommand,
    While,
    Word,
)
from reviewbot.trace import arithmetic, conditions, expand
from reviewbot.trace.control import Bound, Break, Continue, Control, Entered, Exit, Fork, Return, Stop
from reviewbot.trace.effects import (
    Assign,
    Assume,
    Edit,
    Effect,
    Enter,
    Exec,
    Limit,
    Located,
    Missing,
    Submit,
    Variable,
    assignment,
    variable,
)
from reviewbot.trace.environment import Environment
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.protocol import CommandTable, FileSystem, Invocation, Outcome
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.state import NULL, TERMINAL, Array, Buffer, Definition, FileSink, Place, Reference, Slot, Source, Stream
from reviewbot.trace.values import HOLE, Hole, Holes, is_known
from reviewbot.tree import Tree

Builtin = Callable[["Evaluator", list[str], Site], "int | None"]
_SCHEDULER_NAMES = ("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NNODES", "SLURM_NTASKS")
_SCHEDULER_TEXTS = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURMD_NODENAME", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION")


@dataclass(slots=True, eq=False)
class Context:
    """What all paths of a trace share."""

    settings: TraceSettings
    commands: CommandTable
    builtins: Mapping[str, Builtin]
    parse: Callable[[str, str], Script]
    upstream: Callable[[str, str | None], Tree | None]
    initial: Mapping[str, Variable]
    stop: str
    declare: Callable[[Evaluator, Declaration], None]
    holes: Holes = field(default_factory=Holes)
    interned: dict[tuple[object, ...], str] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    deadline: float = 0.0


@dataclass(slots=True, eq=False)
class _Frozen:
    """A copy of the whole state."""

    state: tuple[Any, ...]
    files: object
    buffers: list[tuple[Buffer, list[str]]]
    sources: list[tuple[Source, int]]
    status: int | None
    mutations: int


_Names = set[str]


class Evaluator:
    """One path through a script. See ``protocol.Shell`` for the part that commands use."""

    def __init__(self, context: Context, files: FileSystem, decisions: Mapping[tuple[object, ...], int]) -> None:
        self.context = context
        self.settings = context.settings
        self.holes = context.holes
        self.files = files
        self.decisions = decisions
        self.effects: list[Effect] = []
        self.variables: dict[str, Slot] = dict(context.initial)
        self.functions: dict[str, Definition] = {}
        self.frames: list[dict[str, Slot | None]] = []
        self.calls: list[tuple[str, Site, str]] = []  # function or sourced file, called from, BASH_SOURCE of the caller
        self.positional: list[str] = []
        self.name = "bash"
        self.cwd = context.settings.workspace
        self.options: set[str] = set()
        self.traps: dict[str, str] = {}
        self.fds: dict[int, Stream] = {0: NULL, 1: TERMINAL, 2: TERMINAL}
        self.directories: list[str] = []
        self.integers: frozenset[str] = frozenset()
        self.readonly: frozenset[str] = frozenset()
        self.marked: frozenset[str] = frozenset()  # exported, but not set yet
        self.status: int | None = 0
        self.pipe_status: tuple[int | None, ...] = ()  # empty: of one command, whose status it is
        self.place = Place("", 0)
        self.line = 1
        self.ignoring = 0  # > 0 where ``set -e`` is not looked at
        self.loops = 0
        self.polling = False  # the innermost loop sleeps: it waits for something
        self.depth = 0
        self.arms = 0  # depth of arms that are being tried
        self.scripts = 0  # depth of child shells that run files
        self.inside: tuple[str, ...] = ()
        self.commands_run = 0
        self.most_commands = context.settings.bounds.commands
        self.mutations = 0
        self.slept = 0
        self.serving = 0  # 1: something runs in the background, 2: it was waited for, 3: a program ran in front since
        self.cleaning = False  # in an EXIT trap
        self.aside = False  # in a bench script that runs in the background
        self.substitutions = 0
        self.why = ""
        self.last_output = ""
        self.last_pid = ""
        self.exit_site: Site | None = None
        self.exit_message: str | None = None
        self.background = False
        self.detached = False
        self.interactive_status = False
        self.unsure = False  # the words just expanded may be more or fewer than they seem
        self.unsure_positional = False  # the positional parameters come from such words
        self.unsure_reads = 0  # how often ``read`` got a text that may be several lines
        self._counts: dict[tuple[object, ...], int] = {}
        self._export_cache: Environment | None = None
        self._temporaries = 0

    # --- places, effects, unknowns -------------------------------------------------------------------------------

    @property
    def nounset(self) -> bool:
        return "u" in self.options

    @property
    def site_now(self) -> Site:
        return self.site(self.line)

    def site(self, line: int) -> Site:
        place = self.place
        found = place.sites.get(line)
        if found is None:
            found = place.sites[line] = place.fixed if place.fixed is not None else Site(place.path, line + place.offset)
        return found

    def written(self, line: int) -> str:
        """The text of a script line, for messages."""
        lines = self.place.lines
        return lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)
        if isinstance(effect, Exec):
            if effect.background:
                self.serving = max(self.serving, 1)
            elif self.serving == 2 and effect.argv[1:2] not in (("-c",), ("-",)):
                self.serving = 3
        if isinstance(effect, Submit) and self.context.stop == "submit":
            raise Stop("submit", effect.site)

    def assume(self, text: str, site: Site) -> None:
        effect = Assume(expand.unescape(text), site)
        if not self.effects or self.effects[-1] != effect:
            self.effects.append(effect)

    def limit(self, text: str, site: Site) -> None:
        self.effects.append(Limit(text, site))

    def hole(self, label: str, site: Site | None, *, nonempty: bool = False, numeric: bool = False, witness: str | None = None,
             choices: tuple[str, ...] | None = None) -> str:
        key = (label, site, choices)
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        whole = (key, number, nonempty, numeric, witness)
        found = self.context.interned.get(whole)
        if found is None:
            try:
                found = self.holes.new(Hole(label, site, nonempty, numeric, witness, choices))
            except OverflowError as error:
                raise Bound(str(error), site or self.site_now) from None
            self.context.interned[whole] = found
        return found

    def upstream(self, url: str, ref: str | None) -> Tree | None:
        return self.context.upstream(url, ref)

    def tick(self, line: int) -> None:
        self.commands_run += 1
        if self.commands_run > self.most_commands:
            raise Bound(f"more than {self.settings.bounds.commands} commands", self.site(line))
        if not self.commands_run & 63 and time.thread_time() > self.context.deadline:
            raise Bound(f"more than {self.settings.bounds.seconds} seconds", self.site(line))

    # --- choices ---------------------------------------------------------------------------------------------------

    def alternatives(self, value: str) -> list[str] | None:
        """All texts that a value can be by its choice holes (other holes stay); ``None`` where it has none."""
        found: list[str] = [value]
        changed = False
        for _ in range(6):
            grown: list[str] = []
            more = False
            for text in found:
                hole = next((char for char in HOLE.findall(text) if self.holes.of(char).choices is not None), None)
                if hole is None:
                    grown.append(text)
                    continue
                more = changed = True
                choices = self.holes.of(hole).choices or ()
                grown.extend(text.replace(hole, choice) for choice in choices)
            found = list(dict.fromkeys(grown))
            if len(found) > 64:
                return None
            if not more:
                break
        return found if changed else None

    def every(self, value: str, answer: Callable[[str], bool | None]) -> bool | None:
        """The answer that holds for every alternative of a value, else ``None``."""
        if is_known(value):
            return answer(value)
        choices = self.alternatives(value)
        if choices is None:
            return answer(value)
        answers = {answer(choice) for choice in choices}
        return answers.pop() if len(answers) == 1 else None

    def one_of(self, values: Sequence[str], label: str, line: int) -> str:
        """A value that is one of several."""
        flat: list[str] = []
        for value in values:
            inner = self.alternatives(value) if not is_known(value) else None
            flat.extend([value] if inner is None else inner)
        unique = tuple(sorted(set(flat)))
        if len(unique) == 1:
            return unique[0]
        nonempty = all(conditions.is_empty(self, value) is False for value in unique)
        if len(unique) > self.settings.bounds.choices:
            return self.hole(f"value of {label}", self.site(line), nonempty=nonempty)
        return self.hole(f"value of {label}", self.site(line), nonempty=nonempty, choices=unique)

    def may_split(self, value: str) -> bool:
        """Whether a value holds unknown text that may be several words, lines or none; numbers and texts of a known form are one word."""
        return not is_known(value) and any(self._splits(self.holes.of(char)) for char in HOLE.findall(value))

    def _splits(self, hole: Hole) -> bool:
        if hole.numeric or (hole.witness is not None and hole.nonempty):
            return False
        if hole.choices is None:
            return True
        return any(self.may_split(choice) or not choice or any(char in choice for char in " \t\n") for choice in hole.choices)

    def first_unsure(self, values: Sequence[str]) -> int:
        """The index from which nobody knows which word is which."""
        return next((number for number, value in enumerate(values) if self.may_split(value)), len(values))

    def settled(self, value: str, line: int) -> str:
        """An unquoted value: forks where its choices make different numbers of words."""
        if is_known(value):
            return value
        choices = self.alternatives(value)
        if choices is None or all(choice and not any(char in choice for char in " \t\n") for choice in choices):
            return value
        question = ("choice", self.place.path, line, value)
        if question in self.decisions:
            chosen = choices[min(self.decisions[question], len(choices) - 1)]
            self.assume(f"the value is {chosen!r}", self.site(line))
            return chosen
        raise Fork(question, len(choices))

    # --- variables -------------------------------------------------------------------------------------------------

    def note_read(self, name: str) -> None:
        self.context.reads.add(name)

    def slot(self, name: str) -> Slot | None:
        """What a name stands for, references followed."""
        found = self.variables.get(name)
        if type(found) is Reference:
            for _ in range(8):
                name = found.target
                found = self.variables.get(name)
                if type(found) is not Reference:
                    break
        if found is None:
            special = self._special_array(name)
            if special is not None:
                return special
        return found

    def resolve(self, name: str) -> str:
        for _ in range(8):
            found = self.variables.get(name)
            if type(found) is not Reference:
                break
            name = found.target
        return name

    def get(self, name: str) -> str | None:
        return self.lookup(name)

    def set(self, name: str, value: str, site: Site) -> None:
        self.assign(name, value, site)

    def lookup(self, name: str, index: str | None = None) -> str | None:
        """The value of a variable or of one element of an array; ``None`` where it is not set."""
        found = self.variables.get(name)
        if found is None:
            return self._special(name, index)
        kind = type(found)
        if kind is Variable:
            if found.site is None:  # type: ignore[union-attr]
                self.context.reads.add(name)
            if index is None or index == "0" or index == "@" or index == "*":
                return found.value  # type: ignore[union-attr]
            number = self._subscript(index)
            return found.value if number in (0, -1) else None  # type: ignore[union-attr]
        if isinstance(found, Reference):
            target = self.resolve(name)
            if "[" in target and index is None:
                target, _, index = target.partition("[")
                index = index[:-1]
            return self.lookup(target, index) if target != name else None
        assert isinstance(found, Array)
        return self._element(found, index, name)

    def _element(self, array: Array, index: str | None, name: str) -> str | None:
        if array.associative:
            key = "0" if index is None else index
            if is_known(key) or key in array.items:
                return array.items.get(key)
            return self.hole(f"{name}[...]", self.site_now) if array.items else None
        if index is None:
            return array.items.get(0)
        if index in ("@", "*"):
            return " ".join(array.items.values()) if array.items else None
        number = self._subscript(index)
        if number is None:
            return self.hole(f"{name}[...]", self.site_now) if array.items else None
        if array.open:
            behind = [key for key, value in array.items.items() if self.may_split(value)]
            if number < 0:
                keys = list(array.items)
                if behind and len(keys) + number >= 0 and keys[number] >= behind[-1]:  # type: ignore[operator]
                    return array.items[keys[number]]
                return self.hole(f"{name}[{number}]", self.site_now)
            if number not in array.items or (behind and number > behind[0]):  # type: ignore[operator]
                return self.hole(f"{name}[{number}]", self.site_now)
        elif number < 0:
            number += 1 + max((key for key in array.items if isinstance(key, int)), default=-1)
        return array.items.get(number)

    def _subscript(self, index: str) -> int | None:
        try:
            return arithmetic.of_text(self, index, self.line)
        except arithmetic.ShellArithmeticError as error:
            self.fail(str(error), self.line)
            return 0

    def _special_array(self, name: str) -> Array | None:
        if name == "PIPESTATUS":
            return Array({i: self._status_text(status) for i, status in enumerate(self.pipe_status or (self.status,))}, False, None)
        if name == "FUNCNAME":
            return Array(dict(enumerate([call[0] for call in reversed(self.calls)] + ["main"])), False, None) if self.calls else None
        if name == "BASH_SOURCE":
            shown = [self.place.shown or self.name] + [call[2] for call in reversed(self.calls)]
            return Array(dict(enumerate(shown)), False, None)
        if name == "BASH_LINENO":
            return Array({i: str(call[1].line) for i, call in enumerate(reversed(self.calls))}, False, None)
        return None

    def _status_text(self, status: int | None) -> str:
        return str(status) if status is not None else self.hole("exit status", self.site_now, nonempty=True, numeric=True)

    def _special(self, name: str, index: str | None) -> str | None:
        if name.isdigit():
            number = int(name[:9])
            if number == 0:
                return self.name
            if self.unsure_positional and number - 1 > self.first_unsure(self.positional):
                return self.hole(f"${name}", self.site_now)
            return self.positional[number - 1] if number <= len(self.positional) else None
        if len(name) == 1 and not name.isalpha():
            return self._special_character(name)
        array = self._special_array(name)
        if array is not None:
            return self._element(array, index, name)
        if name == "PWD":
            return self.cwd
        if name == "LINENO":
            return str(self.line)
        if name == "IFS":
            return " \t\n"
        if name in ("RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "BASHPID", "PPID", "UID", "EUID"):
            if name in self.context.initial:
                return None
            if name in ("UID", "EUID", "PPID", "BASHPID"):
                return self._constant(name)
            return self.hole(f"${name}", self.site_now, nonempty=True, numeric=True)
        if name == "BASH_VERSION":
            return "5.2.21(1)-release"
        self.context.reads.add(name)
        return None

    def _constant(self, name: str) -> str:
        key = ("constant", name, len(self.inside))
        found = self.context.interned.get(key)
        if found is None:
            found = self.context.interned[key] = self.holes.new(
                Hole(f"${name}", None, nonempty=True, numeric=True, witness=self.settings.witnesses.get("pid")))
        return found

    def _special_character(self, name: str) -> str | None:
        if name == "?":
            return self._status_text(self.status)
        if name == "#":
            return self.count_positional()
        if name == "$":
            return self._constant("$")
        if name == "!":
            return self.last_pid or None
        if name == "-":
            return "".join(sorted(option for option in self.options if len(option) == 1)) + "hB"
        if name in ("@", "*"):
            return (self.joiner() if name == "*" else " ").join(self.positional) if self.positional else None
        return ""

    def count_positional(self) -> str:
        if self.unsure_positional and any(map(self.may_split, self.positional)):
            return self.hole("number of arguments", self.site_now, nonempty=True, numeric=True)
        return str(len(self.positional))

    def separators(self) -> str:
        found = self.variables.get("IFS")
        return found.value if isinstance(found, Variable) else " \t\n"

    def joiner(self) -> str:
        return self.separators()[:1]

    def check_set(self, name: str, line: int) -> None:
        """Ends the script where ``set -u`` forbids an unset name."""
        if self.nounset:
            message = f"{name}: unbound variable"
            self.complain(message)
            raise Exit(127 if self.depth == 0 and not self.scripts else 1, self.site(line), message)

    def assign(self, name: str, value: str, site: Site, *, exported: bool | None = None, record: bool = True) -> None:
        """``name=value``."""
        variables = self.variables
        old = variables.get(name)
        if old is not None and type(old) is not Variable:
            if isinstance(old, Reference):
                target = self.resolve(name)
                if target != name:
                    if "[" in target:
                        base, _, index = target.partition("[")
                        self.assign_element(base, index[:-1], value, site)
                    else:
                        self.assign(target, value, site, exported=exported, record=record)
                return
            self.assign_element(name, "0", value, site)
            return
        if self.readonly and name in self.readonly:
            self.complain(f"{name}: readonly variable")
            raise Exit(1, site, f"{name}: readonly variable")
        if self.integers and name in self.integers:
            value = self._integer(value)
        if type(value) is Located:
            value = str(value)
        before: str | None = None
        keep = exported
        over: Variable | None = None
        depth = 0
        if old is not None:
            before = old.value
            if keep is None:
                keep = old.exported
            over = old.over if old.site == site else old
            if over is not None:
                depth = over.depth + 1
                if depth > 60:
                    over, depth = None, 0
            if old.exported:
                self._export_cache = None
        if keep is None or (not keep and exported is None and "a" in self.options):
            keep = "a" in self.options or name in self.marked
        variables[name] = variable(value, keep, site, over, depth)
        if keep:
            self._export_cache = None
        if before != value:
            self.mutations += 1
        if name == "IFS" or not record:
            return
        self.effects.append(assignment(name, value, before, keep, site))

    def _integer(self, value: str) -> str:
        try:
            result = arithmetic.of_text(self, value, self.line)
        except arithmetic.ShellArithmeticError as error:
            self.fail(str(error), self.line)
            return "0"
        return str(result) if result is not None else self.hole("result of arithmetic", self.site_now, nonempty=True, numeric=True)

    def assign_element(self, name: str, index: str, value: str, site: Site, append: bool = False) -> None:
        """``name[index]=value``."""
        name = self.resolve(name)
        old = self.variables.get(name)
        associative = isinstance(old, Array) and old.associative
        items: dict[int | str, str] = {}
        if isinstance(old, Array):
            items = dict(old.items)
        elif isinstance(old, Variable):
            if old.site is None:
                self.note_read(name)
            items = {0: old.value}
        else:
            self.note_read(name)
        key: int | str | None = index if associative else self._subscript(index)
        if key is None:
            key = 1 + max((item for item in items if isinstance(item, int)), default=-1)
            self.limit(f"index of {name} is not known", site)
        if isinstance(key, int) and key < 0:
            key += 1 + max((item for item in items if isinstance(item, int)), default=-1)
        items[key] = (items.get(key, "") + value) if append else value
        if not associative and len(items) > 1:
            items = dict(sorted(items.items(), key=lambda pair: pair[0] if isinstance(pair[0], int) else 0))
        self.variables[name] = Array(items, associative, site)
        self.mutations += 1

    def set_array(self, name: str, values: Sequence[str], site: Site | None, unknown: bool = False) -> None:
        self.variables[self.resolve(name)] = Array(dict(enumerate(values)), False, site, open=unknown)
        self.mutations += 1

    def unset(self, name: str, index: str | None = None) -> None:
        name = self.resolve(name)
        if index is not None:
            old = self.variables.get(name)
            if isinstance(old, Array):
                key: int | str | None = index if old.associative else self._subscript(index)
                self.variables[name] = Array({item: text for item, text in old.items.items() if item != key}, old.associative, old.site)
            return
        if self.variables.pop(name, None) is not None:
            self.mutations += 1
            self._export_cache = None

    def export(self, name: str, site: Site, exported: bool = True) -> None:
        """``export name``: keeps the value."""
        name = self.resolve(name)
        old = self.variables.get(name)
        if isinstance(old, Variable) and old.exported != exported:
            self.variables[name] = Variable(old.value, exported, site, old, min(old.depth + 1, 60))
            self._export_cache = None
            self.mutations += 1
            self.effects.append(Assign(name, old.value, old.value, exported, site))

    def environment(self) -> Mapping[str, Variable]:
        cached = self._export_cache
        if cached is not None:
            return cached
        initial = self.context.initial
        changes: dict[str, Variable | None] = {}
        variables = self.variables
        if self.detached:
            for name, found in variables.items():
                if type(found) is Variable and found.exported:
                    changes[name] = found
        else:
            for (name, found), was in zip(variables.items(), map(initial.get, variables), strict=True):
                if found is not was and type(found) is Variable and found.exported:
                    changes[name] = found
            for (name, was), here in zip(initial.items(), map(variables.get, initial), strict=True):
                if (here is not was or not was.exported) and (type(here) is not Variable or not here.exported):
                    changes[name] = None
        self._export_cache = Environment(initial, changes, self.detached)
        return self._export_cache

    def declare_local(self, name: str) -> None:
        """Makes ``name`` local to the function that runs; it is unset from here."""
        frame = self.frames[-1]
        if name not in frame:
            frame[name] = self.variables.get(name)
        gone = self.variables.pop(name, None)
        if gone is not None and _in_environment(gone):
            self._export_cache = None

    # --- words -------------------------------------------------------------------------------------------------------

    def text_of(self, word: Word) -> str:
        static = word.static
        return static if static is not None else expand.text(self, word)

    def pattern_of(self, word: Word) -> str:
        return expand.pattern(self, word)

    def regex_of(self, word: Word) -> str:
        return expand.regex(self, word)

    def absolute(self, path: str) -> str:
        if not path.startswith("/"):
            head = path.partition("/")[0]
            if len(head) == 1 and HOLE.match(head) and not self.holes.of(head).numeric:
                path = "/" + path  # a whole unknown directory: the output of a program names it from the root
            else:
                path = f"{self.cwd}/{path}"
        if "//" in path or "/." in path or path.endswith("/"):
            path = posixpath.normpath(path)
            if path.startswith("//"):
                path = path[1:]
        return path

    # --- input and output ----------------------------------------------------------------------------------------------

    def write(self, fd: int, text: str, lines: tuple[LineOrigin, ...] | None = None) -> None:
        if not text:
            return
        sink = self.fds.get(fd)
        kind = type(sink)
        if kind is Buffer:
            sink.write(text, lines)  # type: ignore[union-attr]
            if sink.size > self.settings.bounds.text:  # type: ignore[union-attr]
                raise Bound("an output grew too long", self.site_now)
        elif kind is FileSink:
            self._append(sink.path, text, lines)  # type: ignore[union-attr]
        elif sink is TERMINAL:
            if not text.isspace():
                self.last_output = text

    def _append(self, path: str, text: str, lines: tuple[LineOrigin, ...] | None) -> None:
        count = text.count("\n") + (not text.endswith("\n"))
        if lines is None or len(lines) != count:
            written = LineOrigin(None, ((self.site_now, None),))
            lines = (written,) * count
        origin = self.files.origin(path)
        if origin is not None:
            before = self.files.read_text(path)
            if before is not None and before.text:
                start = before.text.count("\n") + 1
                for number, line in enumerate(text.removesuffix("\n").split("\n")):
                    self.effects.append(Edit(path, start + number, None, line, None, self.site_now))
        self.files.append(path, FileText(text, lines))
        self.mutations += 1

    def complain(self, message: str) -> None:
        self.write(2, message + "\n")

    def fail(self, message: str, line: int) -> None:
        """An error message that does not end the script."""
        self.complain(message)
        self.status = 1

    def message(self) -> str:
        """The last line that was printed where nobody collects it."""
        for line in reversed(expand.unescape(self.last_output[-5000:]).rstrip().split("\n")):
            if line.strip(" ?\t"):
                return line.strip()[:500]
        return ""

    def read_stdin(self) -> str:
        source = self.fds.get(0)
        if isinstance(source, Source):
            self.mutations += 1
            return source.rest()
        return ""

    def _redirected(self, redirects: Sequence[Redirect], run: Callable[[], None]) -> None:
        saved = self.fds
        fds = dict(saved)
        if not self.redirect(redirects, fds):
            self.status = 1
            return
        self.fds = fds
        try:
            run()
        finally:
            self.fds = saved

    def redirect(self, redirects: Sequence[Redirect], fds: dict[int, Stream]) -> bool:
        """Applies redirects to a table; false where a file that is read is not there."""
        for item in redirects:
            op = item.op
            if op in ("<<", "<<-"):
                text, lines = expand.heredoc(self, item.target, item.body_line)
                origins = tuple(LineOrigin(None, ((self.site(line), None),)) for line in lines)
                fds[item.fd or 0] = Source(text, origins)
                continue
            if op == "<<<":
                fds[item.fd or 0] = Source(self.text_of(item.target) + "\n")
                continue
            target = self.text_of(item.target)
            if op in (">&", "<&"):
                fd = item.fd if item.fd is not None else 1 if op == ">&" else 0
                if target == "-":
                    fds[fd] = NULL
                elif target.rstrip("-").isdigit():
                    fds[fd] = fds.get(int(target.rstrip("-")[:6]), NULL)
                else:
                    fds[1] = fds[2] = self._open(target, True, fds)
            elif op in ("&>", "&>>"):
                fds[1] = fds[2] = self._open(target, op == "&>", fds)
            elif op in (">", ">|", ">>"):
                if not target:
                    self.complain(f"{target}: No such file or directory")
                    return False
                fds[1 if item.fd is None else item.fd] = self._open(target, op != ">>", fds)
            elif op in ("<", "<>"):
                source = self._input(target, fds)
                if source is None:
                    return False
                fds[item.fd or 0] = source
        return True

    def _open(self, target: str, truncate: bool, fds: dict[int, Stream]) -> Stream:
        if target == "/dev/null":
            return NULL
        if target in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
            return fds.get(2 if target.endswith("err") else 1, NULL)
        if target.startswith("/dev/fd/") and target[8:].isdigit():
            return fds.get(int(target[8:][:6]), NULL)
        path = self.absolute(target)
        if truncate:
            self.files.write(path, FileText("", ()))
            self.mutations += 1
        elif self.files.kind(path) in ("missing", "unknown") and self.files.kind(path) == "missing":
            self.files.write(path, FileText("", ()))
        return FileSink(path)

    def _input(self, target: str, fds: dict[int, Stream]) -> Stream | None:
        if target == "/dev/null":
            return Source("")
        if target == "/dev/stdin":
            return fds.get(0, NULL)
        path = self.absolute(target)
        kind = self.files.kind(path)
        if kind == "missing":
            self.complain(f"{target}: No such file or directory")
            return None
        content = self.files.read_text(path)
        if content is None:
            return Source(self.hole(f"content of {target}", self.site_now))
        return Source(content.text, content.origins)

    # --- state ---------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[Any, ...]:
        return (
            self.variables.copy(), self.functions.copy(), [frame.copy() for frame in self.frames], self.calls.copy(),
                self.positional.copy(),
            self.name, self.cwd, self.options.copy(), self.traps.copy(), self.fds, self.directories.copy(), self.integers, self.readonly,
            self.place, self.line, self.ignoring, self.loops, self.depth, self.inside, self.detached, self.last_pid, self.background,
            self.scripts, self._export_cache, self.marked, self.unsure_positional,
        )

    def _set_state(self, state: tuple[Any, ...], copy: bool = False) -> None:
        (self.variables, self.functions, self.frames, self.calls, self.positional, self.name, self.cwd, self.options, self.traps, self.fds,
         self.directories, self.integers, self.readonly, self.place, self.line, self.ignoring, self.loops, self.depth, self.inside,
         self.detached, self.last_pid, self.background, self.scripts, self._export_cache, self.marked,
         self.unsure_positional) = state
        if copy:
            self.variables = self.variables.copy()
            self.functions = self.functions.copy()
            self.frames = [frame.copy() for frame in self.frames]
            self.calls = self.calls.copy()
            self.positional = self.positional.copy()
            self.options = self.options.copy()
            self.traps = self.traps.copy()
            self.directories = self.directories.copy()

    def _freeze(self) -> _Frozen:
        buffers = [(sink, sink.chunks.copy()) for sink in set(self.fds.values()) if isinstance(sink, Buffer)]
        sources = [(sink, sink.position) for sink in set(self.fds.values()) if isinstance(sink, Source)]
        return _Frozen(self._state(), self.files.snapshot(), buffers, sources, self.status, self.mutations)

    def _thaw(self, frozen: _Frozen) -> None:
        self._set_state(frozen.state, copy=True)
        self.files.restore(frozen.files)
        for sink, chunks in frozen.buffers:
            sink.chunks = chunks.copy()
            sink.size = sum(map(len, chunks))
        for source, position in frozen.sources:
            source.position = position
        self.status = frozen.status

    def subshell(self, run: Callable[[], None]) -> None:
        """Runs something whose changes to the shell are lost; ``exit`` ends only it."""
        state = self._state()
        unsure = self.unsure
        self.traps = {"ERR": self.traps["ERR"]} if "E" in self.options and "ERR" in self.traps else {}
        try:
            try:
                run()
            except Exit as end:
                self.status = end.status
                self.exit_site, self.exit_message = end.site, end.message
            except Return as end:
                self.status = end.status
            except (Break, Continue):
                pass
            if self.traps:
                self.run_exit_trap()
        finally:
            status = self.status
            self._set_state(state)
            self.status = status
            self.unsure = unsure

    def run_exit_trap(self) -> None:
        text = self.traps.pop("EXIT", "") or self.traps.pop("0", "")
        if not text:
            return
        status = self.status
        self.cleaning = True
        try:
            self.run_here(text, self.site_now)
            self.status = status
        except Exit as end:
            self.status = end.status
        except (Return, Break, Continue):
            self.status = status

    def substitute(self, body: Block) -> str:
        """``$( )``: the output without trailing newlines."""
        self.substitutions += 1
        if len(body) == 1:
            only = body[0]
            if type(only) is Simple and not only.words and not only.assignments and [item.op for item in only.redirects] == ["<"]:

                source = self._input(self.text_of(only.redirects[0].target), self.fds)
                self.status = 1 if source is None else 0
                return source.rest().rstrip("\n") if isinstance(source, Source) else ""
        buffer = Buffer()
        self._nest()

        def run() -> None:
            self.fds = {**self.fds, 1: buffer}
            self.options.discard("e")
            self.block(body)

        if not body:
            self.status = 0
        self.subshell(run)
        self.depth -= 1
        text = buffer.text().rstrip("\n").replace("\0", "")
        if not is_known(text):
            choices = self.alternatives(text)
            if choices is not None:
                return self.one_of([choice.rstrip("\n") for choice in choices], "output", self.line)
        return text

    def _nest(self) -> None:
        self.depth += 1
        if self.depth > self.settings.bounds.depth:
            raise Bound(f"nested deeper than {self.settings.bounds.depth}", self.site_now)

    def process_substitution(self, part: ProcessSubstitution) -> str:
        self._temporaries += 1
        path = f"/proc/self/fd/p{self._temporaries}"
        if part.direction != "<":
            self.limit("output into a process substitution is not followed", self.site(part.line))
            return "/dev/null"
        buffer = Buffer()
        status = self.status

        def run() -> None:
            self.fds = {**self.fds, 1: buffer}
            self.options.discard("e")
            self.block(part.body)

        self.subshell(run)
        self.status = status
        text = buffer.text()
        lines = buffer.lines
        count = text.count("\n") + (not text.endswith("\n") and bool(text))
        if lines is None or len(lines) != count:
            lines = (LineOrigin(None, ((self.site(part.line), None),)),) * count
        self.files.write(path, FileText(text, lines))
        return path

    # --- statements ------------------------------------------------------------------------------------------------------

    def block(self, body: Block) -> None:
        handlers = _HANDLERS
        for statement in body:
            handlers[type(statement)](self, statement)

    def execute(self, statement: Statement) -> None:
        _HANDLERS[type(statement)](self, statement)

    def condition(self, body: Block) -> int | None:
        self.ignoring += 1
        try:
            self.status = 0
            self.block(body)
        finally:
            self.ignoring -= 1
        return self.status

    def check_errexit(self, line: int) -> None:
        """``set -e`` after a command."""
        if self.status and not self.ignoring:
            if "ERR" in self.traps:
                self.run_error_trap(line)
            if "e" in self.options:
                raise Exit(self.status, self.site(line))

    def run_error_trap(self, line: int) -> None:
        """``trap ... ERR`` after a command that failed where ``set -e`` would end the script."""
        text = self.traps.pop("ERR")
        status, pipe_status = self.status, self.pipe_status
        try:
            self.run_here(text, self.site(line))
        finally:
            self.traps.setdefault("ERR", text)
        self.status, self.pipe_status = status, pipe_status

    def _simple(self, node: Simple) -> None:
        line = node.line
        self.tick(line)
        self.line = line
        words = node.words
        if not words:
            if node.redirects:
                self._redirected(node.redirects, lambda: self._assignments(node))
            elif len(node.assignments) == 1:
                before = self.substitutions
                self.perform(node.assignments[0])
                if self.substitutions == before:
                    self.status = 0
            else:
                self._assignments(node)
            if self.status:
                self.check_errexit(node.line)
            return
        self.unsure = False
        fixed = _FIXED.get(id(node))
        argv = list(fixed[1]) if fixed is not None and fixed[0] is node else self._words(node)
        if not argv:
            self._assignments(node)
            return
        self.line = line
        name = argv[0]
        self.pipe_status = ()
        if name == "exec":
            self._exec(node, argv)
        elif node.assignments:
            self._with_assignments(node, argv)
        elif node.redirects:
            self._redirected(node.redirects, lambda: self.call(argv, line))
        else:
            self.call(argv, line)
        if self.status:
            self.check_errexit(line)

    def _words(self, node: Simple) -> list[str]:
        argv = expand.words(self, node.words, node.line)
        if all(word.static is not None and word.line == node.line for word in node.words):
            if len(_FIXED) > 100_000:
                _FIXED.clear()
            _FIXED[id(node)] = (node, tuple(argv))
        return argv

    def _assignments(self, node: Simple) -> None:
        before = self.substitutions
        for item in node.assignments:
            self.perform(item)
        if self.substitutions == before:
            self.status = 0

    def perform(self, item: Assignment, *, exported: bool | None = None) -> None:
        """One assignment of a statement. The status of its last substitution stays as the status."""
        site = self.site(item.line)
        name = item.name
        if item.array is not None:
            self._assign_array(item, site)
            return
        word = item.value
        if word is None:
            value = ""
        else:
            static = word.static
            value = static if static is not None else expand.text(self, word)
        if item.index is not None:
            self.assign_element(name, self.text_of(item.index), value, site, item.append)
            return
        if item.append:
            old = self.slot(name)
            if isinstance(old, Array):
                self.assign_element(name, "0", value, site, True)
                return
            before = self.lookup(name) or ""
            if name in self.integers:
                value = f"({before or 0})+({value})"
            else:
                value = before + value
            if len(value) > self.settings.bounds.text:
                raise Bound("a text grew too long", site)
        self.assign(name, value, site, exported=exported)

    def _assign_array(self, item: Assignment, site: Site) -> None:
        name = self.resolve(item.name)
        old = self.variables.get(name)
        associative = isinstance(old, Array) and old.associative
        items: dict[int | str, str] = {}
        unknown = False
        if item.append:
            if isinstance(old, Array):
                items = dict(old.items)
                unknown = old.open
            elif isinstance(old, Variable):
                items = {0: self.lookup(name) or ""}
        position = 1 + max((key for key in items if isinstance(key, int)), default=-1)
        assert item.array is not None
        for subscript, word in item.array:
            where = self.site(word.line)
            if subscript is not None:
                key: int | str | None = self.text_of(subscript) if associative else self._subscript(self.text_of(subscript))
                if key is None:
                    key = position
                items[key] = Located(self.text_of(word), where)
                position = key + 1 if isinstance(key, int) else position
            elif associative:
                for value in expand.words(self, (word,), -1):
                    items[value] = ""
            else:
                self.unsure = False
                values = expand.words(self, (word,), -1)
                unknown = unknown or self.unsure
                for value in values:
                    items[position] = value if isinstance(value, Located) else Located(value, where)
                    position += 1
        if not associative and any(subscript is not None for subscript, _ in item.array):
            items = dict(sorted(items.items(), key=lambda pair: pair[0] if isinstance(pair[0], int) else 0))
        self.variables[name] = Array(items, associative, site, open=unknown)
        self._export_cache = None
        self.mutations += 1

    def _with_assignments(self, node: Simple, argv: list[str]) -> None:
        names = [item.name for item in node.assignments]
        saved = {name: self.variables.get(name) for name in names}
        try:
            for item in node.assignments:
                self.perform(item, exported=True)
            self.line = node.line
            if node.redirects:
                self._redirected(node.redirects, lambda: self.call(argv, node.line))
            else:
                self.call(argv, node.line)
        finally:
            for name, old in saved.items():
                if old is None:
                    self.variables.pop(name, None)
                else:
                    self.variables[name] = old
            self._export_cache = None

    def _exec(self, node: Simple, argv: list[str]) -> None:
        if len(argv) == 1:
            fds = dict(self.fds)
            self.status = 0 if self.redirect(node.redirects, fds) else 1
            self.fds = fds
            return
        words = argv[1:]
        while words and words[0] in ("-a", "-c", "-l"):
            words = words[2:] if words[0] == "-a" else words[1:]

        def run() -> None:
            for item in node.assignments:
                self.perform(item, exported=True)
            self.external(words, self.site(node.line))

        self._redirected(node.redirects, run)
        raise Exit(self.status, self.site(node.line))

    def call(self, argv: list[str], line: int) -> None:
        """Runs a command by its words: function, builtin, command, script or unknown program."""
        name = argv[0]
        function = self.functions.get(name)
        if function is not None:
            self.call_function(function, argv, self.site(line))
            return
        builtin = self.context.builtins.get(name)
        if builtin is not None:
            self.status = builtin(self, argv, self.site(line))
            if self.status is None:
                self.why = self.why or f"status of {name}"
            return
        self.external(argv, self.site(line))

    def call_function(self, function: Definition, argv: Sequence[str], site: Site) -> None:
        if not all(map(is_known, argv)) and sum(call[0] == function.name for call in self.calls) > 1:
            self.assume(f"{function.name} calls itself no more", site)
            self.status = None
            self.why = f"status of {function.name}"
            return
        self._nest()
        positional, place, line = self.positional, self.place, self.line
        outer_unsure, self.unsure_positional = self.unsure_positional, self.unsure
        self.positional = list(argv[1:])
        self.frames.append({})
        self.calls.append((function.name, site, place.shown or self.name))
        self.place = function.place
        loops, self.loops = self.loops, 0
        error_trap = None if "E" in self.options else self.traps.pop("ERR", None)
        try:
            self.execute(function.body)
        except Return as end:
            self.status = end.status
        except (Break, Continue):
            pass
        finally:
            variables = self.variables
            for name, old in self.frames.pop().items():
                if old is None:
                    gone = variables.pop(name, None)
                else:
                    gone = variables.get(name)
                    variables[name] = old
                if gone is not old and (_in_environment(gone) or _in_environment(old)):
                    self._export_cache = None
            if error_trap is not None:
                self.traps.setdefault("ERR", error_trap)
            self.calls.pop()
            self.positional, self.place, self.line, self.loops = positional, place, line, loops
            self.unsure_positional = outer_unsure
            self.depth -= 1

    def external(self, argv: Sequence[str], site: Site) -> None:
        """A command that is neither function nor builtin."""
        outcome = self.outcome_of(argv, site)
        self.status = outcome.status
        if outcome.stderr:
            self.write(2, outcome.stderr)
        if outcome.stdout:
            lines = outcome.lines
            if lines is None:
                source = self.fds.get(0)
                if isinstance(source, Source) and source.lines is not None and source.text == outcome.stdout:
                    lines = source.lines  # a here-document that went through unchanged
            self.write(1, outcome.stdout, lines)

    def outcome_of(self, argv: Sequence[str], site: Site) -> Outcome:
        name = argv[0]
        base = name.rpartition("/")[2]
        if "/" in name and is_known(name):
            found = self._script_outcome(argv, site)
            if found is not None:
                return found
        if base in ("bash", "sh", "dash"):
            return self._bash(argv, site)
        command = self.context.commands.get(base)
        if command is None:
            return self._program(argv, site)
        source = self.fds.get(0)
        invocation = Invocation(tuple(argv), site, self, self.read_stdin, isinstance(source, Source), self.background)
        try:
            result = command(invocation)
        except (Control, Fork, Bound):
            raise
        except Exception as error:  # a command must not raise; if it does, its result is unknown and the trace says so
            self.limit(f"{base}: {type(error).__name__}", site)
            result = invocation.unknown()
        if not isinstance(result, Outcome):
            result = Outcome(result)
        if result.status is None:
            self.why = f"status of {' '.join(argv)}"[:300]
        if base == "sleep":
            self.slept += 1
        return result

    def _program(self, argv: Sequence[str], site: Site) -> Outcome:
        source = self.fds.get(0)
        text = source.text[source.position:] if isinstance(source, Source) else None
        self.emit(Exec(tuple(argv), self.environment(), self.cwd, site, self.background, text, True, self.inside, self._written(argv)))
        self.why = f"status of {' '.join(argv)}"[:300]
        return Outcome(None, self.hole(f"output of {argv[0].rpartition('/')[2]}", site))

    def _written(self, argv: Sequence[str]) -> dict[str, FileText]:
        """Texts of files that the words of an argv name and that the script wrote itself, by the name as given."""
        found: dict[str, FileText] = {}
        for word in argv[1:]:
            name = word.partition("=")[2] if word.startswith("-") else word
            if "." not in name or len(name) > 300:  # a configuration file has an ending
                continue
            path = self.absolute(name)
            if self.files.kind(path) == "file" and self.files.written(path) and (content := self.files.read_text(path)) is not None:
                found[name] = content
        return found

    def missing(self, name: str, program: str, site: Site) -> None:
        """Record that ``program`` needs a file that is known not to exist."""
        path = self.files.real(self.absolute(name))
        self.emit(Missing(path.removeprefix(self.settings.workspace + "/"), name, program, site))

    def _script_outcome(self, argv: Sequence[str], site: Site) -> Outcome | None:
        path = self.absolute(argv[0])
        kind = self.files.kind(path)
        if kind == "file":
            content = self.files.read_text(path)
            if content is None:
                return None
            head = content.text[:100].split("\n", 1)[0]
            if (head.startswith("#!") and "sh" in head.rpartition("/")[2]) or (not head.startswith("#!") and path.endswith(".sh")):
                return self.run_script(path, argv[1:], site, shown=argv[0])
            return None
        if kind == "missing" and argv[0].rpartition("/")[2] not in self.context.commands:
            self.missing(argv[0], "bash", site)
            return Outcome(127, "", f"{argv[0]}: No such file or directory\n")
        return None

    def _bash(self, argv: Sequence[str], site: Site) -> Outcome:
        words = list(argv[1:])
        options: set[str] = set()
        text: str | None = None
        command = reading = False
        while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
            word = words.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                if word in ("--rcfile", "--init-file") and words:
                    words.pop(0)
                continue
            for letter in word[1:]:
                if letter == "s":
                    reading = True
                elif letter == "c":
                    command = True
                elif letter == "o" and words:
                    options.add(words.pop(0))
                elif letter in "euxfna":
                    options.add(letter)
        if command:
            if not words:
                return Outcome(2)
            text = words.pop(0)
            name = words.pop(0) if words else argv[0]
            if not is_known(text) and self.alternatives(text) is None and HOLE.sub("", text).strip() == "":
                return self._program(argv, site)
            return self.run_text(text, site, arguments=words, name=name, options=options)
        if words and not reading:
            path = self.absolute(words[0])
            if self.files.kind(path) == "missing":
                self.missing(words[0], argv[0], site)
                return Outcome(127, "", f"{words[0]}: No such file or directory\n")
            if self.files.read_text(path) is None:
                return self._program(argv, site)
            return self.run_script(path, words[1:], site, options=options, shown=words[0], argv=argv)
        source = self.fds.get(0)
        if isinstance(source, Source) and is_known(source.text):
            return self.run_text(source.rest(), site, arguments=words, options=options)
        return self._program(argv, site)

    def run_text(self, text: str, site: Site, *, arguments: Sequence[str] = (), stdin: str | None = None, name: str = "bash",
                 options: _Names | None = None) -> Outcome:
        place = Place(site.path, 0, site, (), "")
        return self._child(self.context.parse(text, site.path), place, name, arguments, stdin, None, options)

    def run_script(self, path: str, arguments: Sequence[str], site: Site, *, stdin: str | None = None,
                   environment: Mapping[str, str] | None = None, options: _Names | None = None, shown: str | None = None,
                   argv: Sequence[str] | None = None) -> Outcome:
        content = self.files.read_text(path)
        if content is None:
            return Outcome(127 if self.files.kind(path) == "missing" else None, "", f"{path}: No such file or directory\n")
        where = self.files.origin(path) or path
        if self.scripts and not self.inside:
            self.emit(Enter(where, tuple(argv or ("bash", path, *arguments)), "bash", None, (), self.environment(), site))
        script = self.context.parse(content.text, where)
        place = place_of(script, where, shown or path)
        self.scripts += 1
        aside, self.aside = self.aside, self.aside or bool(self.inside)  # only its files and effects can matter to who called it
        try:
            return self._child(script, place, shown or path, arguments, stdin, environment, options)
        finally:
            self.scripts -= 1
            self.aside = aside

    def _child(self, script: Script, place: Place, name: str, arguments: Sequence[str], stdin: str | None,
               environment: Mapping[str, str] | None, options: _Names | None) -> Outcome:
        """A child shell: exported variables only."""
        self._nest()
        self._problems(script, place)

        def run() -> None:
            self.variables = {item: found for item, found in self.variables.items() if type(found) is Variable and found.exported}
            for item, value in (environment or {}).items():
                self.assign(item, value, self.site_now, exported=True, record=False)
            self._export_cache = None if environment else self._export_cache
            self.functions = {}
            self.frames = []
            self.calls = []
            self.positional = list(arguments)
            self.unsure_positional = self.unsure
            self.name = name
            self.options = set(options or ())
            self.directories = []
            self.integers = self.readonly = frozenset()
            self.ignoring = 0
            self.loops = 0
            self.place = place
            self.last_pid = ""
            if stdin is not None:
                self.fds = {**self.fds, 0: Source(stdin)}
            self.status = 0
            self.block(script.body)

        self.subshell(run)
        self.depth -= 1
        return Outcome(self.status)

    def _problems(self, script: Script, place: Place) -> None:
        for problem in script.problems[:5]:
            site = place.fixed or Site(place.path, problem.span.line + place.offset)
            self.effects.append(Limit(problem.message, site))

    def run(self, argv: Sequence[str], site: Site, *, stdin: str | None = None, environment: Mapping[str, str | None] | None = None,
            background: bool = False, cwd: str | None = None) -> Outcome:
        """See ``protocol.Shell.run``."""
        if not argv:
            return Outcome(0)
        self._nest()
        self.tick(site.line)
        out, err = Buffer(), Buffer()
        result: list[Outcome] = []

        def body() -> None:
            self.fds = {**self.fds, 1: out, 2: err}
            if stdin is not None:
                self.fds[0] = Source(stdin)
            if cwd is not None:
                self.cwd = cwd
            self.background = self.background or background
            for name, value in (environment or {}).items():
                if value is None:
                    self.unset(name)
                else:
                    self.assign(name, value, site, exported=True, record=False)
            simple = self.context.builtins.get(argv[0])
            if simple is not None and argv[0] in _PURE_BUILTINS:
                result.append(Outcome(simple(self, list(argv), site)))
            else:
                result.append(self.outcome_of(list(argv), site))

        self.subshell(body)
        self.depth -= 1
        outcome = result[0] if result else Outcome(self.status)
        return Outcome(outcome.status, out.text() + outcome.stdout, err.text() + outcome.stderr, None if out.chunks else outcome.lines)

    def enter(self, path: str, argv: Sequence[str], site: Site, *, by: str, image: str | None = None, mounts: Sequence[tuple[str,
        str]] = (),
              environment: Mapping[str, str] | None = None, only: bool = False, cwd: str | None = None,
                  background: bool = False) -> Outcome:
        """See ``protocol.Shell.enter``."""
        outcome: list[Outcome] = []
        before = len(self.effects)
        background = background or self.background
        outermost = not self.inside

        def body() -> None:
            here = self.environment()
            if only:
                self.variables = {}
                self.detached = True
            self._export_cache = None
            for name, value in (environment or {}).items():
                outer = here.get(name)
                if outer is not None and outer.value == value:
                    self.variables[name] = outer
                else:
                    self.assign(name, value, site, exported=True, record=False)
            if by == "srun":
                self._scheduler_variables(site)
            workdir = self.absolute(cwd) if cwd else self.cwd
            workspace = self.settings.workspace
            for host, container in mounts:
                if not host.startswith("/") or not container.startswith("/"):
                    continue
                host, container = self.absolute(host), self.absolute(container)
                known = self.files.kind(host) == "dir"
                if not known and container == workdir:
                    host = workspace  # the workspace was carried to the node by a way that is not followed
                if host != container and (known or host == workspace):
                    self.files.alias(container, host)
            if cwd and self.files.kind(workdir) == "unknown" and self.files.kind(workspace) == "dir":

                self.files.alias(workdir, workspace)
            self.cwd = workdir
            self.inside = (*self.inside, by)
            self.background = False
            target = self.absolute(path)
            where = self.files.origin(target) or path
            pairs = tuple(f"{host}:{container}" for host, container in mounts)
            self.emit(Enter(where, tuple(argv), by, image, pairs, self.environment(), site))
            if outermost and not background and self.arms and self.context.stop == "submit":
                raise Entered(site)  # the path is decided: what the script does is seen to when the path is taken
            content = self.files.read_text(target)
            if content is None and self.files.kind(target) == "missing":
                self.missing(path, by, site)
                outcome.append(Outcome(127, "", f"{path}: No such file or directory\n"))
                return
            if content is None:
                outcome.append(Outcome(None, self.hole(f"output of {where}", site)))
                return
            script = self.context.parse(content.text, where)
            place = place_of(script, where, path)
            self.scripts += 1
            outcome.append(self._child(script, place, path, self._script_arguments(path, argv), None, None, None))

        aside, self.aside = self.aside, self.aside or background
        try:
            self.subshell(body)
        finally:
            self.aside = aside
        result = outcome[0] if outcome else Outcome(self.status)
        if outermost and not background and self.context.stop == "submit":
            started = any(isinstance(effect, Exec) and effect.background for effect in self.effects[before:])
            refused = bool(result.status) and not started
            gone = isinstance(self.effects[-1], Missing)
            if gone:
                self.exit_message = result.stderr.strip()
            raise Stop("refused" if refused else "script", (site if gone else self.exit_site or site) if refused else site, result.status)
        return result

    @staticmethod
    def _script_arguments(path: str, argv: Sequence[str]) -> Sequence[str]:
        words = list(argv)
        return words[words.index(path) + 1:] if path in words else ()

    def _scheduler_variables(self, site: Site) -> None:
        for name in _SCHEDULER_NAMES:
            if name not in self.variables:
                self.variables[name] = Variable(self.hole(f"${name}", site, nonempty=True, numeric=True), True, site)
        for name in _SCHEDULER_TEXTS:
            if name not in self.variables:
                self.variables[name] = Variable(self.hole(f"${name}", site, nonempty=True), True, site)

    def run_here(self, text: str, site: Site) -> None:
        """``eval``, traps: a text in this very shell."""
        script = self.context.parse(text, site.path)
        place, line = self.place, self.line
        self._nest()
        self.place = Place(site.path, 0, site, (), place.shown)
        try:
            self._problems(script, self.place)
            self.block(script.body)
        finally:
            self.place, self.line = place, line
            self.depth -= 1

    def source_file(self, path: str, arguments: Sequence[str], site: Site) -> int | None:
        """``source``."""
        target = self.absolute(path)
        content = self.files.read_text(target)
        if content is None:
            if self.files.kind(target) == "missing" and not path.endswith(("activate", "/env")):
                self.complain(f"{path}: No such file or directory")
                return 1
            self.assume(f"source {path} changes nothing", site)
            return 0
        where = self.files.origin(target) or target
        script = self.context.parse(content.text, where)
        self._nest()
        place, line, positional = self.place, self.line, self.positional
        self.calls.append(("source", site, place.shown or self.name))
        self.place = place_of(script, where, path)
        if arguments:
            self.positional = list(arguments)
        if not script.body:
            self.status = 0
        try:
            self._problems(script, self.place)
            self.block(script.body)
        except Return as end:
            self.status = end.status
        finally:
            self.calls.pop()
            self.place, self.line = place, line
            if arguments:
                self.positional = positional
            self.depth -= 1
        return self.status

    def _declaration(self, node: Declaration) -> None:
        self.tick(node.line)
        self.line = node.line
        declare = self.context.declare
        if node.redirects:
            self._redirected(node.redirects, lambda: declare(self, node))
        else:
            declare(self, node)
        if self.status:
            self.check_errexit(node.line)

    def _test(self, node: TestCommand) -> None:
        self.tick(node.line)
        self.line = node.line
        answer = conditions.evaluate(self, node.expression)
        self.status = None if answer is None else 0 if answer else 1
        if self.status:
            self.check_errexit(node.line)

    def _arithmetic(self, node: ArithCommand) -> None:
        self.tick(node.line)
        self.line = node.line
        try:
            result = arithmetic.value(self, node.expression, node.line)
        except arithmetic.ShellArithmeticError as error:
            self.fail(str(error), node.line)
            result = 0
        self.status = None if result is None else 0 if result else 1
        if result is None:
            self.why = f"(( )) in line {node.line}"
        self.check_errexit(node.line)

    def _pipeline(self, node: Pipeline) -> None:
        parts = node.parts
        if node.negated:
            self.ignoring += 1
        try:
            if len(parts) == 1:
                self.execute(parts[0])
            else:
                self._pipe(node)
        finally:
            if node.negated:
                self.ignoring -= 1
        if node.negated:
            self.status = None if self.status is None else int(self.status == 0)
        elif len(parts) > 1:
            self.check_errexit(node.line)

    def _pipe(self, node: Pipeline) -> None:
        statuses: list[int | None] = []
        buffer: Buffer | None = None
        last = len(node.parts) - 1
        reasons: list[str] = []
        for number, part in enumerate(node.parts):
            previous, buffer = buffer, Buffer()
            sink = buffer

            def run(part: Statement = part, previous: Buffer | None = previous, sink: Buffer = sink, number: int = number) -> None:
                fds = dict(self.fds)
                if previous is not None:
                    fds[0] = Source(previous.text(), previous.lines)
                if number != last:
                    fds[1] = sink
                    if node.both and number < len(node.both) and node.both[number]:
                        fds[2] = sink
                self.fds = fds
                self.execute(part)

            if number == last and "lastpipe" in self.options:
                fds = self.fds
                try:
                    run()
                finally:
                    self.fds = fds
            else:
                self.subshell(run)
            statuses.append(self.status)
            reasons.append(self.why)
        self.pipe_status = tuple(statuses)
        status = statuses[-1]
        if "pipefail" in self.options:
            bad = [item for item in statuses if item]
            if bad:
                status = next(item for item in reversed(statuses) if item)
            elif None in statuses:
                status = None
        self.status = status

    def _and_or(self, node: AndOr) -> None:
        self.ignoring += 1
        try:
            self.execute(node.first)
        finally:
            self.ignoring -= 1
        self._and_or_from(node, 0)

    def _and_or_from(self, node: AndOr, start: int) -> None:
        """The rest of a list, behind the status of what stands before ``start``."""
        rest = node.rest
        last = len(rest) - 1
        for number in range(start, len(rest)):
            op, statement = rest[number]
            status = self.status
            if status is None:
                if self._maybe(node, op, statement, number):
                    return
                continue
            if (status == 0) != (op == "&&"):
                continue
            if number == last:
                self.execute(statement)
            else:
                self.execute_ignored(statement)

    def _maybe(self, node: AndOr, op: str, statement: Statement, number: int) -> bool:
        """The right side of ``&&`` or ``||`` behind an unknown status; true where the whole rest of the list was seen to."""
        why = self.why
        skipped = 1 if op == "&&" else 0
        line: int = statement.line
        if refuses((statement,)):
            self.assume(f"{self.written(line)}: taken as {'failed' if op == '&&' else 'done'}", self.site(line))
            self.status = skipped
            return False
        if type(statement) is TestCommand:
            self.execute_ignored(statement)
            if self.status is not None:
                self.status = self.status if bool(self.status) == bool(skipped) else None
            self.why = why
            return False

        def run() -> None:
            self.execute_ignored(statement)
            self._and_or_from(node, number + 1)

        def skip() -> None:
            self.status = skipped
            self._and_or_from(node, number + 1)

        self.decide(line, why, run, skip)
        self.why = why
        return True

    def execute_ignored(self, statement: Statement) -> None:
        self.ignoring += 1
        try:
            self.execute(statement)
        finally:
            self.ignoring -= 1

    def _background(self, node: Background) -> None:
        self.tick(node.line)
        saved = self.background

        def run() -> None:
            self.background = True
            self.fds = {**self.fds, 0: NULL} if not isinstance(self.fds.get(0), Source) else self.fds
            self.execute(node.statement)

        self.subshell(run)
        self.background = saved
        self.line = node.line
        self.last_pid = self.hole("process id", self.site(node.line), nonempty=True, numeric=True,
            witness=self.settings.witnesses.get("pid"))
        self.status = 0

    def _if(self, node: If) -> None:
        if node.redirects:
            self._redirected(node.redirects, lambda: self._if_from(node, 0))
        else:
            self._if_from(node, 0)

    def _if_from(self, node: If, start: int) -> None:
        arms = node.arms
        for number in range(start, len(arms)):
            condition, body = arms[number]
            status = self.condition(condition)
            if status == 0:
                self.status = 0
                self.block(body)
                return
            if status is None:
                line: int = condition[0].line if condition else node.line
                last = number + 1 == len(arms)

                def then(body: Block = body) -> None:
                    self.status = 0
                    self.block(body)

                def other(following: int = number + 1) -> None:
                    self._if_from(node, following)

                self.decide(line, self.why, then, other, refuses(body), last and node.otherwise is not None and refuses(node.otherwise))
                return
        if node.otherwise is not None:
            self.block(node.otherwise)
        else:
            self.status = 0

    def _for(self, node: For) -> None:
        if node.redirects:
            self._redirected(node.redirects, lambda: self._for_words(node))
        else:
            self._for_words(node)

    def _for_words(self, node: For) -> None:
        self.line = node.line
        self.unsure = node.words is None and self.unsure_positional
        values = list(self.positional) if node.words is None else expand.words(self, node.words, node.line)
        unsure = self.unsure
        if not values:
            self.status = 0
        site = self.site(node.line)
        self.loops += 1
        polling, self.polling = self.polling, sleeps(node.body)
        try:
            for value in values:
                self.tick(node.line)
                self.assign(node.name, value, site)
                try:
                    self.block(node.body)
                except Break as end:
                    if end.levels > 1 and self.loops > 1:
                        raise Break(end.levels - 1) from None
                    break
                except Continue as end:
                    if end.levels > 1 and self.loops > 1:
                        raise Continue(end.levels - 1) from None
                if unsure and self.may_split(value):
                    self._once_more(node.body, node.line)
        finally:
            self.loops -= 1
            self.polling = polling

    def _once_more(self, body: Block, line: int) -> None:
        """After a round of a loop that may run any number of times: what another round would change is unknown behind the loop."""
        start = len(self.effects)
        before, marks, unsure_reads = self._freeze(), self._marks(), self.unsure_reads
        self.arms += 1
        try:
            self.block(body)
        except (Control, Fork, Bound):
            pass  # what it did until then counts
        finally:
            self.arms -= 1
        variables, positional, files = self.variables, self.positional, self.files.snapshot()
        printed = [(sink, chunks, "".join(sink.chunks[len(chunks):])) for sink, chunks in before.buffers]
        texts = {path: self._read_quietly(path) for path in self.files.changed(before.files, files) or ()}
        self._thaw(before)
        self._set_marks(marks)
        self.unsure_reads = unsure_reads
        del self.effects[start:]
        for name, slot in variables.items():
            here = self.variables.get(name)
            if slot is not here and here is not None:
                self._vary(name, here, slot, line)
        if positional != self.positional:
            self.positional, self.unsure_positional = [self.hole("arguments", self.site(line))], True
        for path, text in texts.items():
            if self._without_identity(text or "") != self._without_identity(self._read_quietly(path) or ""):
                self.files.write(path, None)
        for sink, _, text in printed:
            if HOLE.sub("", text).strip():
                sink.write(self.hole("output of further rounds", self.site(line)), None)

    def _read_quietly(self, path: str) -> str | None:
        content = self.files.read_text(path) if self.files.written(path) else None
        return content.text if content is not None else None

    def _vary(self, name: str, here: Slot, other: Slot, line: int) -> None:
        """Makes a variable unknown that another round of a loop would change."""
        if isinstance(here, Array) and isinstance(other, Array):
            if here.items != other.items and len(here.items) != len(other.items):
                self.variables[name] = replace(here, open=True)
            return
        if not isinstance(here, Variable) or not isinstance(other, Variable):
            return
        if self._without_identity(here.value) == self._without_identity(other.value):
            return
        numeric = all(re.fullmatch("-?[0-9]+", value) for value in (here.value, other.value))
        nonempty = all(conditions.is_empty(self, value) is False for value in (here.value, other.value))
        value = self.hole(f"value of {name}", self.site(line), nonempty=nonempty, numeric=numeric)
        self.variables[name] = replace(here, value=value)
        self._export_cache = None
        self.mutations += 1

    def _arith_for(self, node: ArithFor) -> None:
        def number(expression: Any) -> int | None:
            if expression is None:
                return 1
            try:
                return arithmetic.value(self, expression, node.line)
            except arithmetic.ShellArithmeticError as error:
                self.fail(str(error), node.line)
                return 0

        def run() -> None:
            number(node.start)
            self._loop(node.line, lambda: _from_number(number(node.condition)), node.body, lambda: number(node.step), False)

        if node.redirects:
            self._redirected(node.redirects, run)
        else:
            run()

    def _while(self, node: While) -> None:
        constant = len(node.condition) == 1 and isinstance(node.condition[0], Simple) and len(node.condition[0].words) == 1 \
            and node.condition[0].words[0].static in ("true", ":")

        def test() -> int | None:
            status = self.condition(node.condition)
            return None if status is None else status if not node.until else int(status == 0)

        def run() -> None:
            self._loop(node.line, test, node.body, None, constant)

        if node.redirects:
            self._redirected(node.redirects, run)
        else:
            run()

    def _loop(self, line: int, test: Callable[[], int | None], body: Block, step: Callable[[], object] | None, constant: bool) -> None:
        self.loops += 1
        polling_outside, self.polling = self.polling, sleeps(body)
        iterations = 0
        status: int | None = 0
        try:
            while True:
                self.tick(line)
                mutations, effects, slept = self.mutations, len(self.effects), self.slept
                unsure_reads = self.unsure_reads
                files = self.files.snapshot()
                answer = test()
                if answer is None:
                    if self.serving == 1:
                        self.serving = 2
                    self.assume(f"{self.written(line)}: the loop ends here", self.site(line))
                    break
                if answer:
                    break
                iterations += 1
                try:
                    self.status = 0
                    self.block(body)
                except Break as end:
                    if end.levels > 1 and self.loops > 1:
                        raise Break(end.levels - 1) from None
                    status = 0
                    break
                except Continue as end:
                    if end.levels > 1 and self.loops > 1:
                        raise Continue(end.levels - 1) from None
                status = self.status
                if step is not None:
                    step()
                polling = self.slept > slept
                if self.unsure_reads > unsure_reads:
                    self._once_more(body, line)
                if self.mutations == mutations and self.files.changed(files, self.files.snapshot()) == frozenset():
                    del self.effects[effects:]
                    self.assume(f"{self.written(line)}: the loop ends some day", self.site(line))
                    break
                if polling and iterations >= self.settings.bounds.iterations:
                    self.assume(f"{self.written(line)}: the loop ends after {iterations} rounds", self.site(line))
                    break
                if iterations >= self.settings.bounds.iterations * 40:
                    self.limit(f"more than {iterations} iterations", self.site(line))
                    break
        finally:
            self.loops -= 1
            self.polling = polling_outside
        self.status = status

    def _case(self, node: Case) -> None:
        self.line = node.line
        subject = self.text_of(node.subject)
        if node.redirects:
            self._redirected(node.redirects, lambda: self._case_from(node, subject, 0))
        else:
            self._case_from(node, subject, 0)

    def _case_from(self, node: Case, subject: str, start: int) -> None:
        number = start
        arms = node.arms
        if not start and len(arms) > 2 and is_known(subject):
            table, others = _plain_arms(node)
            number = table.get(subject, others)
        matched = False
        while number < len(arms):
            arm = arms[number]
            answer = self._any_pattern(subject, arm.patterns)
            if answer is None and self.alternatives(subject) is not None:
                patterns = arm.patterns
                answer = self.every(subject, lambda text, patterns=patterns: self._any_pattern(text, patterns))  # type: ignore[misc]
            if answer is None:
                body, following = arm.body, number + 1

                def then(body: Block = body) -> None:
                    self.block(body)

                def other(following: int = following) -> None:
                    self._case_from(node, subject, following)

                self.decide(arm.line, f"case {subject} in {arm.patterns[0].text}", then, other, refuses(body), False)
                return
            if answer:
                if not arm.body:
                    self.status = 0
                self.block(arm.body)
                while arm.end == ";&" and number + 1 < len(arms):
                    number += 1
                    arm = arms[number]
                    self.block(arm.body)
                matched = True
                if arm.end != ";;&":
                    return
            number += 1
        if not matched:
            self.status = 0

    def _any_pattern(self, subject: str, patterns: Sequence[Word]) -> bool | None:
        answer: bool | None = False
        known = is_known(subject)
        for pattern in patterns:
            static = pattern.static
            if static is not None and _plain_pattern(static):
                one = True if subject == static else False if known else conditions.equal(self, subject, static)
            else:
                one = conditions.like(self, subject, self.pattern_of(pattern))
            if one:
                return True
            if one is None:
                answer = None
        return answer

    def _group(self, node: Group) -> None:
        if node.redirects:
            self._redirected(node.redirects, lambda: self.block(node.body))
        else:
            self.block(node.body)

    def _subshell(self, node: Subshell) -> None:
        self.tick(node.line)
        self._nest()

        def run() -> None:
            self.subshell(lambda: self.block(node.body))

        if node.redirects:
            self._redirected(node.redirects, run)
        else:
            run()
        self.depth -= 1
        self.line = node.line
        self.check_errexit(node.line)

    def _function(self, node: Function) -> None:
        found = _DEFINITIONS.get(id(node))
        if found is None or found[0] is not node or found[1].place is not self.place:
            if len(_DEFINITIONS) > 50_000:
                _DEFINITIONS.clear()
            found = _DEFINITIONS[id(node)] = (node, Definition(node.name, node.body, self.place))
        self.functions[node.name] = found[1]
        self.status = 0

    def _broken(self, node: Broken) -> None:
        self.limit(f"not understood: {node.text.strip()[:100]}", self.site(node.line))
        self.status = None
        self.why = f"line {node.line}"

    # --- decisions -------------------------------------------------------------------------------------------------------

    def decide(self, line: int, why: str, then: Callable[[], None], other: Callable[[], None], then_refuses: bool = False,
               other_refuses: bool = False) -> None:
        """Goes on behind a condition that nobody can know: by the guard rule, by joining both arms, or by forking."""
        site = self.site(line)
        question = (site, self._without_identity(why), len(self.calls))
        chosen = self.decisions.get(question)
        if chosen is not None:
            self.assume(f"{why or self.written(line)}: taken for {'true' if chosen == 0 else 'false'}", site)
            (then, other)[chosen]()
            return
        if then_refuses != other_refuses:
            self.assume(f"{self.written(line)}: taken for {'false' if then_refuses else 'true'}", site)
            (other if then_refuses else then)()
            return
        if self.arms > 12:
            raise Fork(question, 2)
        start = len(self.effects)
        before = self._freeze()
        marks = self._marks()
        self.arms += 1
        try:
            first_end = self._arm(then)
            first = self._freeze()
            first_effects = self.effects[start:]
            del self.effects[start:]
            self._thaw(before)
            second_marks = self._marks()
            second_end = self._arm(other)
        finally:
            self.arms -= 1
        text = self.written(line)
        if _is_refusal(first_end) and not _is_refusal(second_end):
            if type(second_end) is Entered:
                self._again(start, before, second_marks, Assume(f"{text}: taken for false", site), other)
                return
            self.effects.insert(start, Assume(f"{text}: taken for false", site))
            if second_end is not None:
                raise second_end
            return
        second_effects = self.effects[start:]
        if _is_refusal(second_end) and not _is_refusal(first_end):
            if type(first_end) is Entered:
                self._again(start, before, marks, Assume(f"{text}: taken for true", site), then)
                return
            self._take(start, first, first_effects, Assume(f"{text}: taken for true", site), first_end)
            return
        if self.loops and _ends_poll(first_end) and second_end is None and (self.polling or first.mutations == before.mutations):
            if self.serving == 1:
                self.serving = 2
            self._take(start, first, first_effects, Assume(f"{text}: true some day", site), first_end)
            return
        if self.loops and _ends_poll(second_end) and first_end is None and (self.polling or self.mutations == first.mutations):
            self.effects.insert(start, Assume(f"{text}: false some day", site))
            assert second_end is not None
            raise second_end
        same = first_end is second_end is None or (first_end is not None and second_end is not None and first_end.same(second_end))
        weighty = any(isinstance(effect, (Submit, Enter)) for effect in (*first_effects, *second_effects))
        if not same or weighty or not self._join(before, first, line, why):
            if not weighty and (self.cleaning or self.aside or (self.inside and self.serving == 3)):
                # one way is enough behind the measurement, and in a process beside the script
                if (second_end is not None and first_end is None) or isinstance(first_end, Break):
                    self._take(start, first, first_effects, Assume(f"{text}: taken for true", site), first_end)
                    return
                self.effects.insert(start, Assume(f"{text}: taken for false", site))
                if second_end is not None:
                    raise second_end
                return
            raise Fork(question, 2)
        self.effects[start:] = [_uncertain(effect) for effect in (*first_effects, *second_effects)]
        if first_end is not None:
            raise first_end

    def _without_identity(self, text: str) -> str:
        """``text`` with holes named: the same question about another hole of the same kind (the next round of a poll) has the same
        answer."""
        return text if is_known(text) else HOLE.sub(lambda found: f"<{self.holes.of(found.group()).label}>", text)

    def _take(self, start: int, state: _Frozen, effects: list[Effect], assumption: Assume, end: Control | None) -> None:
        self._thaw(state)
        self.effects[start:] = [assumption, *effects]
        if end is not None:
            raise end

    def _marks(self) -> tuple[Any, ...]:
        """What an arm changes beside the state proper, to run it once more exactly as before."""
        return (
            self._counts.copy(), self.serving, self.slept, self.why, self.last_output, self.pipe_status, self.exit_site,
            self.exit_message, self._temporaries,
        )

    def _again(self, start: int, before: _Frozen, marks: tuple[Any, ...], assumption: Assume, run: Callable[[], None]) -> None:
        """Runs an arm that was left where it entered a script, to its end."""
        self._thaw(before)
        self._set_marks(marks)
        self.effects[start:] = [assumption]
        run()

    def _set_marks(self, marks: tuple[Any, ...]) -> None:
        (self._counts, self.serving, self.slept, self.why, self.last_output, self.pipe_status, self.exit_site, self.exit_message,
         self._temporaries) = marks

    def _arm(self, run: Callable[[], None]) -> Control | None:
        try:
            run()
        except Control as end:
            return end
        return None

    def _join(self, before: _Frozen, first: _Frozen, line: int, why: str) -> bool:
        """Makes the present state (of the second arm) one that covers the first arm too; false where that cannot be done."""
        state = first.state
        old: dict[str, Slot] = state[0]
        # functions, calls, positional parameters, name, working directory, options, traps, directory stack
        here = self._state()
        for number in (1, 3, 4, 5, 6, 7, 10, 11, 12):
            if state[number] != here[number]:
                return False
        self.unsure_positional = self.unsure_positional or state[-1]
        for signal, text in state[8].items():
            if self.traps.setdefault(signal, text) != text:
                return False
        if [frame.keys() for frame in state[2]] != [frame.keys() for frame in self.frames]:
            for mine, theirs in zip(self.frames, state[2], strict=False):
                for name, value in theirs.items():
                    mine.setdefault(name, value)
        if not self._join_files(first.files):
            return False
        initial: dict[str, Slot] = before.state[0]
        present = self.variables
        differing: list[str] = []
        if present != old:
            differing = [name for (name, slot), was in zip(present.items(), map(old.get, present), strict=True) if was is not slot]
            differing.extend(name for name in old if name not in present)
        for name in differing:
            one, two = old.get(name), present.get(name)
            joined = self._join_slots(name, one, two, initial.get(name), line)
            if joined is None:
                return False
            present[name] = joined
        if differing:
            self._export_cache = None
        self._join_buffers(first, line)
        for source, position in first.sources:
            source.position = max(source.position, position)
        self.status = _combine(first.status, self.status)
        self.why = why
        self.mutations += 1
        return True

    def _join_slots(self, name: str, one: Slot | None, two: Slot | None, before: Slot | None, line: int) -> Slot | None:
        if isinstance(one, Array) or isinstance(two, Array):
            if not (isinstance(one, Array) and isinstance(two,
                Array)) or one.associative != two.associative or list(one.items) != list(two.items):
                return None
            items = {key: value if value == two.items[key] else Located(self.one_of([value, two.items[key]], name, line), _site_of(value,
                two.site))
                     for key, value in one.items.items()}
            return Array(items, one.associative, two.site, open=one.open or two.open)
        if isinstance(one, Reference) or isinstance(two, Reference):
            return two if one == two else None
        for item in (one, two):
            if item is not None and item.site is None:
                self.note_read(name)
        exported = bool((one and one.exported) or (two and two.exported))
        if one is not None and two is not None and one.value == two.value:
            return two if two.exported == exported else one
        value = self.one_of([one.value if one else "", two.value if two else ""], name, line)
        changed = two if two is not None and two is not before else one
        over = before if isinstance(before, Variable) else None
        return Variable(value, exported, changed.site if changed and changed.site else self.site(line), over,
            0 if over is None else over.depth + 1)

    def _join_files(self, first: object) -> bool:
        second = self.files.snapshot()
        changed = self.files.changed(first, second)
        if changed is None or len(changed) > 2000:
            return False
        if not changed:
            return True
        forget: list[str] = []
        for path in changed:
            self.files.restore(first)
            one_kind, one, origin = self.files.kind(path), self.files.read_text(path), self.files.origin(path)
            self.files.restore(second)
            two_kind, two = self.files.kind(path), self.files.read_text(path)
            if one_kind == two_kind and (one.text if one else None) == (two.text if two else None):
                continue
            if origin is not None or self.files.origin(path) is not None:
                return False
            if (one is not None and one.text) and (two is not None and two.text):
                return False
            forget.append(path)
        for path in forget:
            self.files.forget(path)
        return True

    def _join_buffers(self, first: _Frozen, line: int) -> None:
        for sink, chunks in first.buffers:
            if chunks == sink.chunks:
                continue
            common = 0
            for one, two in zip(chunks, sink.chunks, strict=False):
                if one is not two and one != two:
                    break
                common += 1
            texts = ["".join(chunks[common:]), "".join(sink.chunks[common:])]
            if texts[0] != texts[1]:
                sink.chunks[common:] = [self.one_of(texts, "output", line)]
                sink.lines = None


@lru_cache(maxsize=4096)
def _plain_pattern(text: str) -> bool:
    return not any(char in "*?[\\+@!" for char in text)


def _in_environment(slot: Slot | None) -> bool:
    """Whether a variable shows in the environment; an initial one does even where it was hidden, since it can come back."""
    return type(slot) is Variable and (slot.exported or slot.site is None)


def _site_of(value: str, site: Site | None) -> Site:
    return getattr(value, "site", None) or site or Site("", 1)


def _combine(one: int | None, two: int | None) -> int | None:
    """The status behind two arms."""
    if one is None or two is None:
        return None
    if one == two:
        return one
    return 1 if one and two else None


def _from_number(value: int | None) -> int | None:
    return None if value is None else 0 if value else 1


def _is_refusal(end: Control | None) -> bool:
    return isinstance(end, (Exit, Return)) and bool(end.status)


def _ends_poll(end: Control | None) -> bool:
    return isinstance(end, Break) or (isinstance(end, Return) and end.status == 0)


def _uncertain(effect: Effect) -> Effect:
    return replace(effect, certain=False) if effect.certain else effect


_FIXED: dict[int, tuple[Simple, tuple[str, ...]]] = {}  # the arguments of commands in which nothing has to be expanded


_DEFINITIONS: dict[int, tuple[Function, Definition]] = {}
_PLACES: dict[tuple[int, str, int, str], tuple[Script, Place]] = {}


def place_of(script: Script, path: str, shown: str, offset: int = 0) -> Place:
    """The place of a script's text; the same object for the same script, whose sites all traces share."""
    key = (id(script), path, offset, shown)
    found = _PLACES.get(key)
    if found is not None and found[0] is script:
        return found[1]
    if len(_PLACES) > 5_000:
        _PLACES.clear()
    place = Place(path, offset, None, tuple(script.text.split("\n")) if len(script.text) < 500_000 else (), shown)
    _PLACES[key] = (script, place)
    return place


_REFUSALS: dict[int, tuple[object, bool]] = {}


def refuses(body: Block) -> bool:
    """Whether a block does nothing but give up: its last statement ends the script or the function with a status that is not 0."""
    if not body:
        return False
    last = body[-1]
    key = id(last)
    found = _REFUSALS.get(key)
    if found is not None and found[0] is last:
        return found[1]
    answer = _refuses(last)
    if len(_REFUSALS) > 50_000:
        _REFUSALS.clear()
    _REFUSALS[key] = (last, answer)
    return answer


_TABLES: dict[int, tuple[Case, dict[str, int], int]] = {}


def _plain_arms(node: Case) -> tuple[dict[str, int], int]:
    """The first arms of a ``case``, as long as their patterns are plain text: arm by text, and the number of the first other arm."""
    key = id(node)
    found = _TABLES.get(key)
    if found is not None and found[0] is node:
        return found[1], found[2]
    table: dict[str, int] = {}
    count = 0
    for arm in node.arms:
        texts = [pattern.static for pattern in arm.patterns]
        if arm.end != ";;" or any(text is None or not _plain_pattern(text) for text in texts):
            break
        for text in texts:
            table.setdefault(text or "", count)
        count += 1
    if len(_TABLES) > 50_000:
        _TABLES.clear()
    _TABLES[key] = (node, table, count)
    return table, count


_SLEEPS: dict[int, tuple[object, bool]] = {}


def sleeps(body: Block) -> bool:
    """Whether a loop body calls ``sleep`` somewhere."""
    if not body:
        return False
    key = id(body[0])
    found = _SLEEPS.get(key)
    if found is not None and found[0] is body[0]:
        return found[1]
    answer = any(_sleeps(statement, 0) for statement in body)
    if len(_SLEEPS) > 50_000:
        _SLEEPS.clear()
    _SLEEPS[key] = (body[0], answer)
    return answer


def _sleeps(node: Statement, depth: int) -> bool:
    if depth > 30:
        return False
    inner: list[Statement] = []
    if isinstance(node, Simple):
        return bool(node.words) and node.words[0].static == "sleep"
    if isinstance(node, AndOr):
        inner = [node.first, *(statement for _, statement in node.rest)]
    elif isinstance(node, Pipeline):
        inner = list(node.parts)
    elif isinstance(node, If):
        inner = [statement for _, body in node.arms for statement in body] + list(node.otherwise or ())
    elif isinstance(node, Case):
        inner = [statement for arm in node.arms for statement in arm.body]
    elif isinstance(node, (Group, Subshell)):
        inner = list(node.body)
    return any(_sleeps(statement, depth + 1) for statement in inner)


def _refuses(last: Statement) -> bool:
    if isinstance(last, Simple):
        words = last.words
        if len(words) == 2 and words[0].static in ("exit", "return") and words[1].static is not None:
            return words[1].static.isdigit() and int(words[1].static[:9]) % 256 != 0
        return len(words) == 1 and words[0].static == "false" and False
    if isinstance(last, (Group, Subshell)):
        return isinstance(last, Group) and refuses(last.body)
    if isinstance(last, If):
        return last.otherwise is not None and refuses(last.otherwise) and all(refuses(body) for _, body in last.arms)
    return False


_PURE_BUILTINS = frozenset(("echo", "printf", "true", "false", ":", "test", "[", "pwd", "kill", "type"))

_HANDLERS: dict[type, Callable[[Evaluator, Any], None]] = {
    Simple: Evaluator._simple, Declaration: Evaluator._declaration, TestCommand: Evaluator._test, ArithCommand: Evaluator._arithmetic,
    Pipeline: Evaluator._pipeline, AndOr: Evaluator._and_or, Background: Evaluator._background, If: Evaluator._if, For: Evaluator._for,
    ArithFor: Evaluator._arith_for, While: Evaluator._while, Case: Evaluator._case, Group: Evaluator._group, Subshell: Evaluator._subshell,
    Function: Evaluator._function, Broken: Evaluator._broken,
}
