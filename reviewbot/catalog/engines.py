"""How each engine spells the settings that the product reasons about.

``CANONICAL`` maps every spelling an engine accepts (without leading dashes, underscores turned into dashes) to one name. The
names on the right are the ones that ``reviewbot.runs.parallel`` and the rules use.

Sources: ``vllm/engine/arg_utils.py`` (0.20-0.33), ``sglang/srt/server_args.py`` (0.5.8-0.5.23), TensorRT-LLM
``llmapi/llm_args.py`` and the options of ``trtllm-serve``, ATOM's ``EngineArgs``.
"""

from __future__ import annotations

_VLLM = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dpl": "data-parallel-size-local",
    "ep": "enable-expert-parallel",
    "dcp": "decode-context-parallel-size",
    "pcp": "prefill-context-parallel-size",
    "q": "quantization",
    "cc": "compilation-config",
    "sc": "speculative-config",
    "n": "nnodes",
    "r": "node-rank",
}

_SGLANG = {
    "tp": "tensor-parallel-size",
    "tp-size": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "pp-size": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dp-size": "data-parallel-size",
    "ep": "expert-parallel-size",
    "ep-size": "expert-parallel-size",
    "moe-dp-size": "moe-data-parallel-size",
    "attn-cp-size": "attention-context-parallel-size",
    "attn-dp-size": "attention-data-parallel-size",
    "dcp-size": "decode-context-parallel-size",
    "model": "model-path",
}

_TRTLLM = {
    "tp-size": "tensor-parallel-size",
    "ep-size": "moe-expert-parallel-size",
    "pp-size": "pipeline-parallel-size",
    "cp-size": "context-parallel-size",
    "extra-llm-api-options": "config",
    "trust-remote-code": "trust-remote-code",
}

_ATOM = {
    "tp": "tensor-parallel-size",
    "dp": "data-parallel-size",
    "server-port": "port",
}

CANONICAL: dict[str, dict[str, str]] = {"vllm": _VLLM, "sglang": _SGLANG, "trtllm": _TRTLLM, "atom": _ATOM}

# Flags that take no value although a word may follow (the model, for instance). Everything else is decided by the next word.
SWITCHES: dict[str, frozenset[str]] = {
    "vllm": frozenset({"trust-remote-code", "enable-expert-parallel", "enforce-eager", "headless", "enable-auto-tool-choice"}),
    "sglang": frozenset({"trust-remote-code", "enable-dp-attention", "enable-dp-lm-head", "disable-radix-cache", "disable-cuda-graph"}),
    "trtllm": frozenset({"trust-remote-code"}),
    "atom": frozenset({"trust-remote-code", "enable-expert-parallel", "enable-dp-attention"}),
}

# Frameworks of a master row -> the engine that has to serve it.
ENGINE_OF_FRAMEWORK: dict[str, str] = {
    "vllm": "vllm",
    "dynamo-vllm": "vllm",
    "vllm-disagg": "vllm",
    "llmd-vllm": "vllm",
    "sglang": "sglang",
    "dynamo-sglang": "sglang",
    "sglang-disagg": "sglang",
    "trt": "trtllm",
    "trtllm": "trtllm",
    "dynamo-trt": "trtllm",
    "dynamo-trtllm": "trtllm",
    "atom": "atom",
    "atom-disagg": "atom",
    "tilert": "tilert",
}


def canonical(engine: str, flag: str) -> str:
    """The one name of ``flag`` (given without leading dashes) for ``engine``; an unknown one keeps its own, dashes for underscores."""
    head, dot, rest = flag.partition(".")
    name = head.replace("_", "-")
    return CANONICAL.get(engine, {}).get(name, name) + dot + rest
