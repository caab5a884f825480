"""From a trace to an effective run."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from reviewbot.bench.cluster_file import ClusterFile, parse_cluster_file
from reviewbot.bench.model import Job, Recipe, RecipeError
from reviewbot.bench.recipes import load_recipe
from reviewbot.documents.nodes import plain
from reviewbot.documents.yaml import YamlDocument, parse_yaml
from reviewbot.runs.model import Client, Layer, Run, Server, Setting
from reviewbot.runs.servers import layers_of, recipe_servers, recipe_setting, script_programs
from reviewbot.runs.unseen import exported, programs, unseen_steps
from reviewbot.runs.values import setting, shown, united
from reviewbot.trace.effects import Checkout, Enter, Exec, Limit, Missing, OpaqueEdit, Submit
from reviewbot.trace.files import FileText
from reviewbot.trace.trace import Trace, TracePath
from reviewbot.trace.values import Holes

OpaqueKeys = Mapping[str, tuple[str, ...]]
"""Helper file name -> patterns of the keys that it may touch."""

NOTHING = "it ends without starting anything"


def build_run(job: Job, trace: Trace, opaque_keys: OpaqueKeys | None = None) -> Run:
    """The run of ``job``: the union of what its paths give. Values that differ between paths are one of several."""
    paths = [_path_run(job, path, trace.holes, opaque_keys or {}) for path in _telling(trace.paths)]
    run = paths[0]
    if len(paths) > 1:
        run = _merged(paths)
    return replace(run, paths=len(trace.paths), digest=digest(run, trace.holes), files=trace.files_read)


def _telling(paths: tuple[TracePath, ...]) -> list[TracePath]:
    """The paths that say what runs: those that submit or start something, where there are any."""
    order = {"submit": 0, "script": 0, "unknown": 1, "refused": 2, "ended": 2}
    best = min(order.get(path.outcome, 1) for path in paths)
    return [path for path in paths if order.get(path.outcome, 1) == best]


def _path_run(job: Job, path: TracePath, holes: Holes, opaque_keys: OpaqueKeys) -> Run:
    submit = next((effect for effect in path.effects if isinstance(effect, Submit)), None)
    enters = [effect for effect in path.effects if isinstance(effect, Enter)]
    outcome, message = path.outcome, path.message
    if outcome == "ended":
        outcome, message = _ended(job, path)
    run = Run(
        key=job.point.key,
        point=job.point,
        runner=job.runner,
        node=job.node,
        launcher=job.launcher,
        outcome=outcome,
        message=message,
        where=path.where,
        effects=path.effects,
        extra=_extra(path, holes),
    )
    if outcome == "refused":
        run = replace(run, missing=_missing(path))
    if submit is not None:
        return _submitted(run, submit, path, holes, opaque_keys)
    if enters:
        return _entered(run, enters, path, holes)
    servers, clients = script_programs((effect for effect in path.effects if isinstance(effect, Exec)), holes)
    return replace(run, servers=tuple(servers), clients=tuple(clients))


def _ended(job: Job, path: TracePath) -> tuple[str, str]:
    """Outcome and message of a path that came to its end and started nothing."""
    limit = next((effect for effect in path.effects if isinstance(effect, Limit)), None)
    if limit is not None:
        return "unknown", limit.text
    if any(isinstance(effect, Exec) and any(word.endswith(job.launcher) for word in effect.argv) for effect in path.effects):
        return "unknown", f"{job.launcher} cannot be read"
    return "refused", path.message or ("" if path.status else NOTHING)


def _missing(path: TracePath) -> Missing | None:
    """The file whose absence ended a path: asked for last, on the line that ended it or by the program that started it."""
    missing = [effect for effect in path.effects if isinstance(effect, Missing) and effect.certain]
    if not missing:
        return None
    last = missing[-1]
    return last if path.where is None or last.site == path.where or last.path.endswith((".sh", ".yaml", ".yml")) else None


def _submitted(run: Run, submit: Submit, path: TracePath, holes: Holes, opaque_keys: OpaqueKeys) -> Run:
    run = replace(
        run,
        where=submit.site,
        recipe_argument=shown(submit.recipe, holes) if submit.recipe is not None else None,
        recipe_path=submit.origin,
        text=submit.text,
        cluster=submit.cluster,
        argv=tuple(shown(word, holes) for word in submit.argv),
    )
    if submit.tool != "srtctl":
        servers, clients = script_programs((effect for effect in path.effects if isinstance(effect, Exec)), holes)
        return replace(run, script=submit.origin, servers=tuple(servers), clients=tuple(clients))
    if submit.text is None or submit.recipe is None:
        return run
    loaded = recipe_variants(submit.text.text, _selector(submit.recipe), submit.sets, submit.unsets)
    recipes = [one for one in loaded if isinstance(one, Recipe)]
    errors = [one for one in loaded if isinstance(one, RecipeError)]
    if len(recipes) != 1 or errors:
        return replace(run, recipe_errors=tuple(errors), variants=len(loaded))
    recipe = recipes[0]
    touched = _opaque(path, submit, opaque_keys)
    if touched is None:
        return run
    servers_of_recipe = tuple(_without(server, touched) for server in recipe_servers(recipe, submit.text))
    cluster = cluster_of(submit.cluster.text) if submit.cluster is not None else None
    return replace(
        run,
        recipe=recipe,
        servers=servers_of_recipe,
        image=recipe_setting(recipe.container, submit.text),
        model_path=_model_path(recipe, submit.text, cluster, submit.cluster),
        variants=1,
    )


def _entered(run: Run, enters: list[Enter], path: TracePath, holes: Holes) -> Run:
    enter = enters[-1]
    servers, clients = script_programs((effect for effect in path.effects if isinstance(effect, Exec)), holes)
    model = next((server.flags[name] for server in servers for name in ("model", "model-path") if name in server.flags), None)
    image = None
    if enter.image is not None:
        image = setting(enter.image, holes, (Layer(enter.site, enter.by, shown(enter.image, holes)),))
    return replace(
        run,
        where=run.where or enter.site,
        script=shown(enter.path, holes),
        argv=tuple(shown(word, holes) for word in enter.argv),
        servers=tuple(servers),
        clients=tuple(clients),
        image=image,
        model_path=model,
    )


def _selector(recipe: str) -> str:
    return recipe.rpartition(":")[2] if ":" in recipe else ""


def _opaque(path: TracePath, submit: Submit, opaque_keys: OpaqueKeys) -> tuple[str, ...] | None:
    """Key patterns that opaque edits of the submitted file may touch; ``None`` where an edit is of a helper that names none."""
    touched: list[str] = []
    for effect in path.effects:
        if not isinstance(effect, OpaqueEdit) or effect.path != submit.path:
            continue
        helper = next((word.rsplit("/", 1)[-1] for word in effect.argv if word.endswith(".py")), "")
        keys = opaque_keys.get(helper)
        if keys is None:
            return None
        touched.extend(keys)
    return tuple(touched)


def _without(server: Server, touched: tuple[str, ...]) -> Server:
    """``server`` with the settings that an opaque edit may have changed made unknown."""
    if not touched:
        return server

    def blurred(settings: Mapping[str, Setting]) -> dict[str, Setting]:
        return {
            name: Setting((), True, one.layers) if any(fnmatch.fnmatchcase(name, pattern) for pattern in touched) else one
            for name, one in settings.items()
        }

    return replace(server, flags=blurred(server.flags), env=blurred(server.env))


def _model_path(recipe: Recipe, text: FileText, cluster: ClusterFile | None, cluster_text: FileText | None) -> Setting | None:
    """The path that the recipe's alias stands for in the generated cluster file; the alias itself where it is none."""
    written = recipe_setting(recipe.model_path, text)
    if written is None or written.value is None or cluster is None or cluster_text is None:
        return written
    target = cluster.model_paths.get(written.value)
    if target is None:
        return written
    layers = written.layers + layers_of(cluster_text, target.line)
    if "\ufffd" in str(target.value):  # what a script wrote there is not known
        return Setting((), True, layers)
    return Setting((str(target.value),), False, layers)


def _extra(path: TracePath, holes: Holes) -> dict[str, Setting]:
    """Checkouts, in order: ``checkout.<n>`` is ``url@ref``."""
    extra: dict[str, Setting] = {}
    for effect in path.effects:
        if isinstance(effect, Checkout):
            text = f"{effect.url}@{effect.ref or 'HEAD'}"
            extra[f"checkout.{len(extra)}"] = setting(text, holes, (Layer(effect.site, "checkout", shown(text, holes)),))
    return extra


def _merged(runs: list[Run]) -> Run:
    first = runs[0]
    same_text = all(run.text == first.text for run in runs)
    same_shape = all(
        [(server.role, server.engine) for server in run.servers] == [(server.role, server.engine) for server in first.servers]
        for run in runs
    )
    servers = tuple(_united_server([run.servers[index] for run in runs]) for index in range(len(first.servers))) if same_shape else ()
    return replace(
        first,
        text=first.text if same_text else None,
        recipe=first.recipe if same_text else None,
        servers=servers,
        clients=first.clients if all(_plain(run.clients) == _plain(first.clients) for run in runs) else (),
        image=united([run.image for run in runs]),
        model_path=united([run.model_path for run in runs]),
        extra={
            name: one
            for name in dict.fromkeys(name for run in runs for name in run.extra)
            if (one := united([run.extra.get(name) for run in runs])) is not None
        },
    )


def _united_server(servers: list[Server]) -> Server:
    def both(settings: list[Mapping[str, Setting]]) -> dict[str, Setting]:
        names = dict.fromkeys(name for one in settings for name in one)
        return {name: value for name in names if (value := united([one.get(name) for one in settings])) is not None}

    return replace(servers[0], flags=both([one.flags for one in servers]), env=both([one.env for one in servers]))


def _plain(clients: tuple[Client, ...]) -> list[tuple[str, ...]]:
    return [client.argv for client in clients]


# --- shared parsing --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def document_of(text: str) -> YamlDocument:
    """The parsed form of a text that traces produced; most points share one."""
    return parse_yaml(text.encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=4096)
def recipe_variants(text: str, selector: str, sets: tuple[str, ...] = (), unsets: tuple[str, ...] = ()) -> tuple[Recipe | RecipeError, ...]:
    """The variants that ``srtctl apply -f file:selector`` makes of a text."""
    return tuple(load_recipe(document_of(text), selector, sets=sets, unsets=unsets))


@lru_cache(maxsize=4096)
def cluster_of(text: str) -> ClusterFile:
    """The generated cluster file."""
    return parse_cluster_file(text.encode("utf-8", "surrogateescape"))


# --- digest ----------------------------------------------------------------------------------------------------------


def digest(run: Run, holes: Holes) -> str:
    """A digest of everything that decides what runs; two runs with the same one are the same. Lines, sites, comments and layout do not
    count, and an unknown piece of text counts by what it stands for: which character a trace gave it says nothing."""
    observed: dict[str, object] = {
        "outcome": run.outcome,
        "launcher": run.launcher,
        "recipe": run.recipe_argument,
        "text": meaning(shown(run.text.text, holes)) if run.text is not None else None,
        "cluster": meaning(shown(run.cluster.text, holes)) if run.cluster is not None else None,
        "script": run.script,
        "argv": run.argv,
        "servers": [[server.role, server.engine, _values(server.flags), _values(server.env), server.argv] for server in run.servers],
        "clients": [client.argv for client in run.clients],
        "image": _value(run.image),
        "model": _value(run.model_path),
        "extra": _values(run.extra),
        "message": run.message if run.outcome != "submit" else "",
        "exported": {name: text for name, (text, _) in exported(run).items()},
        "programs": {name: [text for text, _ in steps] for name, steps in programs(run).items()},
        "unseen": {name: [text for text, _ in steps] for name, steps in unseen_steps(run).items()},
    }
    text = json.dumps(observed, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def meaning(text: str) -> str:
    """What the reader of a YAML text gets, whatever its layout and comments; the text itself where it is not YAML."""
    document = document_of(text)
    if document.root is None or document.problems or document.duplicates:
        return text
    return json.dumps(plain(document.root), ensure_ascii=False, default=str)


def _values(settings: Mapping[str, Setting]) -> dict[str, object]:
    return {name: _value(one) for name, one in settings.items()}


def _value(one: Setting | None) -> object:
    return None if one is None else [list(one.values), one.unknown]
