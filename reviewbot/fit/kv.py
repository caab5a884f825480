"""Bytes of KV cache a token, and of state a request, on one GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reviewbot.catalog.models import Checkpoint, Model
from reviewbot.catalog.tensors import indexer_layers
from reviewbot.fit.layout import Layout, split_of, stages


@dataclass(frozen=True, slots=True)
class KvCost:
    """``per_token`` bytes (``None``: not linear in tokens, cannot be told), ``highest`` where an engine without a hybrid cache manager
    takes more; ``per_request`` bytes of recurrent state or window; ``why`` explains."""

    per_token: float | None
    highest: float | None
    per_request: float
    why: str


def kv_bytes(name: str | None, checkpoint: Checkpoint) -> tuple[float, str] | None:
    """Bytes an element of the cache and its name; ``None`` where the dtype is not known."""
    text = (name or "auto").lower()
    if text in ("auto", "none", "default"):
        text = checkpoint.kv_dtype or "bf16"
    if text.startswith(("fp8", "float8", "e4m3", "e5m2", "int8")):
        return 1.0, "fp8"
    if text in ("bf16", "bfloat16", "fp16", "float16", "half"):
        return 2.0, "bf16"
    if text in ("nvfp4", "fp4", "fp4_e2m1"):
        return 0.5625, "fp4"
    return None


def kv_cost(model: Model, checkpoint: Checkpoint, layout: Layout) -> KvCost:
    """The cost on a GPU of the pipeline stage with the most cache. Raises ``ModelError`` where the model's facts do not suffice."""
    if model.family == "dsv4":
        return KvCost(None, None, 0.0, "DeepSeek V4 keeps a window, two compressed caches and an index: not linear in tokens")
    if "kv_dtype" in layout.unknown:
        return KvCost(None, None, 0.0, "the dtype of the cache is not known")
    width = kv_bytes(layout.kv_dtype, checkpoint)
    if width is None:
        return KvCost(None, None, 0.0, f"the size of KV dtype {layout.kv_dtype} is not known")
    size, name = width
    split = split_of(layout)
    count = model.number("num_hidden_layers")
    start = 0
    best: KvCost | None = None
    parts = stages(layout, count)
    for index, part in enumerate(parts):
        layers = tuple(range(start, start + part))
        if index == len(parts) - 1 and layout.mtp:
            layers += tuple(range(count, count + model.number("num_nextn_predict_layers", 0)))
        start += part
        cost = _stage(model, layers, size, name, split.attention_tp, max(1, layout.dcp), layout.engine)
        if best is None or (cost.per_token or 0.0) > (best.per_token or 0.0):
            best = cost
    return best or KvCost(None, None, 0.0, "the pipeline partition is not possible")


def _stage(model: Model, layers: tuple[int, ...], size: float, name: str, tp: int, dcp: int, engine: str) -> KvCost:
    state = 0.0
    if model.family in ("mla", "dsa", "k3"):
        latent = model.number("kv_lora_rank") + model.number("qk_rope_head_dim")
        held = layers
        if model.family == "k3":
            full = {int(one) - 1 for one in model.arch["full_attn_layers"]}
            held = tuple(one for one in layers if one in full)
            heads, head = model.number("kda_heads"), model.number("kda_head_dim")
            state = (len(layers) - len(held)) * _recurrent(heads, head, head, 3 * heads * head, model.number("short_conv_kernel_size"), tp)
        each = latent * size
        if model.family == "dsa" and name == "fp8" and engine in ("vllm", "sglang"):
            # fp8 latent, four fp32 scales, rope in bf16
            each = model.number("kv_lora_rank") + 16 + model.number("qk_rope_head_dim") * 2
        total = len(held) * each
        why = f"{len(held)} layers x {each:g} B ({name} latent of {latent}, on every rank)"
        if model.family == "dsa":
            index = len(indexer_layers(model, layers))
            total += index * (model.number("index_head_dim") + 4)
            why += f" + {index} index layers x {model.number('index_head_dim') + 4} B"
        return KvCost(total / dcp, total / dcp, state, why + (f" / {dcp} context-parallel ranks" if dcp > 1 else ""))
    heads, depth = model.number("num_key_value_heads"), model.number("head_dim")
    share = math.ceil(heads / tp)
    each = 2 * share * depth * size
    if model.family == "qwen35":
        interval = model.number("full_attention_interval")
        count = model.number("num_hidden_layers")
        full_layers = tuple(one for one in layers if one >= count or (one + 1) % interval == 0)
        keys = model.number("linear_num_key_heads") * model.number("linear_key_head_dim")
        values = model.number("linear_num_value_heads") * model.number("linear_value_head_dim")
        state = (len(layers) - len(full_layers)) * _recurrent(
            model.number("linear_num_value_heads"), model.number("linear_key_head_dim"), model.number("linear_value_head_dim"),
            2 * keys + values, model.number("linear_conv_kernel_dim"), tp,
        )  # fmt: skip
        total = len(full_layers) * each
        return KvCost(
            total / dcp, total / dcp, state, f"{len(full_layers)} full-attention layers x 2 x {share} KV heads x {depth} x {size:g} B"
        )
    window = model.arch.get("sliding_window")
    total = len(layers) * each
    if isinstance(window, int) and window > 0 and model.architectures[:1] == ("GptOssForCausalLM",):
        full_count = (len(layers) + 1) // 2
        windowed = len(layers) - full_count
        low = full_count * each
        return KvCost(low / dcp, total / dcp, windowed * window * each,
                      f"{full_count} full layers x {each:g} B; {windowed} layers hold a window of {window} tokens")  # fmt: skip
    if isinstance(window, int) and window > 0:
        return KvCost(None, total / dcp, 0.0, f"a window of {window} tokens: which layers use it is not known")
    why = f"{len(layers)} layers x 2 x {share} KV heads x {depth} x {size:g} B"
    if model.family == "m3":
        dense = model.number("first_k_dense_replace", 0)
        index = sum(1 for one in layers if one >= dense)
        total += index * model.number("index_head_dim") * size
        why += f" + {index} index layers x {model.number('index_head_dim') * size:g} B"
    return KvCost(total / dcp, total / dcp, state, why)


def _recurrent(heads: int, keys: int, values: int, channels: int, kernel: int, tp: int) -> float:
    """Bytes a layer and request of linear attention's state (fp32) and of its convolution (bf16)."""
    return (heads * keys * values * 4 + channels * (kernel - 1) * 2) / tp
