"""The effective values of a run under stable names, so that two runs can be compared value by value.

outcome, message, launcher, node, recipe, script, argv, image, model_path, checkout.<n>, text (of what is submitted: known or not)
<role>.engine, <role>.gpus, <role>.nodes, <role>.workers, <role>.flag.<name>, <role>.env.<NAME>
client.<program>.<flag>, recipe.<dotted key>, cluster.<dotted key>, env.<NAME> (exported to the submitted job)
program.<name> (what else a bench script runs), unseen.<what> (steps whose result is not known)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reviewbot.bench.model import Recipe, Value
from reviewbot.documents.nodes import Mapping as YamlMapping
from reviewbot.documents.nodes import Node, Scalar, Sequence
from reviewbot.documents.positions import Site
from reviewbot.runs.build import document_of
from reviewbot.runs.model import Layer, Run, Server, Setting
from reviewbot.runs.servers import layers_of
from reviewbot.runs.unseen import exported, programs, unseen_steps
from reviewbot.trace.files import FileText

UNKNOWN = "\u27e8unknown\u27e9"


@dataclass(frozen=True, slots=True)
class Effective:
    """One effective value: ``text`` for people, ``known`` whether it is all that the value can be.

    Its history is ``layers``, or that of ``line`` in ``source``.
    """

    text: str
    known: bool = True
    layers: tuple[Layer, ...] = ()
    source: FileText | None = None
    line: int = 0

    def history(self) -> tuple[Layer, ...]:
        """The layers, oldest first."""
        if self.source is not None:
            return (*self.layers, *layers_of(self.source, self.line))
        return self.layers

    def same(self, other: Effective) -> bool:
        return self.text == other.text and self.known == other.known


def effective_values(run: Run) -> dict[str, Effective]:
    """All effective values of a run, by name. Places and the order of flags do not count."""
    found: dict[str, Effective] = {"launcher": Effective(run.launcher), "node": Effective(run.node)}
    where = _at(run.where, "outcome", run.outcome)
    found["outcome"] = Effective(run.outcome, run.outcome != "unknown", where)
    if run.outcome != "submit" and run.message:
        found["message"] = Effective(run.message, True, where)
    if run.recipe_argument is not None:
        found["recipe"] = Effective(run.recipe_argument, True, where)
    if run.script is not None:
        found["script"] = Effective(run.script, True, where)
    if run.argv:
        found["argv"] = Effective(" ".join(run.argv), True, where)
    for name, setting in (("image", run.image), ("model_path", run.model_path), *run.extra.items()):
        if setting is not None:
            found[name] = _of_setting(setting)
    _servers(run.servers, found)
    seen: Counter[str] = Counter()
    for client in run.clients:
        seen[client.program] += 1
        name = f"client.{client.program}" + (f"#{seen[client.program]}" if seen[client.program] > 1 else "")
        found[name] = Effective(client.program, True, _at(client.site, "argv", client.program))
        for flag, setting in client.flags.items():
            found[f"{name}.{flag}"] = _of_setting(setting)
    if run.text is not None:
        _recipe(run, run.text, found)
    if run.outcome == "submit":
        found["text"] = Effective("known", True) if run.text is not None else Effective(UNKNOWN, False)
    if run.cluster is not None:
        found.update((f"cluster.{name}", one) for name, one in _flat(run.cluster))
    for name, (text, site) in exported(run).items():
        found[f"env.{name}"] = Effective(text, True, _at(site, "export", text))
    for name, steps in programs(run).items():
        found[f"program.{name}"] = Effective(_joined(steps), True, _at(steps[-1][1], "argv", steps[-1][0]))
    for name, steps in unseen_steps(run).items():
        found[f"unseen.{name}"] = Effective(_joined(steps), False, tuple(Layer(site, "edit", text) for text, site in steps))
    return found


def _joined(steps: tuple[tuple[str, Site], ...]) -> str:
    return "; ".join(text for text, _ in steps)


def _at(site: Site | None, operation: str, value: str) -> tuple[Layer, ...]:
    return () if site is None else (Layer(site, operation, value),)


def _of_setting(setting: Setting) -> Effective:
    if setting.value is not None:
        return Effective(setting.value, True, setting.layers)
    texts = sorted(setting.values) + ([UNKNOWN] if setting.unknown or not setting.values else [])
    return Effective(" or ".join(texts), not setting.unknown and bool(setting.values), setting.layers)


def _servers(servers: tuple[Server, ...], found: dict[str, Effective]) -> None:
    seen: Counter[str] = Counter()
    for server in servers:
        seen[server.role] += 1
        name = server.role if seen[server.role] == 1 else f"{server.role}#{seen[server.role]}"
        found[f"{name}.engine"] = Effective(server.engine, True, _at(server.site, "server", server.engine))
        for part in ("gpus", "nodes", "workers"):
            number = getattr(server, part)
            if number is not None:
                found[f"{name}.{part}"] = Effective(str(number), True, _at(server.site, "server", str(number)))
        found.update((f"{name}.flag.{flag}", _of_setting(setting)) for flag, setting in server.flags.items())
        found.update((f"{name}.env.{variable}", _of_setting(setting)) for variable, setting in server.env.items())


def _recipe(run: Run, text: FileText, found: dict[str, Effective]) -> None:
    if run.recipe is None:
        found.update((f"recipe.{name}", one) for name, one in _flat(text))
        return
    told = _told_by_servers(run.recipe) if run.servers else frozenset()
    for name, value in run.recipe.settings.items():
        if name not in told:
            found[f"recipe.{name}"] = Effective(_plain(value.value), True, (), text, value.line)


def _told_by_servers(recipe: Recipe) -> frozenset[str]:
    """Keys of the recipe that are flags and variables of servers."""
    maps: list[Mapping[str, Value]] = [recipe.environment]
    for role in recipe.roles.values():
        maps += [role.args, role.env]
    return frozenset(value.key for some in maps for value in some.values())


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return " ".join(_plain(item) for item in value)
    return str(value)


def _flat(text: FileText) -> Iterator[tuple[str, Effective]]:
    """The leaves of a YAML text by dotted path; its lines where it is none."""
    document = document_of(text.text)
    if document.root is None or isinstance(document.root, Scalar):
        for number, line in enumerate(text.text.split("\n"), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                yield f"line.{number}", Effective(line.strip(), True, (), text, number)
        return
    yield from _leaves(document.root, "", text, 40)


def _leaves(node: Node, name: str, text: FileText, depth: int) -> Iterator[tuple[str, Effective]]:
    if isinstance(node, YamlMapping) and depth and node.index():
        for key, entry in node.items():
            yield from _leaves(entry.value, f"{name}.{key}" if name else str(key), text, depth - 1)
    elif isinstance(node, Sequence) and depth and any(not isinstance(item, Scalar) for item in node.items):
        for number, item in enumerate(node.items):
            yield from _leaves(item, f"{name}[{number}]", text, depth - 1)
    else:
        shown = " ".join(_plain(item.value) for item in node.items if isinstance(item, Scalar)) if isinstance(node, Sequence) else ""
        shown = _plain(node.value) if isinstance(node, Scalar) else shown
        yield name, Effective(shown, True, (), text, node.span.line)
