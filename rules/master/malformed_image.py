"""The image of an entry cannot be pulled by its name

What
`image` does not have the form of an image reference (`registry/name:tag`, `name:tag@sha256:...`, or with `#` behind the registry as enroot
writes it), or its organisation is one letter away from one that other entries use.

Why
The container cannot be imported: every run of the entry ends before it starts.

Example
    image: lmsysorg/sglang::v0.5.2

Instead
    image: lmsysorg/sglang:v0.5.2
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from reviewbot.documents.nodes import Scalar
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("malformed-image", Level.ERROR, frozenset({"bench"}))

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*)(?::\d+)?"
_REFERENCE = re.compile(
    rf"(?:docker://|dockerd://)?(?:{_HOST}[/#])?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?\Z", re.ASCII
)
_FILE = re.compile(r"[/.~$]|.*\.(?:sqsh|sif|tar)\Z")


def check(context: Context) -> Iterator[Finding]:
    images: list[tuple[str, str, str, Scalar]] = []
    for entry in context.bench.masters.active():
        node = entry.node.get("image") if entry.node is not None else None
        if isinstance(node, Scalar) and node.value is not None and not _FILE.match(node.text):
            images.append((entry.key, entry.path, node.text, node))
    used = Counter(_owner(image) for _, _, image, _ in images)
    for key, path, image, node in images:
        owner = _owner(image)
        if not _REFERENCE.match(image):
            message, help = f"`{image}` is not an image reference: {_why(image)}", "write `registry/name:tag`"
        elif used[owner] == 1 and (known := next((one for one in sorted(used) if used[one] > 1 and _one_letter(owner, one)), "")):
            message, help = f"`{owner}` is used by this entry alone, and `{known}` by {used[known]} others", f"write `{known}`"
        else:
            continue
        yield context.finding(
            RULE,
            message,
            node,
            path=path,
            help=help,
            touches=[point.id for point in context.bench.by_key.get(key, ())],
            structure=f"{key}.image",
            subject=image,
        )


def _why(image: str) -> str:
    if re.search(r"\s", image):
        return "it has a blank"
    name, at, _ = image.partition("@")
    if at and not re.search(r"@sha256:[0-9a-f]{64}\Z", image):
        return "its digest is not `sha256:` and 64 hexadecimal digits"
    name = name.replace("#", "/")
    repository, colon, tag = name.rpartition(":")
    tagged = bool(colon) and "/" not in tag
    if tagged and not re.match(r"\w[\w.-]{0,127}\Z", tag, re.ASCII):
        return f"its tag is `{tag}`"
    path = (repository if tagged else name).split("/")
    bad = next((part for part in (path[1:] if len(path) > 1 else path) if not re.match(rf"{_PART}\Z", part)), "")
    return f"`{bad}` cannot be part of a name (small letters and digits, `.`, `_` or `-` between them)" if bad else "its form is unknown"


def _owner(image: str) -> str:
    parts = re.split(r"[/#]", image.removeprefix("docker://"))
    parts = parts[1:] if len(parts) > 1 and re.search(r"[.:]|\Alocalhost\Z", parts[0]) else parts
    return parts[0] if len(parts) > 1 else ""


def _one_letter(one: str, other: str) -> bool:
    """Whether two names differ by one letter that is missing, added, another, or by two that are swapped."""
    if len(one) < 5 or one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next((index for index, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), min(len(one), len(other)))
    left, right = one[start:], other[start:]
    return left[1:] == right or left == right[1:] or left[1:] == right[1:] or (left[:2] == right[1::-1] and left[2:] == right[2:])
