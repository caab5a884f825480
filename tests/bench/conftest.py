from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

import pytest

from reviewbot.bench.repository import Bench, load_bench
from reviewbot.tree import MemoryTree

RUNNERS = """
labels:
  alpha: [alpha-one_00, alpha-one_01, alpha-two_0]
  alpha-multi: [alpha-one_07]
  cluster:alpha-one: [alpha-one_00, alpha-one_01]
hardware:
  cluster:alpha-one: {available-cpu-dram-mib: 2_000_000, gpus-per-node: 8}
"""


@pytest.fixture
def bench_of() -> Callable[..., Bench]:
    """A bench of files in memory: the master text, and more files by path."""

    def make(master: str = "", files: Mapping[str, str] | None = None, **options: object) -> Bench:
        texts = {"configs/runners.yaml": RUNNERS, **({"configs/x-master.yaml": master} if master else {}), **(files or {})}
        tree = MemoryTree({path: textwrap.dedent(text).lstrip("\n").encode("utf-8", "surrogateescape") for path, text in texts.items()})
        return load_bench(tree, **options)  # type: ignore[arg-type]

    return make
