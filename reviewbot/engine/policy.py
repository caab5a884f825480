"""What a repository asks of its contributors, as data: the settings' ``policy``, and what holds where they say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewbot.settings import Settings

# The public benchmark repositories ask for these.
PROFILE: Mapping[str, Any] = {
    "public-registries": [
        "docker.io", "registry-1.docker.io", "nvcr.io", "ghcr.io", "quay.io", "public.ecr.aws", "mcr.microsoft.com", "gcr.io",
    ],
    "forbidden-flags": {"--hf-overrides": "it changes the model, so that results are not those of the model as it is published"},
    "translations": ["_zh"],
    "patches-allowed": False,
}  # fmt: skip


def policy(settings: Settings, name: str) -> Any:
    """The value of a policy: that of the settings, else the profile's. What has another type than the profile's is not taken."""
    default = PROFILE[name]
    given = settings.policy.get(name, default)
    return given if isinstance(given, type(default)) else default
