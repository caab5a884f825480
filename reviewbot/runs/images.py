"""Container image references."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"(?P<name>[\w.-]+(?::\d+)?(?:/[\w.-]+)*)(?::(?P<tag>[\w][\w.-]*))?(?:@(?P<digest>sha256:[0-9a-f]+))?$")


def normalised(image: str) -> str:
    """An image reference in one form: enroot's ``registry#path`` is ``registry/path``; ``docker://`` and Docker Hub's own name go."""
    text = image.strip().removeprefix("docker://").replace("#", "/")
    for prefix in ("docker.io/library/", "docker.io/", "index.docker.io/"):
        text = text.removeprefix(prefix)
    return text


def same_image(one: str, other: str) -> bool:
    """Whether two references name the same image."""
    return normalised(one) == normalised(other)


def looks_like_image(text: str) -> bool:
    """Whether a container is given as a reference with a tag, a digest or a registry, not as an alias or a file."""
    reference = normalised(text)
    if reference.startswith(("/", "./", "../")) or reference.endswith(".sqsh"):
        return False
    match = _REFERENCE.match(reference)
    return match is not None and (match["tag"] is not None or match["digest"] is not None) and "/" in match["name"]


def tag_of(image: str) -> str | None:
    """The tag of a reference, where it has one."""
    match = _REFERENCE.match(normalised(image))
    return match["tag"] if match else None


def repository_of(image: str) -> str:
    """The reference without tag and digest."""
    match = _REFERENCE.match(normalised(image))
    return match["name"] if match else normalised(image)
