"""A load generator asks for a model that its server does not serve

What
The name that the load generator sends (`--model`, `--served-model-name`) is not among the names that the server answers to: its
`--served-model-name`, or else the path that it was started with.

Why
vLLM answers such a request with `404: The model ... does not exist`: all requests fail, or the run ends without a result. Other engines
answer, and the result is filed under a name that was not served.

Example
    vllm serve "$MODEL_PATH" --port 8000
    run_benchmark_serving --model "$MODEL" --port 8000

Instead
    vllm serve "$MODEL_PATH" --served-model-name "$MODEL" --port 8000
    run_benchmark_serving --model "$MODEL" --port 8000
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import last_site
from reviewbot.engine.wording import listed
from reviewbot.runs.model import Client, Server, Setting

RULE = Rule("served-name-differs", Level.ERROR, scope="run")

_STRICT = frozenset({"vllm"})


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.outcome != "script" or len(run.servers) != 1:
            continue
        server = run.servers[0]
        names = _served(server)
        for client in run.clients if names else ():
            asked = _asked(client)
            value = asked.value if asked is not None else None
            site = last_site(asked) or client.site
            if not value or site is None or value.rstrip("/") in names:
                continue
            lenient = Level.WARNING
            if posixpath.basename(value.rstrip("/")) in {posixpath.basename(name) for name in names}:
                lenient = Level.NOTE  # an engine that answers to any name files it under the same model
            explicit = "served-model-name" in server.flags
            told = sorted(names) if explicit else [min(names, key=len)]
            calls = "answers to" if server.engine in _STRICT else "calls its model"
            yield context.finding(
                RULE,
                f"the load generator asks for `{value}`, the server {calls} {listed(told)}",
                last_site(server.flags.get("served-model-name"), server.flags.get("model")) or server.site or site,
                help=f"{'name' if explicit else 'give the server'} `--served-model-name {value}`",
                touches=[run],
                related=[(site, f"asks for `{value}`")],
                structure=server.engine,
                subject=f"{value} / {' '.join(sorted(names))}",
                level=None if server.engine in _STRICT else lenient,
            )


def _served(server: Server) -> frozenset[str]:
    """The names that a server answers to; none where they cannot be told."""
    named = server.flags.get("served-model-name")
    if named is not None:
        return frozenset(named.value.split()) if named.value else frozenset()
    model = server.flags.get("model") or server.flags.get("model-path")
    if model is None or not model.value:
        return frozenset()
    path = model.value.rstrip("/")
    return frozenset({path, posixpath.basename(path)} if server.engine == "trtllm" else {path})


def _asked(client: Client) -> Setting | None:
    for name in ("served-model-name", "model-name", "model"):
        if name in client.flags:
            return client.flags[name]
    return None
