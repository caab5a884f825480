"""An image is not in a public registry

What
The image of a config key comes from a registry that is not in the list of public ones (`policy: {public-registries: [...]}`), or is a file.

Why
Results that nobody else can run again are not accepted.

Example
    image: registry.lab.example/vllm:v0.11.0

Instead
    image: vllm/vllm-openai:v0.11.0
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.nodes import Scalar
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.policy import policy

RULE = Rule("private-image", Level.WARNING, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    public = policy(context.settings, "public-registries")
    for key, entry in context.bench.masters.index.items():
        image = entry.node.get("image") if entry.node is not None else None
        if not isinstance(image, Scalar) or not isinstance(image.value, str) or entry.deprecated:
            continue
        first, slash, _ = image.value.removeprefix("docker://").replace("#", "/").partition("/")
        if image.value.startswith(("/", "./")) or image.value.endswith(".sqsh"):
            said = f"the image of `{key}` is the file `{image.value}`"
        elif slash and ("." in first or ":" in first or first == "localhost") and first not in public:
            said = f"the image of `{key}` comes from `{first}`, which is not in the list of public registries"
        else:
            continue
        yield context.finding(
            RULE,
            said,
            image,
            path=entry.path,
            help="name a public image, or add the registry to `policy.public-registries`",
            subject=image.value,
        )
