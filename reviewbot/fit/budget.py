"""What an engine lets weights and cache take of a GPU, and what else it needs. All values are GiB (2**30 bytes) a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from reviewbot.catalog.gpus import GIB, Gpu
from reviewbot.catalog.models import Model
from reviewbot.fit.layout import Layout, at_least, split_of

_CONTEXT_GIB = (1.0, 3.0)
"""CUDA or HIP context, communicators and loaded kernels."""

_ACTIVATION_BYTES = (9.0, 190.0)
"""Peak activation bytes for each token of a step and element of the hidden size. Published peaks: GLM-5.2 1.7 GiB at 32,768 tokens (9 B),
MiniMax-M3 and DeepSeek-V4 8.9 GiB at 8,192 (190 B) and 11.4 GiB at 16,384."""

_DRAFT_GIB = 8.0
"""What a separate draft model may take on a GPU: 5.9 to 7.8 GiB were measured for DSpark, EAGLE heads are smaller."""

_DEEPEP_GIB = 25.0
"""What DeepEP buffers took outside of torch at 16 ranks."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Everything beside weights and cache, as a range in GiB."""

    low: float
    high: float
    why: str


@dataclass(frozen=True, slots=True)
class Budget:
    """``gib``: what weights and cache may take, ``low`` and ``high`` its bounds where the free memory before load is only known as a range.

    ``overhead_inside`` tells whether the overhead is taken from the budget (vLLM) or from what lies outside of it (SGLang); ``share`` is
    the part of what is left that the cache gets (TensorRT-LLM); ``stated`` whether the fraction was written or is a default.
    """

    gib: float
    low: float
    high: float
    fraction: float
    stated: bool
    overhead_inside: bool
    share: float
    why: str


def default_step_tokens(layout: Layout, gpu: Gpu) -> int:
    """Tokens of the largest step where nothing is stated: SGLang's chunk by memory size, else 8,192."""
    if layout.engine == "sglang":
        return 4096 if gpu.usable_gib < 58 else 8192 if gpu.usable_gib < 158 else 16384
    return 8192


def overhead(model: Model, layout: Layout, gpu: Gpu) -> Overhead:
    """Context, activations, logits and graphs. The range is wide on purpose: engines measure this at start, nobody can compute it."""
    tokens = layout.max_num_batched_tokens or default_step_tokens(layout, gpu)
    tokens = min(max(tokens, 1), 32768)  # longer steps are measured to cost less a token, not more in total
    hidden = model.number("hidden_size")
    low = _CONTEXT_GIB[0] + _ACTIVATION_BYTES[0] * tokens * hidden / GIB
    high = _CONTEXT_GIB[1] + min(_ACTIVATION_BYTES[1] * tokens * hidden / GIB, 12.0)
    sequences = layout.max_num_seqs or layout.concurrency or 256
    high += min(sequences, 1024) * model.number("vocab_size") * 4 / GIB
    why = f"context {_CONTEXT_GIB[0]:g} to {_CONTEXT_GIB[1]:g}; activations of {tokens:,} tokens x {hidden:,}; logits and graphs"
    if layout.separate_draft and not layout.draft_gib:
        high += _DRAFT_GIB
        why += f"; a draft model up to {_DRAFT_GIB:g}"
    if (layout.all_to_all or "").startswith("deepep"):
        high += _DEEPEP_GIB
        why += f"; DeepEP buffers up to {_DEEPEP_GIB:g}"
    return Overhead(low, high, why)


def sglang_default_fraction(layout: Layout, gpu: Gpu) -> float:
    """SGLang's own choice of ``--mem-fraction-static``: total memory less what it reserves, in MiB, for metadata, activations, ranks and
    graphs."""
    total = gpu.usable_gib * 1024
    chunk = layout.max_num_batched_tokens or default_step_tokens(layout, gpu)
    batch = layout.max_num_seqs or 10**9
    graphs = min(batch, 160 if total < 60 * 1024 else 256 if layout.tp < 4 and total < 160 * 1024 else 512)
    reserved = 512 + max(chunk, 2048) * 1.5 + layout.tp * layout.pp / 8 * 1024 + graphs * 2
    if layout.dp_attention:
        reserved += graphs * layout.dp * (4.5 if graphs > 300 else 3)
    if total > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    return max(0.1, round((total - reserved) / total, 3))


def budget(layout: Layout, gpu: Gpu) -> Budget:
    """The budget of ``layout`` on ``gpu`` by the engine's own semantics."""
    total, stated = gpu.usable_gib, layout.utilization is not None
    if layout.engine == "sglang":
        fraction = layout.utilization if layout.utilization is not None else sglang_default_fraction(layout, gpu)
        low, high = (free * fraction for free in gpu.free_gib)
        why = f"mem-fraction-static {fraction:g} of {gpu.free_gib[0]:.2f} to {gpu.free_gib[1]:.2f} GiB free before load"
        return Budget((low + high) / 2, low, high, fraction, stated, False, 1.0, why)
    if layout.engine == "trtllm":
        fraction = layout.utilization if layout.utilization is not None else 0.9
        return Budget(total, total, total, fraction, stated, True, fraction,
                      f"{total:.2f} GiB in all; the cache gets {fraction:g} of what weights and activations leave")  # fmt: skip
    default = 0.92 if layout.engine == "vllm" and at_least(layout.version, 0, 21) else 0.9
    fraction = layout.utilization if layout.utilization is not None else default
    return Budget(total * fraction, total * fraction, total * fraction, fraction, stated, True, 1.0,
                  f"gpu-memory-utilization {fraction:g} of {total:.2f} GiB")  # fmt: skip


def replicas(layout: Layout) -> int:
    """Attention replicas that hold caches of their own."""
    split = split_of(layout)
    if layout.engine == "sglang" and not layout.dp_attention:
        return max(1, layout.dp)
    return split.attention_dp
