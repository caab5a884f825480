"""The demo's points with AIPerf as the client, and a recipe through ``srtctl apply --mock``. Each program lives in an environment of its
own."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from reviewbot.cli import main
from reviewbot.sweep.plan import paths_of, read_plan
from reviewbot.sweep.report import table
from tests.sweep.support import ROOT, ledger_of

TOKENIZER = """
import json, sys
from pathlib import Path
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = {f"w{number}": number for number in range(200)} | {"[UNK]": 200, "[EOS]": 201}
made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
made.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", eos_token="[EOS]").save_pretrained(sys.argv[1])
Path(sys.argv[1], "config.json").write_text(json.dumps({"model_type": "gpt2"}))
"""


def installed(folder: Path, what: str, program: str) -> Path:
    """``program`` in an environment of its own, made where there is none. Skips where it cannot be installed."""
    found = folder / "bin" / program
    if not found.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"{what} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    return found


def test_aiperf_as_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    aiperf = Path(os.environ.get("AIPERF") or installed(ROOT / ".venv-aiperf", "aiperf>=0.13,<1", "aiperf"))
    tokenizer = tmp_path / "tokenizer"
    subprocess.run([aiperf.with_name("python"), "-c", TOKENIZER, tokenizer], check=True, capture_output=True)
    monkeypatch.setenv("DEMO_AIPERF", str(aiperf))
    monkeypatch.setenv("DEMO_TOKENIZER", str(tokenizer))
    plan = tmp_path / "plan.json"
    demo = ["-C", str(ROOT / "fixtures" / "demo-sweep"), "sweep"]
    words = [
        "tiny-bf16-lab-vllm",
        "--filter",
        "isl=1024",
        "--filter",
        "conc=[48]",
        "--pass-env",
        "DEMO_AIPERF",
        "--pass-env",
        "DEMO_TOKENIZER",
    ]
    assert main([*demo, "plan", *words, "-o", str(plan)]) == 0
    assert main([*demo, "run", str(plan), "--jobs", "1"]) == 0
    ledger = ledger_of(plan)
    rows = table(read_plan(plan), ledger)
    ledger.close()
    assert [(row["shape"], row["conc"], row["successful"]) for row in rows] == [("aiperf", 4, 8), ("aiperf", 8, 16)]
    assert all(row["interactivity"] > 0 and row["output_tput_per_gpu"] > 0 for row in rows)
    assert main(["sweep", "report", str(plan)]) == 0


def test_a_recipe_through_srtctl(tmp_path: Path):
    clone = os.environ.get("SRT_SLURM")
    if not clone:
        pytest.skip("name a clone of srt-slurm: make e2e SRT_SLURM=PATH")
    srtctl = Path(os.environ.get("SRTCTL") or installed(ROOT / ".venv-srtctl", clone, "srtctl"))
    demo = Path(shutil.copytree(ROOT / "fixtures" / "demo", tmp_path / "demo"))
    # What the launcher and the recipe name has to be there, and the simulation has one node: both roles share it.
    model, image = tmp_path / "model", tmp_path / "image.sqsh"
    model.mkdir()
    image.touch()
    launcher = demo / "runners" / "launch_h100-lab.sh"
    lines = launcher.read_text().replace("/lab/models/toy-7b-fp8", str(model)).splitlines(keepends=True)
    launcher.write_text("".join(f'    SQUASH="{image}"\n' if "SQUASH=" in line else line for line in lines))
    recipe = demo / "benchmarks/multi_node/srt-slurm-recipes/sglang/toy/h100-fp8/disagg-1p1d-tp8.yaml"
    text = recipe.read_text().replace("decode_nodes: 1", "decode_nodes: 0\n  gpus_per_prefill: 4\n  gpus_per_decode: 4")
    recipe.write_text(text.replace("tensor-parallel-size: 8", "tensor-parallel-size: 4"))
    master = demo / "configs" / "nvidia-master.yaml"
    before, sound, after = master.read_text().partition("# sound")
    row, mark, rest = after.partition("# the recipe runs decode")
    master.write_text(before + sound + row.replace("tp: 8", "tp: 4") + mark + rest)

    plan = tmp_path / "plan.json"
    words = ["toy-fp8-h100-dynamo-sglang*p1xtp4,d1xtp4*", "--as", "recipe", "--mock", "--srtctl", str(srtctl), "--time-limit", "2"]
    assert main(["-C", str(demo), "sweep", "plan", *words, "-o", str(plan)]) == 0
    [point] = read_plan(plan).points
    assert "max_attempts: 120" in point.files["recipe.yaml"]  # as the launcher rewrites it
    assert main(["-C", str(demo), "sweep", "run", str(plan)]) == 0
    ledger = ledger_of(plan)
    rows = table(read_plan(plan), ledger)
    ledger.close()
    assert [(row["shape"], row["successful"], row["state"]) for row in rows] == [("status", 1, "done")]
    [result] = paths_of(plan)[1].glob("points/*/*/results/srt-results__result.json")
    assert '"completed"' in result.read_text()
