"""Bytes of weights on each GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from reviewbot.catalog.gpus import GIB, Gpu
from reviewbot.catalog.models import FORMATS, Checkpoint, Model
from reviewbot.catalog.tensors import Tensor, tensors
from reviewbot.fit.layout import Layout, Split, at_least, split_of, stages


@dataclass(frozen=True, slots=True)
class StageWeights:
    """Weights of the fullest GPU of one pipeline stage, in bytes, by class of tensor; ``layers`` counts the main layers of the stage."""

    layers: int
    groups: Mapping[str, float]

    @property
    def bytes(self) -> float:
        """All classes together."""
        return sum(self.groups.values())

    @property
    def gib(self) -> float:
        """All classes together, in GiB."""
        return self.bytes / GIB


@dataclass(frozen=True, slots=True)
class Padding:
    """What an expert's intermediate and hidden sizes are rounded up to on a rank, and why."""

    intermediate: int = 1
    hidden: int = 1
    why: str = ""


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def expert_padding(form: str, layout: Layout, gpu: Gpu | None, family: str | None = None) -> Padding:
    """How the engine pads MoE experts of the number format ``form`` on ``gpu`` for a model of ``family``."""
    amd = gpu is not None and gpu.vendor == "amd"
    architecture = gpu.architecture if gpu is not None else ""
    backend = (layout.moe_backend or "").lower()
    if form == "mxfp4" and layout.engine in ("vllm", "atom"):
        if layout.engine == "atom" or amd:
            if family == "k3":
                return Padding(128, 128, "AITER MXFP4 experts of Kimi-K3 pad to multiples of 128")
            if layout.engine == "vllm" and family != "gqa" and at_least(layout.version, 0, 33):
                return Padding(128, 128, "vLLM 0.33 on ROCm pads MXFP4 experts to multiples of 128")
            return Padding(256, 256, "ROCm MXFP4 expert kernels pad to multiples of 256")
        if "megakernel" in backend or backend in ("deep_gemm_mega_moe",):
            return Padding()
        if "marlin" in backend:
            return Padding(128, 256, "Marlin MXFP4 experts: 128 intermediate, 256 hidden")
        if any(one in backend for one in ("cutlass", "deepgemm", "deep_gemm")):
            return Padding(128, 128, "CUTLASS/DeepGEMM MXFP4 experts: multiples of 128")
        if architecture == "sm90" and "trtllm" not in backend:
            return Padding(64, 256, "Triton MXFP4 experts on Hopper: the hidden size in the swizzled layout is padded to 256")
        if architecture == "sm120":
            return Padding(128, 256, "Marlin MXFP4 experts: 128 intermediate, 256 hidden")
        if not architecture and "trtllm" not in backend:
            return Padding()
        if not at_least(layout.version, 0, 27):
            return Padding(256, 256, "vLLM before 0.27, TRT-LLM-gen MXFP4 experts: multiples of 256")
        return Padding(128, 256, "vLLM 0.27 and newer, TRT-LLM-gen MXFP4 experts: 128 intermediate, 256 hidden")
    if form == "mxfp4" and layout.engine == "sglang":
        if amd and family == "k3":
            return Padding(128, 128, "AITER MXFP4 experts of Kimi-K3 pad to multiples of 128")
        if amd:
            return Padding(256, 256, "AITER MXFP4 experts pad to multiples of 256")
        if architecture in ("sm100", "sm103"):
            return Padding(128, 128, "FlashInfer TRT-LLM-gen MXFP4 experts: multiples of 128")
        return Padding(64, 64, "Triton MXFP4 experts: multiples of 64")
    if form == "nvfp4" and layout.engine in ("vllm", "sglang"):
        return Padding(64, 1, "FlashInfer NVFP4 experts: gated intermediate padded to multiples of 64")
    return Padding()


def loaded_format(tensor: Tensor, layout: Layout, gpu: Gpu | None) -> str:
    """The number format of ``tensor`` once loaded: GPUs without MXFP8 arithmetic hold such attention and dense layers in bf16; routed
    and shared experts keep their bytes (weight-only kernels)."""
    if tensor.format == "mxfp8" and tensor.split not in ("expert", "shared") and gpu is not None and gpu.architecture in ("sm90", "gfx942"):
        return "bf16"
    return tensor.format


def _kv_share(heads: int, tp: int) -> float:
    """Part of the key and value projections on one rank: whole heads, at least one."""
    return math.ceil(heads / tp) / heads if heads else 1.0


def tensor_bytes(tensor: Tensor, layers: int, layout: Layout, split: Split, gpu: Gpu | None, model: Model) -> float:
    """Bytes of ``layers`` layers of ``tensor`` on the fullest rank."""
    vocabulary = model.number("vocab_size")
    each = tensor.parameters * FORMATS[loaded_format(tensor, layout, gpu)]
    if tensor.split == "heads":
        return each * layers / split.attention_tp
    if tensor.split == "kv":
        return each * layers * _kv_share(tensor.heads, split.attention_tp)
    if tensor.split == "dense":
        return each * layers / split.dense_tp
    if tensor.split == "shared":
        if model.family == "dsv4" and layout.engine == "vllm" and tensor.format == "fp8" and tensor.width:
            # the newest vLLM gives every rank whole blocks of 128 and fills the rest with zeros
            blocks = math.ceil(tensor.width / 128 / split.shared_tp)
            return each * layers * blocks * 128 / tensor.width
        return each * layers / split.shared_tp
    if tensor.split == "vision":
        return each * layers / split.attention_tp
    if tensor.split in ("embedding", "head"):
        tp = split.embedding_tp if tensor.split == "embedding" else split.head_tp
        padded = _up(_up(vocabulary, 64), tp) if vocabulary else 0
        return each * layers / tp * (padded / vocabulary if vocabulary else 1.0)
    if tensor.split == "expert":
        experts = math.ceil((tensor.copies + layout.redundant_experts) / split.moe_ep)
        if not tensor.width:
            return each * layers * experts / (split.moe_tp if tensor.depth else 1)
        padding = expert_padding(tensor.format, layout, gpu, model.family)
        width = _up(math.ceil(tensor.width / split.moe_tp), padding.intermediate)
        depth = _up(tensor.depth, padding.hidden)
        return tensor.matrices * width * depth * FORMATS[loaded_format(tensor, layout, gpu)] * layers * experts
    return each * layers


def weights_layout(layout: Layout) -> Layout:
    """``layout`` without what its weights do not depend on."""
    return Layout(
        layout.engine,
        layout.tp,
        layout.pp,
        layout.dp,
        layout.ep,
        layout.cp,
        dp_attention=layout.dp_attention,
        version=layout.version,
        redundant_experts=layout.redundant_experts,
        mtp=layout.mtp,
        draft_gib=layout.draft_gib,
        moe_backend=layout.moe_backend,
        all_to_all=layout.all_to_all,
        moe_dense_tp=layout.moe_dense_tp,
        moe_dp=layout.moe_dp,
        dp_lm_head=layout.dp_lm_head,
        partition=layout.partition,
        absorbed=layout.absorbed,
        language_only=layout.language_only,
    )


@lru_cache(maxsize=4096)
def weights(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu | None = None) -> tuple[StageWeights, ...]:
    """The weights of each pipeline stage. Raises ``ModelError`` where the model's facts do not suffice; an empty tuple is a partition
    that is not possible."""
    split = split_of(layout)
    count = model.number("num_hidden_layers")
    parts = stages(layout, count)
    absorbed = layout.absorbed and not (layout.engine == "vllm" and not at_least(layout.version, 0, 7))
    result: list[StageWeights] = []
    start = 0
    for index, size in enumerate(parts):
        first, last = index == 0, index == len(parts) - 1
        groups: dict[str, float] = {}
        for tensor in tensors(model, checkpoint):
            if tensor.absorbed and not absorbed and tensor.group != "mtp":
                continue
            draft = tensor.group == "mtp"
            if draft:
                if not last or not layout.mtp or tensor.split in ("embedding", "head") or (tensor.absorbed and not absorbed):
                    continue
                here = len(tensor.layers)
            elif tensor.layers:
                here = len(tensor.layers) if len(parts) == 1 else sum(1 for one in tensor.layers if start <= one < start + size)
            elif tensor.split in ("embedding", "vision", "first"):
                here = 1 if first else 0
            else:
                here = 1 if last else 0
            if here and not (tensor.split == "vision" and layout.language_only):
                group = "absorbed copies" if tensor.absorbed and not draft else tensor.group
                groups[group] = groups.get(group, 0.0) + tensor_bytes(tensor, here, layout, split, gpu, model)
        if last and layout.mtp and layout.engine == "sglang" and model.number("num_nextn_predict_layers", 0):
            # the draft loads its own embedding and head before it shares those of the main model
            for tensor in tensors(model, checkpoint):
                if tensor.group in ("embedding", "head"):
                    groups["mtp"] = groups.get("mtp", 0.0) + tensor_bytes(tensor, 1, layout, split, gpu, model)
        if last and layout.draft_gib:
            groups["draft model"] = layout.draft_gib * GIB
        result.append(StageWeights(size, groups))
        start += size
    return tuple(result)


_NATIVE_FP4 = ("sm100", "sm103", "gfx950")


def doubts(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu | None) -> tuple[str, ...]:
    """Why the weights of this layout cannot be told from facts, where they cannot."""
    result: list[str] = []
    experts = checkpoint.layout.get("experts")
    if (
        layout.engine == "sglang"
        and experts == "mxfp4"
        and model.family == "dsv4"
        and gpu is not None
        and gpu.architecture not in _NATIVE_FP4
    ):
        result.append(
            f"SGLang repacks the MXFP4 experts of DeepSeek V4 on {gpu.name.upper()} at load and how is not known: at TP8 on H200 125.4 to "
            "125.7 GiB a GPU were measured, 24 GiB above the checkpoint's share"
        )
    if layout.engine == "vllm" and experts == "mxfp4" and model.family == "dsv4" and gpu is not None and gpu.architecture == "gfx942":
        result.append(
            f"vLLM's layout of the MXFP4 experts of DeepSeek V4 on {gpu.name.upper()} is not known: 122 GiB a GPU are published for TP8, "
            "20 GiB above the checkpoint's share"
        )
    if layout.engine == "trtllm" and experts == "mxfp4" and gpu is not None and gpu.architecture == "sm90":
        result.append("TensorRT-LLM's MXFP4 expert layout on Hopper is not known")
    return tuple(result)
