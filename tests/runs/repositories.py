"""A small repository for tests of runs: one label, one launcher, one row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reviewbot.bench.repository import load_bench
from reviewbot.runs.collect import build_runs
from reviewbot.runs.model import Run
from reviewbot.settings import Settings
from reviewbot.tree import open_tree
from tests import support

RECIPES = "benchmarks/multi_node/srt-slurm-recipes"

MASTER = """toy-fp8-lab-dynamo-vllm:
  image: vllm/vllm-openai:v1
  model: toylab/Toy-7B
  model-prefix: toy
  runner: lab
  precision: fp8
  framework: dynamo-vllm
  router: { name: dynamo-router, version: "0.8.0" }
  multinode: true
  disagg: false
  scenarios:
    fixed-seq-len:
    - isl: 1024
      osl: 1024
      search-space:
      - conc-list: [8]
        prefill:
          num-worker: 1
          tp: 8
          ep: 1
          dp-attn: false
          additional-settings: ["CONFIG_FILE=recipes/toy.yaml"]
        decode: { num-worker: 0, tp: 8, ep: 1, dp-attn: false }
"""

SINGLE = """toy-fp8-lab-vllm:
  image: vllm/vllm-openai:v1
  model: toylab/Toy-7B
  model-prefix: toy
  runner: lab
  precision: fp8
  framework: vllm
  multinode: false
  scenarios:
    fixed-seq-len:
    - { isl: 1024, osl: 1024, search-space: [{ tp: 2, conc-list: [8] }] }
"""

RECIPE = """name: toy
model: { path: toy-7b, container: "vllm/vllm-openai:v1", precision: fp8 }
resources: { gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1 }
environment:
  LEVEL: global
backend:
  type: vllm
  aggregated_environment:
    LEVEL: role
    OTHER: "1"
  vllm_config:
    aggregated:
      tensor_parallel_size: 8
      enforce-eager: false
      enable-expert-parallel: true
      max-num-seqs: 512
      stop: null
benchmark: { type: sa-bench, isl: 1024, osl: 1024, concurrencies: "8", req_rate: inf }
"""

LAUNCHER = """#!/usr/bin/env bash
set -e
git clone https://github.com/NVIDIA/srt-slurm.git
cd srt-slurm
rm -rf recipes
cp -rT "$GITHUB_WORKSPACE/benchmarks/multi_node/srt-slurm-recipes" recipes
EDIT
srtctl apply -f "$CONFIG_FILE"
"""


def runs(root: Path, launcher: str, master: str = MASTER, files: Mapping[str, str] = {}, **options: object) -> tuple[Run, ...]:
    """The runs of a repository with one launcher ``runners/launch_lab.sh``."""
    written = {
        "configs/nvidia-master.yaml": master,
        "configs/runners.yaml": "labels:\n  lab: [lab_00]\n",
        "runners/launch_lab.sh": launcher,
        f"{RECIPES}/toy.yaml": RECIPE,
        **files,
    }
    support.write(root, written)
    return build_runs(load_bench(open_tree(str(root), None), Settings()), **options)  # type: ignore[arg-type]


def submitted(root: Path, edit: str = "", **more: object) -> Run:
    """The run of a launcher that makes ``edit`` before it submits the recipe."""
    (run,) = runs(root, LAUNCHER.replace("EDIT", edit), **more)  # type: ignore[arg-type]
    return run
