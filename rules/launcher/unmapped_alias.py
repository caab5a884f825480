"""A recipe's model or container is an alias that the launcher does not define

What
The recipe names a model or a container that is neither a path nor a reference, and the cluster file that the launcher writes has no alias
of that name. A container that is a whole reference is a note where the launcher maps names only, and not the row's image: it is pulled
from its registry by every node.

Why
The tool takes an unknown alias for a path, does not find it, and refuses the job.

Example
    # recipe
    model: {path: toy-fp8, container: nightly-20260824}
    # srtslurm.yaml, as the launcher writes it
    model_paths: {"toy": "/models/toy"}
    containers: {"dynamo-sglang": "/squash/toy.sqsh"}

Instead
    model: {path: toy, container: dynamo-sglang}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reviewbot.bench.model import Value
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import own
from reviewbot.engine.wording import listed
from reviewbot.runs.build import cluster_of
from reviewbot.runs.images import same_image
from reviewbot.runs.model import Run
from reviewbot.runs.servers import layers_of
from reviewbot.trace.values import is_known

RULE = Rule("unmapped-alias", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.outcome != "submit" or run.recipe is None or run.cluster is None:
            continue
        cluster = cluster_of(run.cluster.text)
        if cluster.ignored:
            continue
        yield from _unmapped(context, run, "model_paths", run.recipe.model_path, cluster.model_paths)
        yield from _unmapped(context, run, "containers", run.recipe.container, cluster.containers)


def _unmapped(context: Context, run: Run, block: str, value: Value | None, aliases: Mapping[str, Value]) -> Iterator[Finding]:
    if value is None or not isinstance(value.value, str) or run.text is None:
        return
    name = value.value
    if not name or name in aliases or not is_known(name) or not all(is_known(alias) and "\ufffd" not in alias for alias in aliases):
        return
    reference = block == "containers" and ":" in name
    if name.startswith(("/", "./", "../", "$", "hf:")) or "__" in name:
        return
    if reference and any(same_image(alias, str(run.point.row.get("image"))) for alias in aliases):
        return  # what the image of the row differs from is another rule's matter
    layers = layers_of(run.text, value.line)
    if not layers or not own(context, layers[0].site):
        return
    noun = "model" if block == "model_paths" else "container"
    written = next((layers_of(run.cluster, entry.line) for entry in aliases.values()), ()) if run.cluster is not None else ()
    if reference:
        message = f"the container `{name}` is none that the launcher imports: every node pulls it from its registry"
    else:
        message = f"the {noun} `{name}` is neither a path nor an alias: `{block}` has {listed(aliases) or 'none'}"
    yield context.finding(
        RULE,
        message,
        layers[0].site,
        help=f"name one of them, or add `{name}` to `{block}` in the cluster file that the launcher writes",
        touches=[run],
        related=[Related(written[-1].site, f"`{block}` is written here")] if written else [],
        structure=value.key,
        subject=f"{noun} {name}",
        level=Level.NOTE if reference else None,
    )
