"""Parallelism of a server in one vocabulary, whatever the engine calls it.

The rules that compare a row with a recipe and the arithmetic of fit both read servers through this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reviewbot.runs.model import Server, Setting


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How one worker of a server is spread; every number is ``None`` where it cannot be known.

    ``tp`` is the number of ranks that split one attention replica, ``dp`` the number of attention replicas in the worker, so that
    ``tp * dp * pp * pcp`` ranks make a worker (``world``). ``ep`` is the number of ranks that experts are spread over: 1 without expert
    parallelism. ``dp_attention`` says that attention is replicated while experts are shared among the replicas.
    """

    tp: int | None
    pp: int | None
    dp: int | None
    ep: int | None
    dp_attention: bool | None
    dcp: int | None = 1
    pcp: int | None = 1

    @property
    def world(self) -> int | None:
        """GPUs of one worker."""
        if self.tp is None or self.pp is None or self.dp is None or self.pcp is None:
            return None
        return self.tp * self.pp * self.dp * self.pcp


UNKNOWN = Parallelism(None, None, None, None, None, None, None)


def parallelism(server: Server) -> Parallelism:
    """Read the parallelism of ``server`` from its flags; everything is ``None`` for an engine that is not known."""
    reader = _READERS.get(server.engine)
    return UNKNOWN if reader is None else reader(server.flags)


def integer(flags: Mapping[str, Setting], name: str, default: int | None) -> int | None:
    """The whole number that a flag is set to: ``default`` where it is not set, ``None`` where its value is unknown or no number."""
    setting = flags.get(name)
    if setting is None:
        return default
    if setting.value is None:
        return None
    try:
        return int(setting.value)
    except ValueError:
        return None


def switch(flags: Mapping[str, Setting], name: str) -> bool | None:
    """Whether a switch is on: ``False`` where it is absent, ``None`` where it cannot be known."""
    setting = flags.get(name)
    if setting is None:
        return False
    if setting.value is None:
        return None
    return setting.value.lower() not in ("false", "0", "")


def _vllm(flags: Mapping[str, Setting]) -> Parallelism:
    tp = integer(flags, "tensor-parallel-size", 1)
    pp = integer(flags, "pipeline-parallel-size", 1)
    dp = integer(flags, "data-parallel-size", 1)
    pcp = integer(flags, "prefill-context-parallel-size", 1)
    expert = switch(flags, "enable-expert-parallel")
    ep: int | None
    if expert is None:
        ep = None
    elif not expert:
        ep = 1
    else:
        # Experts are always spread over all tensor, data and prefill-context ranks.
        ep = tp * dp * pcp if tp is not None and dp is not None and pcp is not None else None
    return Parallelism(tp, pp, dp, ep, None if dp is None else dp > 1, integer(flags, "decode-context-parallel-size", 1), pcp)


def _sglang(flags: Mapping[str, Setting]) -> Parallelism:
    ranks = integer(flags, "tensor-parallel-size", 1)
    pp = integer(flags, "pipeline-parallel-size", 1)
    replicas = integer(flags, "data-parallel-size", 1)
    attention = switch(flags, "enable-dp-attention")
    ep = integer(flags, "expert-parallel-size", 1)
    if flags.get("moe-a2a-backend") is not None and flags["moe-a2a-backend"].value not in (None, "none"):
        ep = ranks  # an all-to-all backend makes ep = tp
    if attention:
        tp = ranks // replicas if ranks is not None and replicas and ranks % replicas == 0 else None
        return Parallelism(tp, pp, replicas, ep, True)
    if attention is None:
        return Parallelism(None, pp, None, ep, None)
    return Parallelism(ranks, pp, replicas, ep, False)


def _trtllm(flags: Mapping[str, Setting]) -> Parallelism:
    ranks = integer(flags, "tensor-parallel-size", 1)
    pp = integer(flags, "pipeline-parallel-size", 1)
    ep = integer(flags, "moe-expert-parallel-size", 1)
    if ep is not None and ep < 1:
        ep = 1
    attention = switch(flags, "enable-attention-dp")
    if attention is None:
        return Parallelism(None, pp, None, ep, None)
    return Parallelism(1, pp, ranks, ep, True) if attention else Parallelism(ranks, pp, 1, ep, False)


def _atom(flags: Mapping[str, Setting]) -> Parallelism:
    ranks = integer(flags, "tensor-parallel-size", 1)
    pp = integer(flags, "pipeline-parallel-size", 1)
    dp = integer(flags, "data-parallel-size", 1)
    expert = switch(flags, "enable-expert-parallel")
    attention = switch(flags, "enable-dp-attention")
    ep = None if expert is None else ranks if expert else 1
    if attention is None:
        return Parallelism(None, pp, None, ep, None)
    return Parallelism(1, pp, ranks, ep, True) if attention else Parallelism(ranks, pp, dp, ep, False)


_READERS = {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm, "atom": _atom}
