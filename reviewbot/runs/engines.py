"""Which program a command really starts: engine, load generator, or something else.

Wrappers (``env``, ``nohup``, ``mpirun``, ``numactl``, ``timeout`` ...) are looked through; what they set in the environment counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ASSIGNING = {"env"}
# Wrapper -> options that take a word of their own.
_WRAPPERS: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "--unset", "-C", "--chdir"}),
    "nohup": frozenset(),
    "exec": frozenset({"-a"}),
    "time": frozenset(),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "setsid": frozenset(),
    "numactl": frozenset({"-N", "-m", "-C", "--cpunodebind", "--membind", "--physcpubind"}),
    "taskset": frozenset({"-c"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "mpirun": frozenset({"-n", "-np", "--n", "-c", "-H", "--host", "--hostfile", "-x", "--mca", "-mca", "--map-by", "--bind-to"}),
    "mpiexec": frozenset({"-n", "-np", "-H", "-x"}),
    "trtllm-llmapi-launch": frozenset(),
    "sudo": frozenset({"-u", "-g"}),
    "command": frozenset(),
}
_TWO_WORDS = {"--mca", "-mca"}

_MODULES = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "dynamo.vllm": "vllm",
    "sglang.launch_server": "sglang",
    "dynamo.sglang": "sglang",
    "dynamo.trtllm": "trtllm",
    "atom.entrypoints.openai_server": "atom",
    "tilert.server": "tilert",
}
_CLIENT_MODULES = {"sglang.bench_serving", "vllm.benchmarks.serve", "lm_eval"}
_CLIENT_SCRIPTS = {"benchmark_serving.py", "bench_serving.py"}


@dataclass(frozen=True, slots=True)
class Program:
    """``kind`` is ``server``, ``client``, ``router`` or ``other``; ``engine`` names the engine of a server, ``name`` the program;
    ``arguments`` is the rest of the argv; ``assigned`` the ``K=V`` words that a wrapper puts into the environment."""

    kind: str
    engine: str
    name: str
    arguments: Sequence[str]
    assigned: Sequence[str] = ()


def recognise(argv: Sequence[str]) -> Program:
    """What ``argv`` starts."""
    words, assigned = _unwrapped(argv)
    if not words:
        return Program("other", "", argv[0] if argv else "", (), assigned)
    name = words[0].rsplit("/", 1)[-1]
    rest = words[1:]
    if name == "vllm" and rest[:1] == ["serve"]:
        return Program("server", "vllm", "vllm serve", rest[1:], assigned)
    if name == "vllm" and rest[:2] == ["bench", "serve"]:
        return Program("client", "", "vllm bench serve", rest[2:], assigned)
    if name == "sglang" and rest[:1] == ["serve"]:
        return Program("server", "sglang", "sglang serve", rest[1:], assigned)
    if name == "trtllm-serve":
        return Program("server", "trtllm", name, rest[1:] if rest[:1] == ["serve"] else rest, assigned)
    if name == "aiperf" or name == "genai-perf" or name == "guidellm":
        return Program("client", "", name, rest, assigned)
    if name in ("vllm-router", "sglang-router", "atomesh"):
        return Program("router", "", name, rest, assigned)
    if name.startswith("python"):
        return _python(rest, assigned)
    if name == "lm_eval":
        return Program("client", "", name, rest, assigned)
    return Program("other", "", name, rest, assigned)


def _python(rest: Sequence[str], assigned: Sequence[str]) -> Program:
    position = 0
    while position < len(rest) and rest[position].startswith("-") and rest[position] not in ("-m", "-c", "-"):
        position += 2 if rest[position] in ("-W", "-X") else 1
    words = rest[position:]
    if words[:1] == ["-m"] and len(words) > 1:
        module = words[1]
        if module in _MODULES:
            return Program("server", _MODULES[module], module, words[2:], assigned)
        if module in _CLIENT_MODULES:
            return Program("client", "", module, words[2:], assigned)
        kind = "router" if "router" in module else "other"
        return Program(kind, "", module, words[2:], assigned)
    if words and words[0] not in ("-c", "-"):
        script = words[0].rsplit("/", 1)[-1]
        return Program("client" if script in _CLIENT_SCRIPTS else "other", "", script, words[1:], assigned)
    return Program("other", "", "python", words, assigned)


def _unwrapped(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    words = list(argv)
    assigned: list[str] = []
    while words:
        name = words[0].rsplit("/", 1)[-1]
        if name not in _WRAPPERS:
            return words, assigned
        takes = _WRAPPERS[name]
        position = 1
        while position < len(words):
            word = words[position]
            if word in takes:
                position += 3 if word in _TWO_WORDS else 2
            elif word.startswith("-") and len(word) > 1:
                position += 1
            elif name in _ASSIGNING and "=" in word:
                assigned.append(word)
                position += 1
            elif (name == "timeout" and position < len(words) and word[:1].isdigit()) or (name == "taskset" and word[:2] == "0x"):
                position += 1
            else:
                break
        words = words[position:]
    return words, assigned
