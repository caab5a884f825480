"""What bounds the requests that one rank of a server takes at a time: batch limits, graph sizes, token budgets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reviewbot.runs.model import Server, Setting
from reviewbot.runs.parallel import integer, parallelism

_CAPS = {"vllm": "max-num-seqs", "sglang": "max-running-requests", "trtllm": "max-batch-size", "atom": "max-num-seqs"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that a server is given: the flag's canonical name, its value, and the setting that says so."""

    name: str
    value: int
    setting: Setting


def batch_cap(server: Server) -> Bound | None:
    """The limit of running requests that is written for the server; ``None`` where it is not written or not known."""
    name = _CAPS.get(server.engine)
    value = integer(server.flags, name, None) if name is not None else None
    return Bound(name, value, server.flags[name]) if name is not None and value is not None and value > 0 else None


def ranks(server: Server) -> int | None:
    """Attention replicas of one worker, each with a scheduler of its own."""
    dp = parallelism(server).dp
    return dp if dp is not None and dp > 0 else None


def draft_tokens(server: Server) -> int | None:
    """Tokens that speculation adds to each request's step; ``None`` where it cannot be told."""
    if server.engine == "vllm":
        setting = server.flags.get("speculative-config")
        if setting is None:
            return 0
        config = parsed(setting)
        number = config.get("num_speculative_tokens") if config is not None else None
        return number if isinstance(number, int) and not isinstance(number, bool) else None
    if server.engine == "sglang":
        return 0  # its sizes count requests
    return 0


def graph_sizes(server: Server) -> tuple[Bound, bool] | None:
    """The largest batch that graphs are captured for, and whether it counts tokens and not requests; ``None`` where it is not written."""
    if server.engine == "sglang":
        for name in ("cuda-graph-bs", "cuda-graph-bs-decode", "cuda-graph-max-bs", "cuda-graph-max-bs-decode"):
            found = _largest(server, name)
            if found is not None:
                return found, False
        return None
    if server.engine == "trtllm":
        for name in ("cuda-graph-config", "cuda-graph-config.batch_sizes", "cuda-graph-config.max_batch_size"):
            setting = server.flags.get(name)
            if setting is not None and setting.value is not None:
                sizes = trt_graph_sizes(setting.value)
                if sizes:
                    return Bound("cuda_graph_config", max(sizes), setting), False
        return None
    if server.engine == "vllm":
        return _vllm_graph(server)
    return None


def _largest(server: Server, name: str) -> Bound | None:
    setting = server.flags.get(name)
    if setting is None or setting.value is None:
        return None
    numbers = [int(word) for word in re.findall(r"\d+", setting.value)]
    return Bound(name, max(numbers), setting) if numbers and re.fullmatch(r"[\d\s,\[\]]+", setting.value) else None


def _vllm_graph(server: Server) -> tuple[Bound, bool] | None:
    direct = _largest(server, "max-cudagraph-capture-size") or _largest(server, "cudagraph-capture-sizes")
    if direct is not None:
        return direct, True
    setting = server.flags.get("compilation-config")
    config = parsed(setting) if setting is not None else None
    if setting is None or config is None:
        return None
    sizes = config.get("cudagraph_capture_sizes")
    if isinstance(sizes, list) and sizes and all(isinstance(size, int) for size in sizes):
        return Bound("cudagraph_capture_sizes", max(sizes), setting), True
    largest = config.get("max_cudagraph_capture_size")
    return (Bound("max_cudagraph_capture_size", largest, setting), True) if isinstance(largest, int) else None


@lru_cache(maxsize=1024)
def trt_graph_sizes(value: str) -> tuple[int, ...]:
    """The batch sizes in TensorRT-LLM's ``cuda_graph_config`` (the text of a mapping, a list or a number)."""
    inside = re.search(r"['\"]?batch_sizes['\"]?\s*[:=]\s*\[([^\]]*)\]", value) or re.search(
        r"['\"]?max_batch_size['\"]?\s*[:=]\s*(\d+)", value
    )
    text = inside[1] if inside is not None else value if re.fullmatch(r"[\d\s,\[\]]+", value) else ""
    return tuple(int(word) for word in re.findall(r"\d+", text))


@lru_cache(maxsize=1024)
def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def parsed(setting: Setting) -> dict[str, Any] | None:
    """The JSON object that a flag's value is."""
    found = _json(setting.value) if setting.value is not None else None
    return found if isinstance(found, dict) else None
