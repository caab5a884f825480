"""Parallelism of a server in one vocabulary, whatever the engine calls it.

The rules that compare a row with a recipe and the arithmetic of fit both read servers through this module: ``sizes`` in the engine's own
notation, ``parallelism`` normalised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reviewbot.runs.model import Server, Setting

_OFF = frozenset({"false", "0", "no", "none", "null", ""})
_UNSET = frozenset({"none", "null", "auto", ""})


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


@dataclass(frozen=True, slots=True)
class Sizes:
    """How a worker is spread in its engine's own notation; ``None`` is what cannot be known.

    vLLM's ``tp`` splits one replica and ``dp`` multiplies it; SGLang's and TensorRT-LLM's ``tp`` is the whole group, which DP-attention
    divides. ``ep`` is the number of ranks that experts are spread over, ``cp`` that of context parallelism at prefill.
    """

    tp: int | None
    pp: int | None
    dp: int | None
    ep: int | None
    dp_attention: bool | None
    dcp: int | None = 1
    cp: int | None = 1

    @property
    def known(self) -> bool:
        """Whether every size is known."""
        return None not in (self.tp, self.pp, self.dp, self.ep, self.dp_attention, self.dcp, self.cp)


def sizes(server: Server) -> Sizes | None:
    """The sizes that the flags of ``server`` give it; ``None`` for an engine that is not known."""
    reader = _READERS.get(server.engine)
    return None if reader is None else reader(server.flags)


def parallelism(server: Server) -> Parallelism:
    """Read the parallelism of ``server`` from its flags; everything is ``None`` for an engine that is not known."""
    own = sizes(server)
    return UNKNOWN if own is None else normalised(server.engine, own)


def normalised(engine: str, own: Sizes) -> Parallelism:
    """The sizes of an engine's notation in the common one."""
    if engine == "vllm":
        return Parallelism(own.tp, own.pp, own.dp, own.ep, None if own.dp is None else own.dp > 1, own.dcp, own.cp)
    if own.dp_attention is None:
        return Parallelism(None, own.pp, None, own.ep, None, own.dcp, own.cp)
    if engine == "sglang":
        replicas = own.dp if own.dp_attention else 1
        ways = None if replicas is None or own.cp is None else replicas * own.cp
        tp = own.tp // ways if own.tp is not None and ways and own.tp % ways == 0 else None
        return Parallelism(tp, own.pp, own.dp, own.ep, own.dp_attention, own.dcp, own.cp)
    if own.dp_attention:
        return Parallelism(1, own.pp, own.tp, own.ep, True, own.dcp, own.cp)
    return Parallelism(own.tp, own.pp, own.dp, own.ep, False, own.dcp, own.cp)


def integer(flags: Mapping[str, Setting], name: str, default: int | None) -> int | None:
    """The whole number that a flag is set to: ``default`` where it is not set (or to ``none`` or ``auto``), ``None`` where its value is
    unknown or no number."""
    setting = flags.get(name)
    if setting is None:
        return default
    value = setting.value
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        return default if value.strip().lower() in _UNSET else None


def fraction(flags: Mapping[str, Setting], name: str) -> float | None:
    """The fraction above 0 and up to 1 that a flag is set to; ``None`` where it is not set, unknown or no such number."""
    setting = flags.get(name)
    value = setting.value if setting is not None else None
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 < number <= 1 else None


def switch(flags: Mapping[str, Setting], name: str) -> bool | None:
    """Whether a switch is on: ``False`` where it is absent, ``None`` where it cannot be known."""
    setting = flags.get(name)
    if setting is None:
        return False
    if setting.value is None:
        return None
    return setting.value.strip().lower() not in _OFF


def _product(*numbers: int | None) -> int | None:
    result = 1
    for number in numbers:
        if number is None:
            return None
        result *= number
    return result


def _experts(enabled: bool | None, ranks: int | None) -> int | None:
    """Ranks that a switch spreads experts over."""
    return None if enabled is None else ranks if enabled else 1


def _vllm(flags: Mapping[str, Setting]) -> Sizes:
    tp = integer(flags, "tensor-parallel-size", 1)
    dp = integer(flags, "data-parallel-size", 1)
    pcp = integer(flags, "prefill-context-parallel-size", 1)
    # Experts are always spread over all tensor, data and prefill-context ranks.
    ep = _experts(switch(flags, "enable-expert-parallel"), _product(tp, dp, pcp))
    return Sizes(tp, integer(flags, "pipeline-parallel-size", 1), dp, ep, False, integer(flags, "decode-context-parallel-size", 1), pcp)


def _sglang(flags: Mapping[str, Setting]) -> Sizes:
    ranks = integer(flags, "tensor-parallel-size", 1)
    replicas = integer(flags, "data-parallel-size", 1)
    attention = switch(flags, "enable-dp-attention")
    if "attention-data-parallel-size" in flags:  # says both at once
        replicas = integer(flags, "attention-data-parallel-size", replicas)
        attention = None if replicas is None else attention if replicas == 1 else True
    ep = integer(flags, "expert-parallel-size", 1)
    backend = flags.get("moe-a2a-backend")
    if backend is not None and backend.value is None:
        ep = None
    elif backend is not None and backend.value not in ("none", "None", ""):
        ep = ranks  # an all-to-all backend makes ep = tp
    return Sizes(
        ranks, integer(flags, "pipeline-parallel-size", 1), replicas, ep, attention, integer(flags, "decode-context-parallel-size", 1),
        integer(flags, "attention-context-parallel-size", 1),
    )  # fmt: skip


def _trtllm(flags: Mapping[str, Setting]) -> Sizes:
    ep = integer(flags, "moe-expert-parallel-size", 1)
    return Sizes(
        integer(flags, "tensor-parallel-size", 1), integer(flags, "pipeline-parallel-size", 1), 1, 1 if ep is not None and ep < 1 else ep,
        switch(flags, "enable-attention-dp"), 1, integer(flags, "context-parallel-size", 1),
    )  # fmt: skip


def _atom(flags: Mapping[str, Setting]) -> Sizes:
    tp = integer(flags, "tensor-parallel-size", 1)
    dp = integer(flags, "data-parallel-size", 1)
    attention = switch(flags, "enable-dp-attention")
    ranks = None if attention is None else tp if attention else _product(tp, dp)
    ep = _experts(switch(flags, "enable-expert-parallel"), ranks)
    return Sizes(tp, integer(flags, "pipeline-parallel-size", 1), dp, ep, attention)


_READERS = {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm, "atom": _atom}
