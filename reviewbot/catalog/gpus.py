"""GPUs: what is printed on the box (GB, 1e9 bytes) and what an engine can use (GiB, 2**30 bytes)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

GIB = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """One kind of GPU. ``usable_gib`` is the total that the runtime reports; ``measured`` tells whether a log says so or it is
    estimated."""

    name: str
    vendor: str  # nvidia, amd
    architecture: str  # sm90, sm100, gfx950, ...
    marketed_gb: float
    usable_gib: float
    measured: bool
    gpus_per_node: int
    nvlink_domain: str
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def free_gib(self) -> tuple[float, float]:
        """Free before the model loads, (low, high) in GiB: contexts and communicators take 1 to 4 GiB (B200: 178.35 total, 175.34 free)."""
        return self.usable_gib - 4.0, self.usable_gib - 1.0


@lru_cache(maxsize=1)
def all_gpus() -> Mapping[str, Gpu]:
    """Every GPU by name."""
    data = json.loads(Path(__file__).with_name("gpus.json").read_text(encoding="utf-8"))
    return {
        name: Gpu(
            name=name,
            vendor=one["vendor"],
            architecture=one["architecture"],
            marketed_gb=one["marketed_gb"],
            usable_gib=one["usable_gib"],
            measured=one["usable_measured"],
            gpus_per_node=one["gpus_per_node"],
            nvlink_domain=one["nvlink_domain"],
            aliases=tuple(one["aliases"]),
            sources=tuple(one["sources"]),
        )
        for name, one in data["gpus"].items()
    }


def find_gpu(text: str) -> Gpu | None:
    """The GPU that ``text`` names: ``B200``, ``cluster:b200-dgxc``, ``RTX PRO 6000``; ``None`` where it names none."""
    label = text.lower().rsplit(":", 1)[-1].strip()
    best: Gpu | None = None
    longest = 0
    for gpu in all_gpus().values():
        for name in (gpu.name, *gpu.aliases):
            key = re.sub(r"[^a-z0-9]", "", name)
            whole = r"[^a-z0-9]*".join(key) + r"(?![a-z0-9])"  # not the beginning of another name
            if len(key) > longest and re.match(whole, label):
                best, longest = gpu, len(key)
    return best
