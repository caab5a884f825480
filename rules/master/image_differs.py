"""A row and its recipe name other images

What
The row's `image` is not the image that the recipe's `model.container` names, and the container is no alias of the cluster file either.

Why
The row's image is published with the result. The job runs the container of the recipe: another build of the engine.

Example
    # master
    image: vllm/vllm-openai:v0.20.1
    # recipe
    model:
      container: vllm/vllm-openai:v0.21.0

Instead
    image: vllm/vllm-openai:v0.21.0
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site, last_site
from reviewbot.runs.build import cluster_of
from reviewbot.runs.images import looks_like_image, same_image

RULE = Rule("image-differs", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        image = run.point.row.get("image")
        container = run.image.value if run.image is not None else None
        if run.recipe is None or not isinstance(image, str) or container is None or not looks_like_image(container):
            continue
        if same_image(image, container):
            continue
        if run.cluster is not None and _mapped_elsewhere(run.cluster.text, container, image):
            continue
        place = last_site(run.image)
        yield context.finding(
            RULE,
            f"the row publishes image `{image}`, the recipe runs `{container}`",
            field_site(run.point, "image"),
            help="name the image that runs in the row, or change `model.container` of the recipe",
            touches=[run],
            related=[(place, f"`model.container` is `{container}`")] if place else [],
            structure=f"{run.point.key}.image",
            subject=f"{image} / {container}",
        )


def _mapped_elsewhere(cluster: str, container: str, image: str) -> bool:
    """Whether the cluster file maps the container's name to the file that it maps the row's image to: then the name is an alias."""
    containers = cluster_of(cluster).containers
    own, rows = containers.get(container), containers.get(image)
    return own is not None and rows is not None and own.value == rows.value
