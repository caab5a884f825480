"""The verbs ``fit`` and ``model`` as a user meets them."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reviewbot.fit.command import add_arguments, add_model_arguments, run, run_model

_SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "fit-report.schema.json").read_text(encoding="utf-8"))


def _run(*arguments: str) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    out, err = io.StringIO(), io.StringIO()
    return run(parser.parse_args(arguments), out, err), out.getvalue(), err.getvalue()


def _json(*arguments: str) -> dict[str, Any]:
    code, out, err = _run(*arguments, "--format", "json")
    assert not err
    data: dict[str, Any] = json.loads(out)
    jsonschema.validate(data, _SCHEMA)
    verdicts = [one["verdict"] for one in data.get("layouts", [data])]
    assert code == (1 if set(verdicts) == {"does-not-fit"} else 0)
    return data


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "atom", "trt"])
@pytest.mark.parametrize("model", ["kimi-k3", "deepseek-v4-pro", "llama-3.1-8b", "qwen3.5"])
def test_table_has_its_schema(model: str, engine: str) -> None:
    data = _json(model, "--gpu", "b200", "--engine", engine)
    assert max(one["layout"]["gpus"] for one in data["layouts"]) == 8
    assert data["advice"]["text"]


def test_one_layout() -> None:
    sizes = "--tp 8 --pp 2 --nodes 2 --gpus-per-node 8 --kv-dtype fp8 --utilization 0.9 --max-model-len 65536 --concurrency 32"
    data = _json("moonshotai/Kimi-K3", "--gpu", "b200", "--engine", "vllm", "--engine-version", "0.33.0", *sizes.split())
    assert data["verdict"] == "fits"
    assert data["kv_bytes_per_token"] == 13 * 576  # the stage with 13 of the 24 latent layers
    assert data["budget_gib"] == pytest.approx(0.9 * data["usable_gib"], abs=1e-3)
    assert data["overhead_gib"]["low"] < data["overhead_gib"]["high"]
    assert data["steps"][-1]["name"] == "verdict"
    assert data["concurrency"] == 32
    assert data["constraints"] == []


def test_refused_layout_names_the_nearest() -> None:
    data = _json("Qwen/Qwen3-235B-A22B-FP8", "--gpu", "h100", "--engine", "vllm", "--tp", "8")
    (constraint,) = data["constraints"]
    assert (constraint["rule"], constraint["value"], constraint["valid"]) == ("fp8-block-experts", 8, [4])
    assert data["verdict"] == "does-not-fit"
    assert data["memory_verdict"] == "fits"
    assert data["advice"]["layout"] is not None


def test_nodes_are_counted() -> None:
    data = _json("kimi-k3", "--gpu", "b200", "--engine", "vllm", "--tp", "8", "--pp", "2", "--nodes", "1")
    assert [one["rule"] for one in data["constraints"]] == ["world-size"]
    assert data["constraints"][0]["valid"] == [2]


def test_dp_attention_and_ep_in_each_notation() -> None:
    sglang = _json(
        "dsr1", "--precision", "fp8", "--gpu", "h200", "--engine", "sglang", "--tp", "8", "--dp", "8", "--ep", "8", "--dp-attention"
    )
    trtllm = _json("dsr1", "--precision", "fp8", "--gpu", "h200", "--engine", "trtllm", "--tp", "8", "--ep", "8", "--dp-attention")
    vllm = _json("dsr1", "--precision", "fp8", "--gpu", "h200", "--engine", "vllm", "--tp", "1", "--dp", "8", "--ep", "8")
    assert sglang["layout"]["gpus"] == trtllm["layout"]["gpus"] == vllm["layout"]["gpus"] == 8
    assert vllm["weights_gib"] == pytest.approx(trtllm["weights_gib"], rel=1e-3)
    assert sglang["weights_gib"] < vllm["weights_gib"]  # the head is split


def test_text_table_has_bars_and_advice() -> None:
    code, out, _ = _run("kimi-k3", "--gpu", "b200", "--precision", "fp4", "--engine", "vllm")
    assert code == 1
    assert "1,560.7 GB = 1,453.5 GiB" in out
    assert "█" in out
    assert "\x1b" not in out  # not a terminal
    assert out.splitlines()[-1].startswith("smallest that fits: TP 8 x PP 2 on 16 GPUs, 2 nodes of 8")


def test_a_gpu_of_another_size() -> None:
    data = _json("qwen3-8b", "--gpu", "rtx5090", "--gpu-memory-gib", "31.35", "--engine", "vllm", "--tp", "1", "--max-model-len", "32768")
    assert data["usable_gib"] == 31.35
    assert data["weights_gib"] == pytest.approx(15.27, rel=0.01)


def test_fp4_on_amd_is_mxfp4() -> None:
    assert _json("qwen3.5", "--gpu", "mi355x", "--precision", "fp4", "--engine", "sglang", "--tp", "8")["precision"] == "mxfp4"
    assert _json("qwen3.5", "--gpu", "b200", "--precision", "fp4", "--engine", "sglang", "--tp", "8")["precision"] == "nvfp4"


def test_text_table_tells_the_smallest_and_its_headroom() -> None:
    code, out, _ = _run("llama-3.1-70b", "--gpu", "h100", "--precision", "bf16", "--engine", "vllm", "--max-model-len", "8192")
    assert code == 0
    last = out.splitlines()[-1]
    assert last.startswith("smallest that fits: TP 4 on 4 GPUs, 1 node of 8: 32.9 GiB of weights a GPU;")
    assert "requests of 8,192 tokens" in last


def test_text_steps() -> None:
    code, out, _ = _run("glm-5.2", "--gpu", "h200", "--precision", "fp8", "--engine", "vllm", "--tp", "8")
    assert code == 0
    for word in ("checkpoint", "weights: routed experts", "budget", "overhead", "left for cache", "verdict"):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "--gpu", "b200", "--engine", "vllm"), "no facts about the model 'nothing'"),
        (("kimi-k3", "--gpu", "b999", "--engine", "vllm"), "the GPU 'b999' is not known"),
        (("kimi-k3", "--gpu", "b200", "--engine", "other"), "the engine 'other' is not known"),
        (("qwen3-8b", "--gpu", "b200", "--engine", "vllm", "--precision", "fp4"), "is not known in fp4; known: bf16"),
        (("qwen3-8b", "--gpu", "b200", "--engine", "vllm", "--pp-partition", "a"), "is not a list of layers"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    code, out, err = _run(*arguments)
    assert code == 2
    assert message in err
    assert not out


def _model(*arguments: str) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    out, err = io.StringIO(), io.StringIO()
    return run_model(parser.parse_args(arguments), out, err), out.getvalue(), err.getvalue()


def test_model_list_and_show() -> None:
    code, out, _ = _model("list")
    assert code == 0
    assert len(out.splitlines()) == 21
    code, out, _ = _model("show", "deepseek-r1")
    assert code == 0
    assert "routed experts" in out
    assert "aiconfigurator@" in out


def test_version_without_a_number_is_the_newest() -> None:
    code, out, err = _run("qwen3-8b", "--gpu", "b200", "--engine", "vllm", "--tp", "1", "--engine-version", "nightly")
    assert code == 0
    assert "taken as the newest" in err
    assert "gpu-memory-utilization 0.92" in out


def test_added_model_is_fitted(tmp_path: Path) -> None:
    config = {
        "architectures": ["Qwen3ForCausalLM"], "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": True,
    }  # fmt: skip
    source = tmp_path / "config.json"
    source.write_text(json.dumps(config))
    (tmp_path / "models").mkdir()
    target = tmp_path / "models" / "mine.json"
    assert _model("add", str(source), "--name", "mine", "--output", str(target))[0] == 0
    data = _json(str(target), "--gpu", "h100", "--engine", "vllm", "--tp", "1")
    assert data["model"] == "mine"
    assert data["verdict"] == "fits"
    assert data["weights_gib"] == pytest.approx(1.11, abs=0.02)
    assert _json("mine", "--gpu", "h100", "--engine", "vllm", "--tp", "1", "--models", str(tmp_path / "models")) == data


def test_added_model_of_an_unknown_architecture_cannot_be_told(tmp_path: Path) -> None:
    source = tmp_path / "config.json"
    source.write_text(json.dumps({"architectures": ["NewForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 100}))
    target = tmp_path / "new.json"
    assert _model("add", str(source), "--name", "new", "--output", str(target))[0] == 0
    data = _json(str(target), "--gpu", "h100", "--engine", "vllm", "--tp", "1")
    assert data["verdict"] == "cannot-tell"
    assert "NewForCausalLM" in data["reason"]


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", '{"hidden_size": "x"}', "[" * 100_000])
def test_add_of_something_else(tmp_path: Path, text: str) -> None:
    source = tmp_path / "config.json"
    source.write_text(text)
    code, _, err = _model("add", str(source))
    assert code == 2
    assert "reviewbot model:" in err


def test_a_repository(capsys: pytest.CaptureFixture[str]) -> None:
    from reviewbot.cli import main

    repository = str(Path(__file__).parents[2] / "fixtures" / "rules" / "does-not-fit" / "kimi-k3-on-one-node" / "repo")
    schema = json.loads((Path(__file__).parents[2] / "schemas" / "fit-runs-report.schema.json").read_text(encoding="utf-8"))
    common = ["-C", repository, "fit", "--no-cache", "--jobs", "1"]
    assert main([*common, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schema)
    assert [(one["verdict"], one["layout"]) for one in data["runs"]] == [("does-not-fit", 0)] * 2
    assert (data["layouts"][0]["advice"]["layout"]["tp"], data["layouts"][0]["advice"]["layout"]["pp"]) == (8, 2)
    assert data["summary"] == {"fits": 0, "tight": 0, "does-not-fit": 2, "cannot-tell": 0}
    assert main(common) == 1
    text = capsys.readouterr().out
    assert "TP 8 x PP 2 on 16 GPUs, 2 nodes of 8" in text
    assert text.splitlines()[-1] == "2 servers of 2 points, 1 distinct layout: 2 does-not-fit"
    assert main([*common, "*conc4]", "--all"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main([*common, "kimi-k3"]) == 2
    assert "--gpu" in capsys.readouterr().err
    assert main([*common, "--tp", "8"]) == 2
    assert main(["fit", "kimi-k3", "--gpu", "b200"]) == 2


def test_a_repository_with_a_model_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from reviewbot.cli import main

    repository = str(Path(__file__).parents[2] / "fixtures" / "rules" / "does-not-fit" / "unknown-model" / "repo")
    common = ["-C", repository, "fit", "--no-cache", "--jobs", "1"]
    assert main(common) == 0
    assert "1 not looked at: no facts about the model 'toylab/Toy-9T'" in capsys.readouterr().out
    config = json.loads((Path(__file__).parents[2] / "reviewbot" / "catalog" / "models" / "qwen3-8b.json").read_text(encoding="utf-8"))
    config = {**config, "name": "toy", "aliases": ["toylab/Toy-9T"]}
    config["checkpoints"] = [{**config["checkpoints"][0], "precision": "fp8", "hf_ids": ["toylab/Toy-9T"]}]
    (tmp_path / "toy.json").write_text(json.dumps(config), encoding="utf-8")
    assert main([*common, "--models", str(tmp_path)]) == 0
    assert "toy fp8" in capsys.readouterr().out
    (tmp_path / "toy.json").write_text("{", encoding="utf-8")
    from reviewbot.catalog import models

    models._catalogue.cache_clear()
    models_of_runs()
    assert main([*common, "--models", str(tmp_path)]) == 2


def models_of_runs() -> None:
    from reviewbot.fit import of_runs

    of_runs._checkpoint.cache_clear()
