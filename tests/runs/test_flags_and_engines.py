from __future__ import annotations

import pytest

from reviewbot.documents.positions import Site
from reviewbot.runs.engines import recognise
from reviewbot.runs.flags import parse_flags

SITE = Site("bench.sh", 3)


@pytest.mark.parametrize(
    ("argv", "engine", "flags", "rest"),
    [
        ("model --max-model-len 8192", "vllm", [("max-model-len", "8192")], ["model"]),
        ("--max-model-len=8192", "vllm", [("max-model-len", "8192")], []),
        ("-tp 8", "vllm", [("tensor-parallel-size", "8")], []),
        ("--tp 8 --ep-size 4", "sglang", [("tensor-parallel-size", "8"), ("expert-parallel-size", "4")], []),
        ("--cuda-graph-bs 1 2 4 --port 80", "sglang", [("cuda-graph-bs", "1 2 4"), ("port", "80")], []),
        ("--seed -1", "vllm", [("seed", "-1")], []),
        ("--temperature -.5", "vllm", [("temperature", "-.5")], []),
        ("--enable-expert-parallel model", "vllm", [("enable-expert-parallel", None)], ["model"]),
        ("--enable-dp-attention --port 1", "sglang", [("enable-dp-attention", None), ("port", "1")], []),
        ("--x= y", "vllm", [("x", "")], ["y"]),
    ],
)
def test_flags(argv: str, engine: str, flags: list[tuple[str, str | None]], rest: list[str]):
    found, left = parse_flags(argv.split(" "), engine, SITE)
    assert [(flag.name, flag.value) for flag in found] == flags
    assert left == rest
    assert {flag.site for flag in found} <= {SITE}


@pytest.mark.parametrize(
    ("argv", "kind", "engine", "name", "arguments"),
    [
        ("vllm serve m --port 1", "server", "vllm", "vllm serve", ["m", "--port", "1"]),
        ("/opt/bin/vllm serve m", "server", "vllm", "vllm serve", ["m"]),
        ("vllm bench serve --model m", "client", "", "vllm bench serve", ["--model", "m"]),
        ("python3 -m sglang.launch_server --tp 8", "server", "sglang", "sglang.launch_server", ["--tp", "8"]),
        ("python3 -u -X dev -m dynamo.vllm --model m", "server", "vllm", "dynamo.vllm", ["--model", "m"]),
        ("trtllm-serve serve m", "server", "trtllm", "trtllm-serve", ["m"]),
        ("mpirun -n 8 --mca a b trtllm-llmapi-launch trtllm-serve m", "server", "trtllm", "trtllm-serve", ["m"]),
        ("numactl -N 0 -m 0 nohup vllm serve m", "server", "vllm", "vllm serve", ["m"]),
        ("timeout -k 5 60 vllm serve m", "server", "vllm", "vllm serve", ["m"]),
        ("python3 -m atom.entrypoints.openai_server", "server", "atom", "atom.entrypoints.openai_server", []),
        ("python utils/benchmark_serving.py --x", "client", "", "benchmark_serving.py", ["--x"]),
        ("python3 -m sglang_router.launch_router", "router", "", "sglang_router.launch_router", []),
        ("python3 -c pass", "other", "", "python", ["-c", "pass"]),
        ("curl localhost", "other", "", "curl", ["localhost"]),
        ("env", "other", "", "env", []),
    ],
)
def test_programs(argv: str, kind: str, engine: str, name: str, arguments: list[str]):
    program = recognise(argv.split(" "))
    assert (program.kind, program.engine, program.name, list(program.arguments)) == (kind, engine, name, arguments)


def test_env_assigns():
    program = recognise(["env", "-u", "A", "B=1", "C=2", "vllm", "serve", "m"])
    assert (program.engine, list(program.assigned)) == ("vllm", ["B=1", "C=2"])
