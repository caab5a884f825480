"""The facts: complete, sourced, of the declared form, and as large as the published files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from reviewbot.catalog.gpus import all_gpus, find_gpu
from reviewbot.catalog.models import DIRECTORY, ModelError, all_models, find_model, model_file_from_config, model_from_data
from reviewbot.catalog.tensors import checkpoint_bytes, parameters, tensors

_SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "model.schema.json").read_text(encoding="utf-8"))
_FILES = sorted(DIRECTORY.glob("*.json"))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_file_has_the_declared_form_and_a_source_for_everything(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(data, _SCHEMA)
    assert data["name"] == path.stem
    for checkpoint in data["checkpoints"]:
        assert len(checkpoint["source"]) > 10
        assert ("unknown" in checkpoint["source"] or "assumed" in checkpoint["source"]) <= checkpoint["assumed"]
    assert "arch" in data["sources"]


def test_all_models_are_there() -> None:
    assert len(all_models()) == 21
    assert sum(len(model.checkpoints) for model in all_models().values()) >= 50


# total parameters without draft layers, as the model cards state them, in units of the last digit
_PARAMETERS = {
    "deepseek-r1": 671_026_404_352,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "qwen3-235b-a22b": 235_093_610_496,
}


@pytest.mark.parametrize(("name", "count"), _PARAMETERS.items())
def test_parameters_are_those_of_the_architecture(name: str, count: int) -> None:
    model = all_models()[name]
    groups = parameters(model, model.checkpoints[0])
    assert abs(sum(groups.values()) - groups.get("mtp", 0) - count) < 200_000


_PUBLISHED = [
    pytest.param(model, checkpoint, id=f"{model.name}-{checkpoint.precision}")
    for model in all_models().values()
    for checkpoint in model.checkpoints
    if checkpoint.published_bytes
]

# The published exclude list (everything but routed experts in bf16) gives 563 GB; the stated 557 GB is not explained by it.
_CONTRADICTED = {("kimi-k2.5", "mxfp4"): 0.012}


@pytest.mark.parametrize(("model", "checkpoint"), _PUBLISHED)
def test_checkpoint_is_as_large_as_published(model, checkpoint) -> None:  # type: ignore[no-untyped-def]
    limit = _CONTRADICTED.get((model.name, checkpoint.precision), 0.005)
    assert checkpoint_bytes(model, checkpoint) == pytest.approx(checkpoint.published_bytes, rel=limit)


def test_published_v3_weights_include_the_draft_embedding() -> None:
    model = all_models()["deepseek-r1"]
    assert checkpoint_bytes(model, model.checkpoint("fp8")) == pytest.approx(688.59e9, rel=0.001)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("dsr1", "deepseek-r1"),
        ("nvidia/GLM-5.2-NVFP4", "glm-5.2"),
        ("/models/glm-5.2-nvfp4", "glm-5.2"),
        ("/raid/models/kimi-k3/", "kimi-k3"),
        ("hf:moonshotai/Kimi-K3", "kimi-k3"),
        ("Qwen/Qwen3.5-397B-A17B-NVFP4-V2", "qwen3.5-397b-a17b"),
        ("deepseek-r1-fp4", "deepseek-r1"),
        ("amd/DeepSeek-R1-0528-MXFP4-Preview", "deepseek-r1"),
        ("deepseek-r1-distill-qwen-32b", None),
        ("glm-5.3-fp8", None),
        ("", None),
    ],
)
def test_lookup(text: str, name: str | None) -> None:
    model = find_model(text)
    assert (model.name if model else None) == name


@pytest.mark.parametrize(
    ("model", "precision", "checkpoint"),
    [
        ("deepseek-r1", "fp4", "nvfp4"),
        ("deepseek-r1", "fp8", "fp8"),
        ("deepseek-v4-pro", "fp4", "fp4fp8"),
        ("kimi-k3", "fp4", "mxfp4"),
        ("gpt-oss-120b", "fp4", "mxfp4"),
        ("minimax-m3", "fp8", "mxfp8"),
        ("kimi-k2.5", "int4", "int4"),
        ("qwen3-8b", "fp4", None),
    ],
)
def test_precision_label_chooses_a_checkpoint(model: str, precision: str, checkpoint: str | None) -> None:
    found = all_models()[model].checkpoint(precision)
    assert (found.precision if found else None) == checkpoint


def test_no_class_of_tensors_is_empty_or_negative() -> None:
    for model in all_models().values():
        for checkpoint in model.checkpoints:
            for tensor in tensors(model, checkpoint):
                assert tensor.parameters > 0 or not tensor.layers, (model.name, tensor.name)


def test_gpus_keep_gb_and_gib_apart() -> None:
    for gpu in all_gpus().values():
        assert gpu.usable_gib < gpu.marketed_gb * 1.05
        assert gpu.free_gib[0] < gpu.free_gib[1] < gpu.usable_gib
        assert gpu.sources
    assert len(all_gpus()) == 10


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("B200", "b200"),
        ("cluster:b200-dgxc", "b200"),
        ("RTX PRO 6000", "rtx6000pro"),
        ("rtx6000pro-lat", "rtx6000pro"),
        ("gb300-nv", "gb300"),
        ("L20", None),
    ],
)
def test_gpu_lookup(text: str, name: str | None) -> None:
    gpu = find_gpu(text)
    assert (gpu.name if gpu else None) == name


_CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
}


def test_config_becomes_a_model_file() -> None:
    data = model_file_from_config(_CONFIG, "mine", "config.json")
    jsonschema.validate(data, _SCHEMA)
    model = model_from_data(data)
    known = all_models()["qwen3-30b-a3b"]
    assert checkpoint_bytes(model, model.checkpoints[0]) == checkpoint_bytes(known, known.checkpoints[0])


def test_unknown_stays_unknown() -> None:
    strange = model_file_from_config({**_CONFIG, "architectures": ["NewForCausalLM"]}, "mine", "config.json")
    assert strange["family"] is None
    with pytest.raises(ModelError, match="NewForCausalLM"):
        tensors(model_from_data(strange), model_from_data(strange).checkpoints[0])
    odd = model_file_from_config({**_CONFIG, "quantization_config": {"quant_method": "new"}}, "mine", "config.json")
    assert odd["checkpoints"][0]["layout"] == {}
    with pytest.raises(ModelError, match="formats"):
        tensors(model_from_data(odd), model_from_data(odd).checkpoints[0])
    seeing = model_file_from_config({**_CONFIG, "vision_config": {}}, "mine", "config.json")
    assert "vision_params" not in seeing["arch"]


@pytest.mark.parametrize(
    "config",
    [
        {},
        [],
        None,
        3,
        {"architectures": "x"},
        {"hidden_size": 0, "num_hidden_layers": 1},
        {"hidden_size": 8, "num_hidden_layers": 10**9},
        {"hidden_size": 8, "num_hidden_layers": -1},
        {"hidden_size": 8, "num_hidden_layers": "4"},
        {"hidden_size": 8, "num_hidden_layers": 4, "full_attention_interval": 0},
        {"hidden_size": 8, "num_hidden_layers": 4, "compress_ratios": 4},
        {"hidden_size": 8, "num_hidden_layers": 4, "indexer_types": [[]]},
        {"hidden_size": 8, "num_hidden_layers": 4, "vocab_size": 1e400},
    ],
)
def test_not_a_config(config: object) -> None:
    with pytest.raises(ModelError):
        model_file_from_config(config, "mine", "config.json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data", [{}, {"version": 2}, {"version": 1, "name": "x"}, {"version": 1, "name": "x", "family": "gqa", "arch": {}, "checkpoints": [1]}]
)
def test_not_a_model_file(data: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        model_from_data(data)
