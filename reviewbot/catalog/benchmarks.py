"""What the benchmark types of srt-slurm read of a recipe (srt-slurm v1.0.68, ``src/srtctl/benchmarks``)."""

from __future__ import annotations

# Types whose load generator takes its concurrencies from ``benchmark.concurrencies``; ``custom`` runs a command that has its own.
READS_RECIPE_CONCURRENCIES = frozenset({"sa-bench", "sglang-bench", "trace-replay"})
