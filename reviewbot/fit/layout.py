"""How one engine process group is laid out over GPUs, in the engine's own notation and normalised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reviewbot.runs.limits import batch_cap
from reviewbot.runs.model import Server, Setting
from reviewbot.runs.parallel import fraction, integer, sizes, switch

MOST_RANKS = 4096
"""The largest size of any kind of parallelism; a larger one is no layout."""

ENGINES = ("vllm", "sglang", "trtllm", "atom")

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of server in its engine's own notation: vLLM's ``tp`` splits one replica and ``dp`` multiplies it; SGLang's and TRT-LLM's
    ``tp`` is the whole group, which DP-attention divides. ``ep`` above 1 turns expert parallelism on.

    ``None`` is a value that is not set (the engine's default applies).
    """

    engine: str
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    cp: int = 1  # prefill (vLLM) or attention (SGLang) context parallel
    dcp: int = 1  # decode context parallel
    dp_attention: bool = False
    version: Version | None = None
    nodes: int | None = None
    gpus_per_node: int | None = None
    redundant_experts: int = 0
    eplb: bool = False
    mtp: bool = False
    draft_gib: float = 0.0  # weights of a separate draft model on each GPU, where they are known
    separate_draft: bool = False  # a draft model of its own, whose size is not known
    moe_backend: str | None = None
    all_to_all: str | None = None
    moe_dense_tp: int | None = None
    moe_dp: int = 1
    dp_lm_head: bool = False
    kv_dtype: str | None = None
    utilization: float | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    chunked_prefill: bool | None = None
    page_size: int | None = None
    concurrency: int | None = None
    partition: tuple[int, ...] | None = None  # layers of each pipeline stage
    absorbed: bool = True
    language_only: bool = False  # the vision tower is not loaded
    eager: bool = False  # no graphs are captured
    unknown: frozenset[str] = frozenset()  # fields that are set to something that is not known


@dataclass(frozen=True, slots=True)
class Split:
    """A layout normalised: how many ranks share each kind of tensor."""

    attention_tp: int
    attention_dp: int
    cp: int
    moe_tp: int
    moe_ep: int
    dense_tp: int
    shared_tp: int
    embedding_tp: int
    head_tp: int
    pp: int
    world: int


def described(layout: Layout) -> str:
    """``TP 8 x PP 2 x EP 8 with DP-attention``: the sizes in the engine's notation, without those that are 1."""
    parts = [f"TP {layout.tp}"]
    parts += [f"{name} {size}" for name, size in (("PP", layout.pp), ("DP", layout.dp), ("EP", layout.ep), ("CP", layout.cp)) if size > 1]
    return " x ".join(parts) + (" with DP-attention" if layout.dp_attention else "")


def at_least(version: Version | None, *bound: int) -> bool:
    """Whether ``version`` is ``bound`` or newer; an unknown version counts as the newest."""
    return version is None or version >= bound


@lru_cache(maxsize=8192)
def split_of(layout: Layout) -> Split:
    """The normalised split. Sizes that do not divide are rounded down to at least one; ``constraints`` says what the engine thinks of
    them."""
    tp, dp, cp = layout.tp, layout.dp, max(1, layout.cp)
    if layout.engine == "sglang":
        replicas = dp if layout.dp_attention else 1
        attention = max(1, tp // (replicas * cp))
        moe_ep = max(1, layout.ep)
        moe_tp = max(1, tp // (moe_ep * max(1, layout.moe_dp)))
        a2a = (layout.all_to_all or "none") != "none"
        dense = layout.moe_dense_tp or tp
        return Split(
            attention, replicas, cp, moe_tp, moe_ep, dense, 1 if a2a else tp, 1 if layout.dp_attention else tp,
            attention if layout.dp_lm_head else tp, layout.pp, tp * layout.pp * (1 if layout.dp_attention else dp),
        )  # fmt: skip
    if layout.engine == "trtllm" or (layout.engine == "atom" and layout.dp_attention):
        attention = 1 if layout.dp_attention else tp
        moe_ep = max(1, layout.ep)
        return Split(
            attention, tp if layout.dp_attention else 1, cp, max(1, tp // moe_ep), moe_ep, attention, attention, attention, attention,
            layout.pp, tp * layout.pp * cp,
        )  # fmt: skip
    ranks = tp * dp * cp
    expert = layout.ep > 1
    sequence_parallel = expert and dp > 1 and tp > 1
    return Split(
        tp, dp, cp, 1 if expert else ranks, ranks if expert else 1, tp, 1 if sequence_parallel else tp, tp, tp, layout.pp, ranks * layout.pp
    )


def stages(layout: Layout, layers: int) -> tuple[int, ...]:
    """Layers of each pipeline stage, as the engine and version splits them; an empty tuple where a stated partition is not possible."""
    pp = max(1, layout.pp)
    if layout.partition is not None:
        return layout.partition if len(layout.partition) == pp and sum(layout.partition) == layers else ()
    base, rest = divmod(layers, pp)
    result = [base] * pp
    if layout.engine == "sglang":
        for index in range(rest):
            result[pp - 1 - index] += 1
    elif layout.engine == "trtllm":
        for index in range(rest):
            result[index] += 1
    elif not at_least(layout.version, 0, 7):
        result[-1] += rest
    else:
        for index in range(2, rest + 2):
            result[-index] += 1
    return tuple(result)


def parse_version(text: str) -> Version | None:
    """The version in ``text`` (``v0.5.16-cu130``, ``0.33.0``, an image tag); ``None`` where there is none."""
    match = re.search(r"(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?", text.rsplit(":", 1)[-1])
    if match is None:
        return None
    return tuple(int(part) for part in match.groups() if part is not None)


_UTILIZATION: Mapping[str, tuple[str, ...]] = {
    "vllm": ("gpu-memory-utilization",),
    "atom": ("gpu-memory-utilization",),
    "sglang": ("mem-fraction-static",),
    "trtllm": (
        "kv-cache-config.free_gpu_memory_fraction",
        "kv-cache-free-gpu-memory-fraction",
        "kv-cache-free-gpu-mem-fraction",
        "free-gpu-memory-fraction",
    ),
}
_MODEL_LEN: Mapping[str, str] = {"vllm": "max-model-len", "atom": "max-model-len", "sglang": "context-length", "trtllm": "max-seq-len"}
_STEP: Mapping[str, str] = {
    "vllm": "max-num-batched-tokens",
    "atom": "max-num-batched-tokens",
    "sglang": "chunked-prefill-size",
    "trtllm": "max-num-tokens",
}
_KV_DTYPE = ("kv-cache-dtype", "kv-cache-config.dtype")
_MOST = 1 << 40  # a larger count is none
_PARTITION = ("VLLM_PP_LAYER_PARTITION", "SGLANG_PP_LAYER_PARTITION")

_Flags = Mapping[str, Setting]


def utilization_names(engine: str) -> tuple[str, ...]:
    """The flags that give the fraction of memory."""
    return _UTILIZATION[engine]


def utilization_flag(engine: str) -> str:
    """What the fraction of memory is called."""
    return _UTILIZATION[engine][0].rsplit(".", 1)[-1]


def max_model_len_flag(engine: str) -> str:
    """What the longest context is called."""
    return _MODEL_LEN[engine]


def step_tokens_flag(engine: str) -> str:
    """What the largest number of tokens of a step is called."""
    return _STEP[engine]


def layout_of(
    server: Server, point_row: Mapping[str, Any], *, version: Version | None = None, gpus_per_node: int | None = None
) -> Layout | None:
    """The layout of a server of a run, from its flags in its engine's notation; the row gives the concurrency. ``None`` where the engine is
    not one of ``ENGINES`` or a size that decides the layout is not known."""
    own = sizes(server)
    if own is None or not own.known:
        return None
    if not all(1 <= one <= MOST_RANKS for one in (own.tp, own.pp, own.dp, own.ep, own.cp, own.dcp) if one is not None):
        return None
    partition = _first(server.env, _PARTITION)
    speculation = _speculation(server)
    if speculation is None or (partition is not None and partition.value is None):
        return None
    nodes = _count(server.flags, "nnodes")
    if nodes is None and server.nodes is not None and server.workers:
        nodes = max(1, server.nodes // server.workers)
    concurrency = point_row.get("conc")
    if not isinstance(concurrency, int) or isinstance(concurrency, bool):
        concurrency = None
    flags, engine = server.flags, server.engine
    cap = batch_cap(server)
    fraction_of_memory = _first(flags, _UTILIZATION[engine])
    return Layout(
        engine=engine,
        tp=own.tp or 1,
        pp=own.pp or 1,
        dp=own.dp or 1,
        ep=own.ep or 1,
        cp=own.cp or 1,
        dcp=own.dcp or 1,
        dp_attention=bool(own.dp_attention),
        version=version,
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        redundant_experts=_count(flags, "ep-num-redundant-experts" if engine == "sglang" else "num-redundant-experts") or 0,
        eplb=bool(switch(flags, "enable-eplb")),
        mtp=speculation == "own",
        separate_draft=speculation == "separate",
        moe_backend=_text(flags, "moe-backend", "moe-runner-backend", "moe-config.backend"),
        all_to_all=_text(flags, "moe-a2a-backend", "all2all-backend"),
        moe_dense_tp=_count(flags, "moe-dense-tp-size") if engine == "sglang" else None,
        moe_dp=(_count(flags, "moe-data-parallel-size") or 1) if engine == "sglang" else 1,
        dp_lm_head=bool(switch(flags, "enable-dp-lm-head")),
        kv_dtype=_text(flags, *_KV_DTYPE),
        utilization=next((fraction(flags, name) for name in _UTILIZATION[engine] if flags.get(name) is fraction_of_memory), None),
        max_model_len=_count(flags, _MODEL_LEN[engine]),
        max_num_seqs=cap.value if cap is not None and cap.value <= _MOST else None,
        max_num_batched_tokens=_count(flags, _STEP[engine]),
        page_size=_count(flags, "page-size") if engine == "sglang" else None,
        concurrency=concurrency,
        partition=_stated(partition),
        language_only=bool(switch(flags, "language-model-only")),
        eager=bool(switch(flags, "enforce-eager")),
        unknown=frozenset(_unreadable(server, fraction_of_memory)),
    )


def _count(flags: _Flags, name: str) -> int | None:
    """A number that is at least 1; none below (``-1``: as the engine likes) and none that no engine can mean."""
    value = integer(flags, name, None)
    return value if value is not None and 1 <= value <= _MOST else None


def _first(settings: Mapping[str, Setting], names: Iterable[str]) -> Setting | None:
    return next((settings[name] for name in names if name in settings), None)


def _text(flags: _Flags, *names: str) -> str | None:
    setting = _first(flags, names)
    return setting.value if setting is not None else None


def _stated(partition: Setting | None) -> tuple[int, ...] | None:
    text = partition.value if partition is not None else None
    return tuple(int(one) for one in text.split(",")) if text and re.fullmatch(r"\d{1,5}(,\d{1,5})*", text) else None


def _unreadable(server: Server, utilization: Setting | None) -> Iterator[str]:
    """Fields that are set to something that is not known, or is no number where the field is one."""
    flags = server.flags
    if utilization is not None and not any(fraction(flags, name) is not None for name in _UTILIZATION[server.engine]):
        yield "utilization"
    for field, name in (("max_model_len", _MODEL_LEN[server.engine]), ("max_num_batched_tokens", _STEP[server.engine])):
        written = integer(flags, name, 1)
        if written is None or written > _MOST:
            yield field
    cache = _first(flags, _KV_DTYPE)
    if cache is not None and cache.value is None:
        yield "kv_dtype"


def _speculation(server: Server) -> str | None:
    """Whose draft is loaded: the checkpoint's ``own`` layers, a ``separate`` model, ``none``; ``None`` where it is not known."""
    flags = server.flags
    if server.engine == "sglang":
        algorithm = flags.get("speculative-algorithm")
        if algorithm is None:
            return "none"
        if algorithm.value is None:
            return None
        if "speculative-draft-model-path" in flags:
            return "separate"
        return "own" if algorithm.value.upper() in ("EAGLE", "NEXTN") else "none"
    if server.engine == "trtllm":
        kind = (_text(flags, "speculative-config.decoding_type") or "").upper()
        return "own" if kind == "MTP" else "separate" if kind and kind != "NGRAM" else "none"
    said = f"{_text(flags, 'speculative-config') or ''} {_text(flags, 'speculative-config.method') or ''}".strip().lower()
    return "own" if "mtp" in said else "separate" if said and "ngram" not in said else "none"
