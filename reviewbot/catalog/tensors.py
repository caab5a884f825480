"""The tensors of a model by class, from its architecture numbers: how many parameters, in which layers, in which format, and how engines
may split them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from reviewbot.catalog.models import FORMATS, Checkpoint, Model, ModelError

SPLITS = ("heads", "kv", "replicated", "dense", "shared", "expert", "embedding", "head", "vision", "first", "last")
"""How a tensor may be split: by attention ``heads``; by ``kv`` heads (one head at least on each rank); ``replicated`` always; ``dense`` and
``shared`` MLPs by their width; whole or sliced ``expert`` tensors; ``embedding`` and ``head`` by vocabulary; the ``vision`` tower."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One kind of tensor. ``parameters`` counts one layer (and one expert, where ``split`` is ``expert``); ``layers`` are the layers that
    have it, counted from 0, draft (MTP) layers following the main ones; an empty tuple is outside of the layers."""

    name: str
    group: str  # attention, latent, router, routed experts, shared experts, dense, norm, embedding, head, mtp, vision
    split: str
    parameters: int
    format: str
    layers: tuple[int, ...] = ()
    copies: int = 1
    width: int = 0  # expert tensors: intermediate size; the dimension that is cut
    depth: int = 0  # expert tensors: hidden size
    matrices: int = 3
    heads: int = 0  # kv tensors: number of heads
    absorbed: bool = False  # a copy the engine makes at load, not in the checkpoint

    @property
    def bytes_each(self) -> float:
        """Bytes of one layer's (one expert's) tensor."""
        return self.parameters * FORMATS[self.format]

    @property
    def total_parameters(self) -> int:
        """Parameters over all layers and copies."""
        return self.parameters * self.copies * max(1, len(self.layers))

    @property
    def total_bytes(self) -> float:
        """Bytes over all layers and copies."""
        return self.total_parameters * FORMATS[self.format]


@dataclass(frozen=True, slots=True)
class _Formats:
    layout: dict[str, object]

    def of(self, group: str, layer: int | None = None, mtp: bool = False) -> str:
        if layer is not None and layer in self._bf16_layers():
            return "bf16"
        names = [f"mtp_{group}", "mtp"] if mtp else [group]
        if group in ("o", "wo_a") and not mtp:
            names.append("attn")
        for name in names:
            value = self.layout.get(name)
            if isinstance(value, str):
                return value
        raise ModelError(f"the format of {'draft ' if mtp else ''}{group} weights is not known")

    def _bf16_layers(self) -> tuple[int, ...]:
        value = self.layout.get("bf16_layers", ())
        return tuple(one for one in value if isinstance(one, int)) if isinstance(value, (list, tuple)) else ()


@lru_cache(maxsize=512)
def tensors(model: Model, checkpoint: Checkpoint) -> tuple[Tensor, ...]:
    """All tensors of ``checkpoint``, and the copies that engines make at load (``absorbed``). Raises ``ModelError`` where a number that is
    needed is not known."""
    return tuple(_tensors(model, checkpoint))


def _tensors(model: Model, checkpoint: Checkpoint) -> Iterator[Tensor]:
    if model.family is None:
        raise ModelError(f"{model.name}: the architecture {', '.join(model.architectures) or '?'} is not known")
    if not checkpoint.layout:
        raise ModelError(f"{model.name}: the number formats of the checkpoint {checkpoint.precision} are not known")
    formats = _Formats(dict(checkpoint.layout))
    hidden, count, vocabulary = model.number("hidden_size"), model.number("num_hidden_layers"), model.number("vocab_size")
    drafts = model.number("num_nextn_predict_layers", 0)
    layers = tuple(range(count))
    special = formats._bf16_layers()
    groups = [tuple(one for one in layers if one not in special), tuple(one for one in layers if one in special)]
    for part in groups:
        if part:
            yield from _attention(model, formats, part, mtp=False, layer=part[0])
            yield from _mlp(model, formats, part, mtp=False, layer=part[0])
    yield Tensor("norms", "norm", "replicated", 2 * hidden, "bf16", layers)
    yield Tensor("embed_tokens", "embedding", "embedding", vocabulary * hidden, "bf16")
    if not model.arch.get("tie_word_embeddings"):
        yield Tensor("lm_head", "head", "head", vocabulary * hidden, formats.of("head"))
    yield Tensor("final_norm", "norm", "last", hidden, "bf16")
    vision = model.arch.get("vision_params", 0)
    if vision is None:
        raise ModelError(f"{model.name}: vision_params is not known")
    if vision:
        yield Tensor("vision_tower", "vision", "vision", int(vision), "bf16")
    if drafts:
        draft = tuple(range(count, count + drafts))
        yield from (_as_mtp(one) for one in _attention(model, formats, draft, mtp=True, layer=None))
        yield from (_as_mtp(one) for one in _mlp(model, formats, draft, mtp=True, layer=None))
        # projections that join the embedding and the hidden state of the main model; the vectors beside them are norms
        joined = (
            formats.of("attn", mtp=True) if model.family == "dsv4" else "bf16" if model.family == "qwen35" else formats.of("attn", mtp=True)
        )
        yield Tensor("mtp.eh_proj", "mtp", "replicated", 2 * hidden * hidden, joined, draft)
        yield Tensor("mtp.norms", "mtp", "replicated", 5 * hidden, "bf16", draft)
        if model.arch.get("mtp_owns_embedding"):
            yield Tensor("mtp.embed_tokens", "mtp", "embedding", vocabulary * hidden, "bf16", draft)
            yield Tensor("mtp.lm_head", "mtp", "head", vocabulary * hidden, "bf16", draft)


def _as_mtp(tensor: Tensor) -> Tensor:
    return replace(tensor, name=f"mtp.{tensor.name}", group="mtp")


def _attention(model: Model, formats: _Formats, layers: tuple[int, ...], *, mtp: bool, layer: int | None) -> Iterator[Tensor]:
    form = formats.of("attn", layer, mtp)
    if model.family in ("mla", "dsa"):
        yield from _latent_attention(model, form, formats.of("o", layer, mtp), layers)
        if model.family == "dsa":
            yield from _indexer(model, form, layers)
    elif model.family == "dsv4":
        yield from _v4_attention(model, form, formats.of("wo_a", layer, mtp), layers)
    elif model.family == "k3":
        full = {int(one) - 1 for one in model.arch.get("full_attn_layers", ())}
        latent = tuple(one for one in layers if one in full)
        linear = tuple(one for one in layers if one not in full)
        yield from _latent_attention(model, form, form, latent, gated=True)
        yield from _kda(model, form, linear)
    elif model.family == "qwen35":
        interval = model.number("full_attention_interval")
        full_layers = layers if mtp else tuple(one for one in layers if (one + 1) % interval == 0)
        yield from _grouped(model, form, full_layers, gated=True)
        if not mtp:
            yield from _gated_delta(model, form, tuple(one for one in layers if (one + 1) % interval))
    elif model.family in ("gqa", "m3"):
        yield from _grouped(model, form, layers, gated=False)
        if model.family == "m3":
            dense = model.number("first_k_dense_replace", 0)
            sparse = tuple(one for one in layers if one >= dense)
            hidden, heads, size = model.number("hidden_size"), model.number("index_n_heads"), model.number("index_head_dim")
            yield Tensor("index_q", "latent", "heads", hidden * heads * size, form, sparse)
            yield Tensor("index_k", "latent", "replicated", hidden * size, form, sparse)
    else:
        raise ModelError(f"{model.name}: the family {model.family!r} is not known")


def _grouped(model: Model, form: str, layers: tuple[int, ...], *, gated: bool) -> Iterator[Tensor]:
    hidden, heads, kv, size = (model.number(one) for one in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
    yield Tensor("q_proj", "attention", "heads", hidden * heads * size * (2 if gated else 1), form, layers)
    yield Tensor("kv_proj", "attention", "kv", 2 * hidden * kv * size, form, layers, heads=kv)
    yield Tensor("o_proj", "attention", "heads", heads * size * hidden, form, layers)
    if model.arch.get("attention_bias"):
        yield Tensor("attention_bias", "attention", "heads", (heads + 2 * kv) * size + hidden, "bf16", layers)


def _latent_attention(model: Model, form: str, out_form: str, layers: tuple[int, ...], *, gated: bool = False) -> Iterator[Tensor]:
    hidden, heads = model.number("hidden_size"), model.number("num_attention_heads")
    q, kv = model.number("q_lora_rank"), model.number("kv_lora_rank")
    nope, rope, value = model.number("qk_nope_head_dim"), model.number("qk_rope_head_dim"), model.number("v_head_dim")
    yield Tensor("q_a", "latent", "replicated", hidden * q, form, layers)
    yield Tensor("kv_a", "latent", "replicated", hidden * (kv + rope), form, layers)
    yield Tensor("latent_norms", "norm", "replicated", q + kv, "bf16", layers)
    yield Tensor("q_b", "attention", "heads", q * heads * (nope + rope), form, layers)
    yield Tensor("kv_b", "attention", "heads", kv * heads * (nope + value), form, layers)
    yield Tensor("o_proj", "attention", "heads", heads * value * hidden, out_form, layers)
    if gated:
        yield Tensor("g_proj", "attention", "heads", hidden * heads * value, form, layers)
    yield Tensor("absorbed_kv_b", "attention", "heads", kv * heads * (nope + value), "bf16", layers, absorbed=True)


def _indexer(model: Model, form: str, layers: tuple[int, ...]) -> Iterator[Tensor]:
    hidden, heads, size, q = (model.number(one) for one in ("hidden_size", "index_n_heads", "index_head_dim", "q_lora_rank"))
    own = indexer_layers(model, layers)
    yield Tensor("indexer.wq_b", "latent", "replicated", q * heads * size, form, own)
    yield Tensor("indexer.wk", "latent", "replicated", hidden * size, form, own)
    yield Tensor("indexer.weights_proj", "latent", "replicated", hidden * heads, "bf16", own)


def indexer_layers(model: Model, layers: tuple[int, ...]) -> tuple[int, ...]:
    """The layers of ``layers`` that compute an index of their own; a draft layer always does."""
    types = model.arch.get("indexer_types")
    return tuple(one for one in layers if not types or one >= len(types) or types[one] == "full")


def compress_ratio(model: Model, layer: int) -> int:
    """DeepSeek V4's compression of ``layer``; 0 for a layer with a window only (a draft layer)."""
    ratios = model.arch.get("compress_ratios") or ()
    return int(ratios[layer]) if layer < len(ratios) else 0


def _v4_attention(model: Model, form: str, out_form: str, layers: tuple[int, ...]) -> Iterator[Tensor]:
    hidden, heads, size, q = (model.number(one) for one in ("hidden_size", "num_attention_heads", "head_dim", "q_lora_rank"))
    rank, groups, index_heads, index_size, mult = (
        model.number(one) for one in ("o_lora_rank", "o_groups", "index_n_heads", "index_head_dim", "hc_mult")
    )
    yield Tensor("wq_a", "latent", "replicated", hidden * q, form, layers)
    yield Tensor("wkv", "latent", "replicated", hidden * size, form, layers)
    yield Tensor("wq_b", "attention", "heads", q * heads * size, form, layers)
    yield Tensor("wo_a", "attention", "heads", heads * size * rank, out_form, layers)
    yield Tensor("wo_b", "attention", "heads", groups * rank * hidden, form, layers)
    mix = (2 + mult) * mult
    yield Tensor("hyper_connections", "latent", "replicated", 2 * (mix * mult * hidden + mix + 3), "fp32", layers)
    fine = tuple(one for one in layers if compress_ratio(model, one) == 4)
    coarse = tuple(one for one in layers if compress_ratio(model, one) > 4)
    yield Tensor("compressor4", "latent", "replicated", 2 * hidden * size * 2 + 4 * 2 * size, "bf16", fine)
    yield Tensor("compressor128", "latent", "replicated", 2 * hidden * size + 128 * size, "bf16", coarse)
    yield Tensor("indexer.wq_b", "latent", "replicated", q * index_heads * index_size, form, fine)
    yield Tensor("indexer.weights_proj", "latent", "replicated", hidden * index_heads, "bf16", fine)
    yield Tensor("indexer.compressor", "latent", "replicated", 2 * hidden * index_size * 2 + 4 * 2 * index_size, "bf16", fine)


def _kda(model: Model, form: str, layers: tuple[int, ...]) -> Iterator[Tensor]:
    hidden, heads, size, kernel = (model.number(one) for one in ("hidden_size", "kda_heads", "kda_head_dim", "short_conv_kernel_size"))
    wide = heads * size
    yield Tensor("kda.qkv", "attention", "heads", 3 * hidden * wide, form, layers)
    yield Tensor("kda.conv", "attention", "heads", 3 * wide * kernel, "bf16", layers)
    yield Tensor("kda.f_a", "latent", "replicated", hidden * size, form, layers)
    yield Tensor("kda.f_b", "attention", "heads", size * wide, form, layers)
    yield Tensor("kda.g_proj", "attention", "heads", hidden * wide, form, layers)
    yield Tensor("kda.beta", "attention", "heads", hidden * heads, form, layers)
    yield Tensor("kda.o_proj", "attention", "heads", wide * hidden, form, layers)


def _gated_delta(model: Model, form: str, layers: tuple[int, ...]) -> Iterator[Tensor]:
    hidden = model.number("hidden_size")
    keys = model.number("linear_num_key_heads") * model.number("linear_key_head_dim")
    heads = model.number("linear_num_value_heads")
    values = heads * model.number("linear_value_head_dim")
    yield Tensor("gdn.in_proj", "attention", "heads", hidden * (2 * keys + 2 * values), form, layers)
    yield Tensor("gdn.ba", "attention", "heads", hidden * 2 * heads, "bf16", layers)
    yield Tensor("gdn.conv", "attention", "heads", (2 * keys + values) * model.number("linear_conv_kernel_dim"), "bf16", layers)
    yield Tensor("gdn.out_proj", "attention", "heads", values * hidden, form, layers)


def _mlp(model: Model, formats: _Formats, layers: tuple[int, ...], *, mtp: bool, layer: int | None) -> Iterator[Tensor]:
    hidden = model.number("hidden_size")
    experts = model.number("n_routed_experts", 0)
    first = model.number("first_k_dense_replace", 0) if experts else model.number("num_hidden_layers") + len(layers)
    dense = tuple(one for one in layers if one < first)
    sparse = tuple(one for one in layers if one >= first)
    if dense:
        yield Tensor("mlp", "dense", "dense", 3 * hidden * model.number("intermediate_size"), formats.of("dense", layer, mtp), dense)
    if not sparse:
        return
    width = model.number("moe_intermediate_size")
    inner = model.number("routed_expert_hidden_size", hidden)
    form = formats.of("experts", layer, mtp)
    yield Tensor("experts", "routed experts", "expert", 3 * inner * width, form, sparse, copies=experts, width=width, depth=inner)
    if model.arch.get("expert_bias"):
        yield Tensor("experts.bias", "routed experts", "expert", 2 * width + inner, "bf16", sparse, copies=experts, width=0, depth=0)
    yield Tensor("router", "router", "replicated", hidden * experts, "bf16", sparse)
    if inner != hidden:
        yield Tensor("expert_latent", "latent", "replicated", 2 * hidden * inner, formats.of("shared", layer, mtp), sparse)
    shared = model.number("n_shared_experts", 0)
    if shared:
        size = model.number("shared_expert_intermediate_size", width * shared)
        yield Tensor("shared_experts", "shared experts", "shared", 3 * hidden * size, formats.of("shared", layer, mtp), sparse, width=size)
        if model.family == "qwen35":
            yield Tensor("shared_expert_gate", "router", "replicated", hidden, "bf16", sparse)


@lru_cache(maxsize=512)
def checkpoint_bytes(model: Model, checkpoint: Checkpoint) -> int:
    """Bytes of the checkpoint's files, from the tensors (headers left out)."""
    return round(sum(one.total_bytes for one in tensors(model, checkpoint) if not one.absorbed)) + checkpoint.draft_bytes


def parameters(model: Model, checkpoint: Checkpoint) -> dict[str, int]:
    """Parameters by class of tensor, draft layers under ``mtp``."""
    result: dict[str, int] = {}
    for one in tensors(model, checkpoint):
        if not one.absorbed:
            result[one.group] = result.get(one.group, 0) + one.total_parameters
    return result
