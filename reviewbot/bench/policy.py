"""The constants of a repository's matrix generator, read from its source as text.

Masters say *what* to sweep; a few numbers that turn an entry into rows (the token margin of ``max-model-len``, the lowest
concurrency of an eval, how many concurrencies share an allocation) stand in the generator alone and have changed over time. Only
literal constants and the presence of names are looked at: nothing is imported or run, and what is missing keeps its newest value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NO_EVALS = "none"  # rows carry no eval mark
EVALS_ON_REQUEST = "request"  # rows carry the mark, and it is false unless a sweep asks for evals
EVALS_BY_CONC = "conc"  # single-node: highest and median concurrency
EVALS_BY_ATTENTION = "attention"  # ... and multi-node: one row a (model, runner, framework, precision, attention kinds)
EVALS_BY_TOPOLOGY = "topology"  # ... and multi-node: one row a distinct topology


@dataclass(frozen=True, slots=True)
class Policy:
    """How entries become rows. ``lengths`` names (input, output) token pairs; the others are described at each field."""

    lengths: Mapping[tuple[int, int], str] = field(default_factory=lambda: {(1024, 1024): "1k1k", (8192, 1024): "8k1k"})
    margin: int = 256  # tokens on top of isl + osl in max-model-len
    min_eval_conc: int = 16
    batch: int | None = 1  # concurrencies of a multi-node agentic row; None: the row holds the bare number
    dram_cap_mib: int = 2_861_022  # host memory that is counted at most, in MiB
    duration: int = 3600  # seconds, agentic
    topology: bool = True  # rows spell out pp, dcp-size and pcp-size
    offloading: bool = False  # older agentic rows: ``offloading`` in place of ``kv-offloading`` and its budget
    multinode_budget: bool = True  # multi-node agentic rows get a DRAM budget
    worker_tags: bool = True  # exp-name of multi-node agentic rows names ep and dp-attn
    evals: str = EVALS_BY_TOPOLOGY
    agentic_marks: bool = True  # agentic rows carry an eval mark too (a false one in a throughput sweep)
    median: bool = False  # a marked multi-node row is evaluated at the median of the eligible concurrencies, not at the highest
    eval_lengths: tuple[int, int] = (8192, 1024)


CURRENT = Policy()

_NUMBER = re.compile(r"^([A-Z][A-Z0-9_]*)\s*=\s*([0-9][0-9_]*)\s*(?:#.*)?$", re.MULTILINE)
_LENGTH = re.compile(r"""["']([0-9]+k[0-9]+k)["']\s*:\s*\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)""")
_MARGIN = re.compile(r"\bisl\s*\+\s*osl\s*\+\s*([0-9]{1,6})\b")
_DURATION = re.compile(r"\.get\(\s*Fields\.DURATION\.value\s*,\s*([0-9]{1,7})\s*\)")
_EVAL_LENGTH = re.compile(r"""target_isl,\s*target_osl\s*=\s*\w+\[\s*["']([0-9k]+)["']\s*\]""")
_MAX_DIGITS = 18


def read_policy(generator: str, validation: str = "") -> Policy:
    """The policy that the source texts of a generator and its validation state; ``CURRENT`` where there is no generator."""
    if "search-space" not in generator and "SEARCH_SPACE" not in generator:
        return CURRENT
    numbers = {name: int(text) for name, text in _NUMBER.findall(validation + "\n" + generator) if len(text) <= _MAX_DIGITS}
    lengths = {(int(isl), int(osl)): name for name, isl, osl in _LENGTH.findall(generator) if len(isl + osl) <= _MAX_DIGITS}
    margin = _MARGIN.search(generator)
    duration = _DURATION.search(generator)
    offloading = "Fields.OFFLOADING.value" in generator
    batched = "MAX_MULTINODE_AGENTIC_CONCURRENCIES_PER_ALLOCATION"
    eval_length = _EVAL_LENGTH.search(generator)
    by_name = {name: pair for pair, name in lengths.items()}
    return Policy(
        lengths=lengths or CURRENT.lengths,
        margin=int(margin.group(1)) if margin else CURRENT.margin,
        min_eval_conc=numbers.get("MIN_EVAL_CONC", CURRENT.min_eval_conc if "MIN_EVAL_CONC" in generator else 0),
        batch=(numbers.get(batched) or 1) if batched in generator else None,
        dram_cap_mib=numbers.get("MAX_AGENTIC_AVAILABLE_CPU_DRAM_MIB", CURRENT.dram_cap_mib),
        duration=int(duration.group(1)) if duration else numbers.get("DEFAULT_AGENTIC_DURATION_SECONDS", CURRENT.duration),
        topology="DCP_SIZE" in generator,
        offloading=offloading,
        multinode_budget="worker_gpus_per_node" in generator,
        worker_tags="_worker_tag" in generator,
        evals=_evals(generator),
        agentic_marks="include_agentic" in generator,
        median="eval_concs) // 2" in generator,
        eval_lengths=by_name.get(eval_length.group(1), CURRENT.eval_lengths) if eval_length else CURRENT.eval_lengths,
    )


def _evals(generator: str) -> str:
    if "RUN_EVAL" not in generator:
        return NO_EVALS
    if "'--run-evals'" in generator or '"--run-evals"' in generator:
        return EVALS_ON_REQUEST
    if "_multinode_parallelism_key" in generator:
        return EVALS_BY_TOPOLOGY
    if "mn_groups" in generator:
        return EVALS_BY_ATTENTION
    return EVALS_BY_CONC
