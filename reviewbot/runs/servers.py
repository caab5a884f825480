"""Server processes and clients of a run: from a recipe, or from the programs that a script starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.catalog.engines import canonical
from reviewbot.documents.nodes import Mapping as YamlMapping
from reviewbot.documents.nodes import Node, Scalar
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import parse_yaml
from reviewbot.runs.engines import Program, recognise
from reviewbot.runs.flags import Flag, parse_flags
from reviewbot.runs.model import Client, Layer, Server, Setting
from reviewbot.runs.values import setting, shown
from reviewbot.trace.effects import Exec
from reviewbot.trace.files import FileText
from reviewbot.trace.values import Holes, is_known


def layers_of(text: FileText, line: int) -> tuple[Layer, ...]:
    """The history of a line of a file: as written in the repository, then each script line that changed it."""
    return _Lines(text).layers(line)


class _Lines:
    """``layers_of`` for many lines of one text, split once."""

    def __init__(self, text: FileText) -> None:
        self._text = text
        self._known_text = is_known(text.text)
        self._lines = text.text.split("\n")
        self._known: dict[int, tuple[Layer, ...]] = {}

    def setting(self, value: str, line: int) -> Setting:
        """The setting that a line gives: unknown where a script wrote something unknown there, which the parser of YAML makes U+FFFD."""
        if "\ufffd" in value and not self._known_text:
            return Setting((), True, self.layers(line))
        return Setting((value,), False, self.layers(line))

    def layers(self, line: int) -> tuple[Layer, ...]:
        found = self._known.get(line)
        if found is None:
            found = self._known[line] = self._layers(line)
        return found

    def _layers(self, line: int) -> tuple[Layer, ...]:
        origins = self._text.origins
        if not 1 <= line <= len(origins):
            return ()
        origin = origins[line - 1]
        now = self._lines[line - 1].strip()
        layers: list[Layer] = []
        if origin.site is not None:
            layers.append(Layer(origin.site, "recipe", (origin.by[0][1] or "").strip() if origin.by else now))
        for index, (site, _before) in enumerate(origin.by):
            after = origin.by[index + 1][1] if index + 1 < len(origin.by) else now
            layers.append(Layer(site, "edit" if layers else "write", (after or "").strip()))
        return tuple(layers)


def recipe_servers(recipe: Recipe, text: FileText) -> tuple[Server, ...]:
    """The servers of a recipe, with srtctl's way of making flags: underscores become dashes, ``true`` is a bare flag, ``false`` and null
    give nothing, lists are joined; the global ``environment`` wins over a role's."""
    lines = _Lines(text)
    servers: list[Server] = []
    for role in recipe.roles.values():
        if role.workers is not None and role.workers.value == 0:
            continue
        engine = role.engine or recipe.engine or ""
        servers.append(
            Server(
                role=role.name,
                engine=engine,
                flags=_role_flags(role, engine, lines),
                env=_role_environment(role, recipe, lines),
                gpus=role.gpus_per_worker,
                nodes=_number(role.nodes),
                workers=_number(role.workers),
                site=_first_site(role, lines),
            )
        )
    return tuple(servers)


def recipe_setting(value: Value | None, text: FileText) -> Setting | None:
    """A recipe value with its history."""
    if value is None:
        return None
    return _Lines(text).setting(_text(value.value), value.line)


def _role_flags(role: Role, engine: str, lines: _Lines) -> dict[str, Setting]:
    flags: dict[str, Setting] = {}
    for key, value in role.args.items():
        if value.value is None or value.value is False:
            if engine != "trtllm":
                continue
            if value.value is None:
                continue
        flags[canonical(engine, key)] = lines.setting(_text(value.value), value.line)
    return flags


def _role_environment(role: Role, recipe: Recipe, lines: _Lines) -> dict[str, Setting]:
    environment = {name: lines.setting(_text(value.value), value.line) for name, value in role.env.items()}
    for name, value in recipe.environment.items():
        own = environment.get(name)
        layers = lines.layers(value.line)
        one = lines.setting(_text(value.value), value.line)
        environment[name] = replace(one, layers=(own.layers + layers) if own else layers)
    return environment


def _first_site(role: Role, lines: _Lines) -> Site | None:
    places = [value.line for value in (*role.args.values(), *role.env.values())]
    if not places:
        return None
    layers = lines.layers(min(places))
    return layers[0].site if layers else None


def _number(value: Value | None) -> int | None:
    return value.value if value is not None and isinstance(value.value, int) and not isinstance(value.value, bool) else None


def _text(value: object) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, (list, tuple)):
        return " ".join(_text(item) for item in value)
    return str(value)


# --- scripts ---------------------------------------------------------------------------------------------------------


def script_programs(effects: Iterator[Exec], holes: Holes) -> tuple[list[Server], list[Client]]:
    """The servers and clients among the programs that a script starts."""
    servers: list[Server] = []
    clients: list[Client] = []
    for effect in effects:
        program = recognise(effect.argv)
        if program.kind == "server":
            servers.append(_script_server(effect, program, holes))
        elif program.kind == "client":
            flags, _ = parse_flags(program.arguments, "", effect.site)
            clients.append(Client(program.name, _settings(flags, holes), effect.site, _shown_argv(effect.argv, holes)))
    return servers, clients


def _script_server(effect: Exec, program: Program, holes: Holes) -> Server:
    flags, rest = parse_flags(program.arguments, program.engine, effect.site)
    settings = _settings(flags, holes)
    if rest and "model" not in settings:
        settings["model"] = setting(rest[0], holes, (Layer(getattr(rest[0], "site", effect.site), "argv", shown(rest[0], holes)),))
    if program.engine == "trtllm" and "config" in settings:
        _read_engine_file(settings, effect)
    environment: dict[str, Setting] = {}
    for name, variable in effect.environment.items():
        if variable.site is None:
            continue
        value = variable.value
        environment[name] = setting(value, holes, (Layer(variable.site, "export", shown(value, holes)),))
    for word in program.assigned:
        name, _, value = word.partition("=")
        environment[name] = setting(value, holes, (Layer(getattr(word, "site", effect.site), "argv", shown(value, holes)),))
    return Server(
        role="agg",
        engine=program.engine,
        flags=settings,
        env=environment,
        gpus=None,
        nodes=1,
        workers=1,
        argv=_shown_argv(effect.argv, holes),
        site=effect.site,
    )


def _settings(flags: list[Flag], holes: Holes) -> dict[str, Setting]:
    """The last flag of a name counts, and keeps the earlier ones in its history."""
    settings: dict[str, Setting] = {}
    for flag in flags:
        text = "true" if flag.value is None else flag.value
        before = settings.get(flag.name)
        layers = (before.layers if before else ()) + (Layer(flag.site, "argv", shown(text, holes)),)
        settings[flag.name] = setting(text, holes, layers)
    return settings


def _read_engine_file(settings: dict[str, Setting], effect: Exec) -> None:
    """Settings of a file that ``trtllm-serve`` reads; the file wins over the command line (``trtllm-serve`` applies it last)."""
    path = settings["config"].value
    text = effect.files.get(path) if path is not None else None
    if text is None:
        return
    root = parse_yaml(text.text.encode("utf-8", "surrogateescape"), path or "").root
    if not isinstance(root, YamlMapping):
        return
    lines = _Lines(text)
    for key, node in _leaves(root, ""):
        before = settings.get(canonical("trtllm", key))
        layers = (before.layers if before else ()) + lines.layers(node.span.line)
        value = node.text if isinstance(node, Scalar) else ""
        settings[canonical("trtllm", key)] = Setting((value,), False, layers)


def _leaves(mapping: YamlMapping, prefix: str) -> Iterator[tuple[str, Node]]:
    for key, entry in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(entry.value, YamlMapping):
            yield from _leaves(entry.value, name + ".")
        else:
            yield name, entry.value


def _shown_argv(argv: tuple[str, ...], holes: Holes) -> tuple[str, ...]:
    return tuple(shown(word, holes) for word in argv)
