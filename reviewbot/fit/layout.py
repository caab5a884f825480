"""How one engine process group is laid out over GPUs, in the engine's own notation and normalised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from reviewbot.runs.model import Server

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


_FLAGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vllm": {
        "tp": ("tensor-parallel-size", "tp"),
        "pp": ("pipeline-parallel-size", "pp"),
        "dp": ("data-parallel-size", "dp"),
        "cp": ("prefill-context-parallel-size", "pcp"),
        "dcp": ("decode-context-parallel-size", "dcp"),
        "max_model_len": ("max-model-len",),
        "max_num_seqs": ("max-num-seqs",),
        "max_num_batched_tokens": ("max-num-batched-tokens",),
        "nodes": ("nnodes",),
    },
    "sglang": {
        "tp": ("tensor-parallel-size", "tp-size", "tp"),
        "pp": ("pipeline-parallel-size", "pp-size", "pp"),
        "dp": ("data-parallel-size", "dp-size", "attn-dp-size", "attention-data-parallel-size", "dp"),
        "ep": ("expert-parallel-size", "ep-size", "ep"),
        "cp": ("attn-cp-size", "attention-context-parallel-size"),
        "dcp": ("dcp-size", "decode-context-parallel-size"),
        "moe_dp": ("moe-data-parallel-size", "moe-dp-size"),
        "moe_dense_tp": ("moe-dense-tp-size",),
        "redundant_experts": ("ep-num-redundant-experts",),
        "max_model_len": ("context-length",),
        "max_num_seqs": ("max-running-requests",),
        "max_num_batched_tokens": ("chunked-prefill-size",),
        "page_size": ("page-size",),
        "nodes": ("nnodes",),
    },
    "trtllm": {
        "tp": ("tensor_parallel_size", "tp_size"),
        "pp": ("pipeline_parallel_size", "pp_size"),
        "ep": ("moe_expert_parallel_size", "ep_size"),
        "cp": ("context_parallel_size", "cp_size"),
        "max_model_len": ("max_seq_len",),
        "max_num_seqs": ("max_batch_size",),
        "max_num_batched_tokens": ("max_num_tokens",),
    },
    "atom": {
        "tp": ("tensor-parallel-size", "tp"),
        "pp": ("pipeline-parallel-size", "pp"),
        "dp": ("data-parallel-size", "dp"),
        "max_model_len": ("max-model-len",),
        "max_num_seqs": ("max-num-seqs",),
        "max_num_batched_tokens": ("max-num-batched-tokens",),
    },
}

_NEEDED = ("tp", "pp", "dp", "ep", "cp", "dcp")


class _Unknown(Exception):
    """A value that decides the layout is not known."""


_Flags = tuple[tuple[str, "str | None"], ...]


class _Reader:
    """Values by name (``None``: not known), dashes and underscores alike; a name that is not set at the top may be set inside of an engine
    file's section."""

    def __init__(self, flags: _Flags) -> None:
        self._values: dict[str, str | None] = {}
        self._inner: dict[str, str | None] = {}
        for name, value in flags:
            plain = name.lstrip("-").replace("_", "-")
            self._values[plain] = value
            if "." in plain:
                self._inner.setdefault(plain.rsplit(".", 1)[-1], value)

    def find(self, *names: str) -> tuple[bool, str | None]:
        """Whether one of ``names`` is set, and to what."""
        for values in (self._values, self._inner):
            for name in names:
                plain = name.replace("_", "-")
                if plain in values:
                    return True, values[plain]
        return False, None

    def has(self, *names: str) -> bool:
        return self.find(*names)[0]

    def text(self, *names: str) -> str | None:
        found, value = self.find(*names)
        if found and value is None:
            raise _Unknown(names[0])
        return value

    def number(self, *names: str) -> int | None:
        text = self.text(*names)
        if text is None or text.strip().lower() in ("", "none", "null", "auto"):
            return None
        try:
            return int(float(text)) if re.fullmatch(r"\s*-?\d{1,15}(\.0*)?\s*", text) else int(text, 10)
        except ValueError:
            raise _Unknown(names[0]) from None

    def flag(self, *names: str) -> bool:
        text = self.text(*names)
        return text is not None and text.strip().lower() not in ("false", "0", "no", "none", "null")

    def optional(self, *names: str) -> str | None:
        return self.find(*names)[1]

    def on(self, *names: str) -> bool:
        return (self.optional(*names) or "false").strip().lower() not in ("false", "0", "no", "none", "null")

    def optional_number(self, *names: str) -> int | None:
        try:
            return self.number(*names)
        except _Unknown:
            return None

    def unreadable(self, field: str, *names: str) -> bool:
        """Whether one of ``names`` is set to something that is not known, or is no number where ``field`` is one."""
        found, value = self.find(*names)
        if not found:
            return False
        if value is None:
            return True
        if field == "utilization":
            return self.fraction(*names) is None
        return (
            field != "kv_dtype" and self.optional_number(*names) is None and value.strip().lower() not in ("", "none", "null", "auto", "-1")
        )

    def fraction(self, *names: str) -> float | None:
        text = self.optional(*names)
        try:
            value = float(text) if text is not None else None
        except ValueError:
            return None
        return value if value is not None and 0 < value <= 1 else None


def layout_of(
    server: Server, point_row: Mapping[str, Any], *, version: Version | None = None, gpus_per_node: int | None = None
) -> Layout | None:
    """The layout of a server of a run, from its flags in its engine's notation; the row gives the concurrency. ``None`` where the engine is
    not one of ``ENGINES`` or a size that decides the layout is not known."""
    engine = {"trt": "trtllm", "tensorrt-llm": "trtllm", "trt-llm": "trtllm"}.get(server.engine.lower(), server.engine.lower())
    if engine not in ENGINES:
        return None
    partition = server.env.get("VLLM_PP_LAYER_PARTITION") or server.env.get("SGLANG_PP_LAYER_PARTITION")
    if partition is not None and partition.value is None:
        return None
    flags = tuple((name, setting.value) for name, setting in server.flags.items())
    layout = _layout(engine, flags, partition.value if partition else None)
    if layout is None:
        return None
    nodes = layout.nodes
    if nodes is None and server.nodes is not None and server.workers:
        nodes = max(1, server.nodes // server.workers)
    concurrency = point_row.get("conc")
    if not isinstance(concurrency, int) or isinstance(concurrency, bool):
        concurrency = None
    return replace(layout, version=version, nodes=nodes, gpus_per_node=gpus_per_node, concurrency=concurrency)


@lru_cache(maxsize=4096)
def _layout(engine: str, flags: _Flags, stated_partition: str | None) -> Layout | None:
    read = _Reader(flags)
    names = _FLAGS[engine]
    try:
        sizes: dict[str, int] = {}
        for field in _NEEDED:
            if field in names:
                value = read.number(*names[field])
                if value is not None:
                    if not 1 <= value <= MOST_RANKS:
                        return None
                    sizes[field] = value
        expert = read.flag("enable-expert-parallel", "enable_expert_parallel") if engine in ("vllm", "atom") else False
        attention = read.flag("enable-dp-attention", "enable_dp_attention") or read.flag("enable-attention-dp", "enable_attention_dp")
        mtp, separate = _speculates(read, engine)
        eplb = read.flag("enable-eplb")
        if engine == "sglang" and (read.text("moe-a2a-backend") or "none") != "none":
            sizes["ep"] = sizes.get("tp", 1)  # an all-to-all backend spreads experts over all ranks
    except _Unknown:
        return None
    tp = sizes.get("tp", 1)
    if engine == "sglang" and sizes.get("dp", 1) > 1 and read.has("attn-dp-size", "attention-data-parallel-size"):
        attention = True
    if engine in ("vllm", "atom") and expert:
        ranks = tp if engine == "atom" and attention else tp * sizes.get("dp", 1) * sizes.get("cp", 1)
        sizes["ep"] = ranks
    nodes = read.optional_number(*names.get("nodes", ("nnodes",)))
    redundant = read.optional_number(*names.get("redundant_experts", ("num-redundant-experts",))) or 0
    partition = stated_partition
    numbers = [int(one) for one in partition.split(",")] if partition and re.fullmatch(r"\d{1,5}(,\d{1,5})*", partition) else None
    utilization = {
        "vllm": ("gpu-memory-utilization",),
        "atom": ("gpu-memory-utilization",),
        "sglang": ("mem-fraction-static",),
        "trtllm": ("free_gpu_memory_fraction", "kv_cache_free_gpu_memory_fraction"),
    }[engine]
    return Layout(
        engine=engine,
        tp=tp,
        pp=sizes.get("pp", 1),
        dp=sizes.get("dp", 1),
        ep=sizes.get("ep", 1),
        cp=sizes.get("cp", 1),
        dcp=sizes.get("dcp", 1),
        dp_attention=attention,
        nodes=nodes,
        redundant_experts=redundant,
        eplb=eplb,
        mtp=mtp,
        separate_draft=separate,
        moe_backend=read.optional("moe-backend", "moe-runner-backend", "moe_config.backend"),
        all_to_all=read.optional("moe-a2a-backend", "all2all-backend"),
        moe_dense_tp=read.optional_number("moe-dense-tp-size") if engine == "sglang" else None,
        moe_dp=(read.optional_number("moe-dp-size", "moe-data-parallel-size") or 1) if engine == "sglang" else 1,
        dp_lm_head=read.on("enable-dp-lm-head"),
        kv_dtype=read.optional("kv-cache-dtype", "kv_cache_dtype")
        or (read.optional("kv_cache_config.dtype") if engine == "trtllm" else None),
        utilization=read.fraction(*utilization),
        max_model_len=read.optional_number(*names["max_model_len"]),
        max_num_seqs=read.optional_number(*names["max_num_seqs"]),
        max_num_batched_tokens=read.optional_number(*names["max_num_batched_tokens"]),
        page_size=read.optional_number("page-size") if engine == "sglang" else None,
        partition=tuple(numbers) if numbers else None,
        language_only=read.on("language-model-only"),
        unknown=frozenset(
            field
            for field, spellings in {
                "utilization": utilization,
                "max_model_len": names["max_model_len"],
                "max_num_batched_tokens": names["max_num_batched_tokens"],
                "kv_dtype": ("kv-cache-dtype", "kv_cache_config.dtype") if engine == "trtllm" else ("kv-cache-dtype",),
            }.items()
            if read.unreadable(field, *spellings)
        ),
    )


def _speculates(read: _Reader, engine: str) -> tuple[bool, bool]:
    """Whether the draft layers of the checkpoint itself are loaded, and whether another draft model is."""
    if engine == "sglang":
        algorithm = read.text("speculative-algorithm")
        if algorithm is None:
            return False, False
        separate = read.has("speculative-draft-model-path")
        return not separate and algorithm.upper() in ("EAGLE", "NEXTN"), separate
    if engine == "trtllm":
        kind = (read.optional("speculative_config.decoding_type", "decoding_type") or "").upper()
        return kind == "MTP", bool(kind) and kind not in ("MTP", "NGRAM")
    config = (read.optional("speculative-config") or "").lower()
    method = (read.optional("speculative_config.method", "method") or "").lower()
    own = "mtp" in config or "mtp" in method
    stated = bool(config) or bool(method)
    return own, stated and not own and "ngram" not in config + method
