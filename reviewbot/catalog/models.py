"""Model facts: architecture numbers and the number format of every tensor class, one JSON file a model, a source for each value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).with_name("models")

FORMATS: Mapping[str, float] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp8": 1.0 + 4 / (128 * 128),  # 128x128 blocks, one fp32 scale each
    "fp8t": 1.0,  # one scale a tensor or channel
    "mxfp8": 1.0 + 1 / 32,
    "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32,
    "int4g32": 0.5 + 2 / 32,
}
"""Bytes a weight, scales included."""

FAMILIES = ("gqa", "mla", "dsa", "dsv4", "k3", "qwen35", "m3")

_FAMILY_OF_ARCHITECTURE: Mapping[str, str] = {
    "LlamaForCausalLM": "gqa",
    "MistralForCausalLM": "gqa",
    "Qwen2ForCausalLM": "gqa",
    "Qwen3ForCausalLM": "gqa",
    "Qwen3MoeForCausalLM": "gqa",
    "MiniMaxM2ForCausalLM": "gqa",
    "GptOssForCausalLM": "gqa",
    "DeepseekV3ForCausalLM": "mla",
    "KimiK25ForConditionalGeneration": "mla",
    "DeepseekV32ForCausalLM": "dsa",
    "GlmMoeDsaForCausalLM": "dsa",
    "DeepseekV4ForCausalLM": "dsv4",
    "KimiK3ForConditionalGeneration": "k3",
    "Qwen3_5MoeForConditionalGeneration": "qwen35",
    "MiniMaxM3ForCausalLM": "m3",
}


class ModelError(ValueError):
    """A model file or a ``config.json`` that cannot be read as facts."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A published set of weights: ``layout`` names the format of each tensor class (``attn``, ``shared``, ``dense``, ``experts``, ``head``,
    ``mtp`` ...), ``assumed`` where no source gives the list of excluded layers. ``published_bytes`` is the stated size on disk in bytes."""

    precision: str
    hf_ids: tuple[str, ...]
    layout: Mapping[str, Any]
    assumed: bool
    source: str
    published: bool = True
    kv_dtype: str | None = None
    draft_bytes: int = 0  # a draft model in the same files, of which the size alone is known
    published_bytes: int | None = None
    published_bytes_source: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is known of one model; equal only to itself. ``arch`` holds the numbers under their ``config.json`` names; a missing one is
    unknown."""

    name: str
    family: str | None
    arch: Mapping[str, Any]
    checkpoints: tuple[Checkpoint, ...]
    aliases: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int | None = None) -> int:
        """The architecture number ``name``; ``ModelError`` where neither it nor a default is known."""
        value = self.arch.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ModelError(f"{self.name}: {name} is not known")
        return value

    def checkpoint(self, precision: str) -> Checkpoint | None:
        """The checkpoint in ``precision`` (``fp4``, ``fp8``, ``nvfp4``, ``bf16``, ``int4`` ...): the exact name first, else the one
        published in that width."""
        wanted = precision.lower().replace("-", "_")
        for one in self.checkpoints:
            if one.precision == wanted:
                return one
        widths = {
            "fp4": ("nvfp4", "fp4fp8", "mxfp4", "nvfp4_v2"),
            "nvfp4": ("nvfp4_v2",),
            "mxfp4": ("fp4fp8",),
            "fp4+fp8": ("fp4fp8",),
            "fp8": ("fp8", "mxfp8"),
            "int4": ("int4",),
            "w4a16": ("int4",),
            "bf16": ("bf16",),
            "fp16": ("bf16",),
            "auto": tuple(one.precision for one in self.checkpoints if one.published),
        }.get(wanted, ())
        if wanted == "fp4" and any(one.precision == "fp4fp8" for one in self.checkpoints):
            widths = ("fp4fp8",)
        elif wanted == "fp4" and self.name == self.base_of("mxfp4"):
            widths = ("mxfp4", "nvfp4")
        for name in widths:
            for one in self.checkpoints:
                if one.precision == name and one.published:
                    return one
        return None

    def base_of(self, precision: str) -> str | None:
        """This model's name where its makers themselves publish it in ``precision`` (the first checkpoint), else ``None``."""
        return self.name if self.checkpoints and self.checkpoints[0].precision == precision else None

    def checkpoint_of(self, hf_id: str) -> Checkpoint | None:
        """The checkpoint that is published under ``hf_id``."""
        wanted = _key(hf_id)
        for one in self.checkpoints:
            if any(_key(name) == wanted for name in one.hf_ids):
                return one
        tail = wanted.rsplit("/", 1)[-1]
        for one in self.checkpoints:
            if any(_key(name).rsplit("/", 1)[-1] == tail for name in one.hf_ids):
                return one
        return None


def _key(text: str) -> str:
    return text.strip().strip("/").lower().replace("_", "-")


def model_from_data(data: Mapping[str, Any]) -> Model:
    """A model from the content of its file. Raises ``ModelError`` where the content does not have the form of
    ``schemas/model.schema.json``."""
    try:
        if data["version"] != 1:
            raise ModelError(f"model file version {data['version']!r}: only 1 is known")
        checkpoints = tuple(
            Checkpoint(
                precision=one["precision"],
                hf_ids=tuple(one["hf_ids"]),
                layout=one["layout"],
                assumed=bool(one["assumed"]),
                source=one["source"],
                published=bool(one.get("published", True)),
                kv_dtype=one.get("kv_dtype"),
                draft_bytes=(one.get("draft_bytes") or {}).get("value", 0),
                published_bytes=(one.get("published_bytes") or {}).get("value"),
                published_bytes_source=(one.get("published_bytes") or {}).get("source"),
            )
            for one in data["checkpoints"]
        )
        for checkpoint in checkpoints:
            for name, value in checkpoint.layout.items():
                if isinstance(value, str) and value not in FORMATS:
                    raise ModelError(f"{data['name']}: {checkpoint.precision}: {name}: format {value!r} is not known")
        _check_arch(data["arch"])
        return Model(
            name=data["name"],
            family=data["family"],
            arch=data["arch"],
            checkpoints=checkpoints,
            aliases=tuple(data.get("aliases", ())),
            architectures=tuple(data.get("architectures", ())),
            sources=data.get("sources", {}),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"not a model file: {type(error).__name__}: {error}") from None


_MOST_LAYERS = 10_000
_LISTS = {"indexer_types": str, "compress_ratios": int, "full_attn_layers": int}


def _check_arch(arch: Mapping[str, Any]) -> None:
    """Raises ``ModelError`` for numbers that no model can have."""
    for key, value in arch.items():
        if isinstance(value, (list, tuple)):
            kind = _LISTS.get(key)
            if kind is None or len(value) > _MOST_LAYERS or not all(isinstance(one, kind) for one in value):
                raise ModelError(f"{key} is not a list of {kind.__name__ if kind else 'anything known'}")
        elif key in _LISTS or not isinstance(value, (int, float, bool)):
            raise ModelError(f"{key} is not of the right kind: {value!r:.40}")
        elif not 0 <= value < 1 << 48:
            raise ModelError(f"{key} is out of range: {value}")
    layers, drafts = arch.get("num_hidden_layers", 0), arch.get("num_nextn_predict_layers", 0)
    if (
        not 1 <= layers <= _MOST_LAYERS
        or drafts > _MOST_LAYERS
        or arch.get("full_attention_interval", 1) < 1
        or arch.get("hidden_size", 0) < 1
    ):
        raise ModelError("the number of layers or their interval is out of range")


def read_model(path: Path) -> Model:
    """The model of one file. Raises ``ModelError`` where it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path.name}: {error}") from None
    if not isinstance(data, dict):
        raise ModelError(f"{path.name}: not an object")
    return model_from_data(data)


@lru_cache(maxsize=8)
def _catalogue(directories: tuple[Path, ...]) -> tuple[Mapping[str, Model], Mapping[str, Model]]:
    models: dict[str, Model] = {}
    names: dict[str, Model] = {}
    for directory in directories:
        for path in sorted(directory.glob("*.json")):
            model = read_model(path)
            models[model.name] = model
            for name in (model.name, *model.aliases, *(hf for one in model.checkpoints for hf in one.hf_ids)):
                names[_key(name)] = model
    return models, names


def all_models(*directories: Path) -> Mapping[str, Model]:
    """Every model by name; ``directories`` add a user's own files, which win over the built-in ones."""
    return _catalogue((DIRECTORY, *directories))[0]


def find_model(name: str, *directories: Path) -> Model | None:
    """The model that ``name`` means: its name, an alias, a Hugging Face id, or a path or id whose last part is one of those or continues
    one with a dash. The longest match wins; ``None`` where nothing matches."""
    names = _catalogue((DIRECTORY, *directories))[1]
    wanted = _key(name)
    if wanted in names:
        return names[wanted]
    tail = wanted.rsplit("/", 1)[-1]
    tails = {one.rsplit("/", 1)[-1]: model for one, model in names.items()}
    if tail in tails:
        return tails[tail]
    best = max((one for one in tails if tail.startswith(one + "-")), key=len, default=None)
    if best is None:
        return None
    rest = tail[len(best) + 1 :]
    return tails[best] if _VARIANT.fullmatch(rest) else None


_VARIANT = re.compile(
    r"(?:(?:nv|mx)?fp[48]|bf16|fp16|int4|awq|v\d+|preview|instruct|base|thinking|hf|\d{4}|kv|quark)(?:-(?:(?:nv|mx)?fp[48]|bf16|v\d+|preview|kv|\d{4}))*"
)


def names() -> Iterator[str]:
    """The names of the built-in models."""
    yield from all_models()


_ARCH_KEYS = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "kv_lora_rank", "qk_rope_head_dim",
    "qk_nope_head_dim", "v_head_dim", "q_lora_rank", "first_k_dense_replace", "intermediate_size", "moe_intermediate_size",
    "n_routed_experts", "n_shared_experts", "num_experts_per_tok", "vocab_size", "max_position_embeddings", "num_nextn_predict_layers",
    "tie_word_embeddings", "index_n_heads", "index_head_dim", "index_topk", "indexer_types", "sliding_window", "o_groups", "o_lora_rank",
    "compress_ratios", "hc_mult", "num_hash_layers", "routed_expert_hidden_size", "full_attn_layers", "full_attention_interval",
    "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim", "linear_conv_kernel_dim",
    "shared_expert_intermediate_size", "attention_bias",
)  # fmt: skip

_RENAMED = {"num_experts": "n_routed_experts", "num_local_experts": "n_routed_experts", "mtp_num_hidden_layers": "num_nextn_predict_layers"}


def model_file_from_config(config: Mapping[str, Any], name: str, source: str, hf_id: str | None = None) -> dict[str, Any]:
    """The content of a model file from a Hugging Face ``config.json``. What the config does not say stays out and is unknown later: an
    architecture that is not known gives ``family`` null, a quantisation that is not known a checkpoint without a layout.

    Raises ``ModelError`` where the config is not one of a model.
    """
    if not isinstance(config, Mapping):
        raise ModelError("config.json is not an object")
    inner = config.get("text_config")
    text: dict[str, Any] = {**config, **inner} if isinstance(inner, Mapping) else dict(config)
    architectures = [str(one) for one in config.get("architectures") or [] if isinstance(one, str)]
    arch: dict[str, Any] = {key: text[key] for key in _ARCH_KEYS if text.get(key) is not None}
    for old, new in _RENAMED.items():
        if text.get(old) is not None and new not in arch:
            arch[new] = text[old]
    if not arch.get("hidden_size") or not arch.get("num_hidden_layers"):
        raise ModelError("config.json names neither hidden_size nor num_hidden_layers")
    family = next((_FAMILY_OF_ARCHITECTURE[one] for one in architectures if one in _FAMILY_OF_ARCHITECTURE), None)
    if family == "gqa" and "head_dim" not in arch and arch.get("num_attention_heads"):
        arch["head_dim"] = arch["hidden_size"] // arch["num_attention_heads"]
    if family == "gqa" and "moe_intermediate_size" not in arch and arch.get("n_routed_experts"):
        arch["moe_intermediate_size"] = arch.get("intermediate_size")
    arch.setdefault("vision_params", 0 if "vision_config" not in config else None)
    layout, precision = _quantisation(text.get("quantization_config"))
    checkpoint = {
        "precision": precision,
        "hf_ids": [hf_id] if hf_id else [],
        "layout": layout,
        "assumed": True,
        "source": f"{source} (quantization_config)" if text.get("quantization_config") else f"{source} (unquantised)",
    }
    arch = {key: value for key, value in arch.items() if value is not None}
    _check_arch(arch)
    return {
        "version": 1,
        "name": name,
        "aliases": [],
        "architectures": architectures,
        "family": family,
        "arch": arch,
        "checkpoints": [checkpoint],
        "sources": {"arch": source},
    }


def _quantisation(config: Any) -> tuple[dict[str, str], str]:
    """Layout and precision name of a ``quantization_config``; an empty layout where it is not understood."""
    classes = ("attn", "shared", "dense", "experts", "mtp")
    if not isinstance(config, Mapping):
        return {**dict.fromkeys(classes, "bf16"), "head": "bf16"}, "bf16"
    method = str(config.get("quant_method", "")).lower()
    if method == "fp8":
        form = "fp8" if config.get("weight_block_size") == [128, 128] else "fp8t" if config.get("weight_block_size") is None else ""
        if form:
            return {**dict.fromkeys(classes, form), "head": "bf16"}, "fp8"
    if method == "mxfp4":
        return {"attn": "bf16", "shared": "bf16", "dense": "bf16", "experts": "mxfp4", "mtp": "bf16", "head": "bf16"}, "mxfp4"
    return {}, method or "unknown"
