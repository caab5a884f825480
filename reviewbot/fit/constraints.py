"""The conditions that engines raise on at start, one small declared rule each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from reviewbot.catalog.gpus import Gpu
from reviewbot.catalog.models import Checkpoint, Model
from reviewbot.fit.layout import Layout, Split, Version, split_of, stages


@dataclass(frozen=True, slots=True)
class Case:
    """What a constraint looks at."""

    model: Model
    checkpoint: Checkpoint
    layout: Layout
    split: Split
    gpu: Gpu | None

    def known(self, name: str) -> int | None:
        """An architecture number, ``None`` where it is not known or zero."""
        value = self.model.arch.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def form(self, group: str) -> str | None:
        """The number format of a class of tensors, ``None`` where not known."""
        value = self.checkpoint.layout.get(group)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that a layout breaks: ``valid`` are the nearest values that do not, of the number named ``of``."""

    rule: str
    engine: str
    message: str
    source: str
    of: str
    value: int
    valid: tuple[int, ...]


_Check = Callable[[Case], "tuple[str, str, int, tuple[int, ...]] | None"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule: ``engines`` it holds for, versions from ``since`` (inclusive) to ``before`` (exclusive), where the engine says so."""

    rule: str
    engines: tuple[str, ...]
    source: str
    check: _Check
    since: Version | None = None
    before: Version | None = None

    def applies(self, layout: Layout) -> bool:
        """Whether the rule holds for the layout's engine and version; an unknown version counts as the newest."""
        if layout.engine not in self.engines:
            return False
        if layout.version is None:
            return self.before is None
        return (self.since is None or layout.version >= self.since) and (self.before is None or layout.version < self.before)


CONSTRAINTS: list[Constraint] = []


def _rule(
    name: str, engines: str, source: str, *, since: Version | None = None, before: Version | None = None
) -> Callable[[_Check], _Check]:
    def declare(check: _Check) -> _Check:
        CONSTRAINTS.append(Constraint(name, tuple(engines.split()), source, check, since, before))
        return check

    return declare


def nearest(value: int, valid: Callable[[int], bool], limit: int = 1024) -> tuple[int, ...]:
    """The nearest valid number below ``value`` and the nearest above it."""
    below = next((one for one in range(min(value - 1, limit), 0, -1) if valid(one)), None)
    above = next((one for one in range(value + 1, limit + 1) if valid(one)), None)
    return tuple(one for one in (below, above) if one is not None)


def _also_heads(case: Case, valid: Callable[[int], bool]) -> Callable[[int], bool]:
    """``valid`` for numbers that divide the attention heads too, so that what is proposed starts."""
    heads = case.known("num_attention_heads")
    return lambda n: valid(n) and (heads is None or heads % n == 0)


def violations(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu | None = None) -> tuple[Violation, ...]:
    """Every constraint that ``layout`` breaks. One that needs a number that is not known is silent."""
    case = Case(model, checkpoint, layout, split_of(layout), gpu)
    result: list[Violation] = []
    for constraint in CONSTRAINTS:
        if constraint.applies(layout):
            found = constraint.check(case)
            if found is not None:
                message, of, value, valid = found
                if valid:
                    message += f" (nearest valid {of}: {', '.join(map(str, valid))})"
                result.append(Violation(constraint.rule, layout.engine, message, constraint.source, of, value, valid))
    return tuple(result)


def older(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu | None = None) -> tuple[str, ...]:
    """What versions before the newest would refuse, where the layout's version is not known."""
    if layout.version is not None:
        return ()
    case = Case(model, checkpoint, layout, split_of(layout), gpu)
    result: list[str] = []
    for one in CONSTRAINTS:
        if one.before is not None and layout.engine in one.engines:
            found = one.check(case)
            if found is not None:
                result.append(f"{layout.engine} before {'.'.join(map(str, one.before))} refuses to start: {found[0]}")
    return tuple(result)


@_rule("heads-per-tp", "vllm", "vllm 0.33.0 config/model.py:1557 verify_with_parallel_config")
@_rule("heads-per-tp", "sglang", "sglang 0.5.23 models: num_heads % attn_tp_size == 0")
@_rule("heads-per-tp", "trtllm atom", "TensorRT-LLM _torch/modules/attention.py: num_heads % tp_size == 0")
def _heads(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    heads, tp = case.known("num_attention_heads"), case.split.attention_tp
    if heads is None or heads % tp == 0:
        return None
    return f"{heads} attention heads are not divisible by attention TP {tp}", "attention TP", tp, nearest(tp, lambda n: heads % n == 0)


def _latent(case: Case) -> bool:
    return case.model.family in ("mla", "dsa", "dsv4", "k3")


@_rule("kv-heads-per-tp", "vllm", "vllm 0.33.0 model_executor/layers/linear.py QKVParallelLinear")
@_rule("kv-heads-per-tp", "sglang", "sglang 0.5.23 models/qwen3_5.py:757: KV heads divide by attention TP or the reverse")
def _kv_heads(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    heads, tp = case.known("num_key_value_heads"), case.split.attention_tp
    if heads is None or _latent(case):
        return None

    def valid(n: int) -> bool:
        return heads % n == 0 if n <= heads else n % heads == 0

    if valid(tp):
        return None
    return (
        f"{heads} KV heads and attention TP {tp}: neither is a multiple of the other",
        "attention TP",
        tp,
        nearest(tp, _also_heads(case, valid)),
    )


@_rule("kda-heads-per-tp", "vllm", "vllm 0.33.0 models/kimi_k3/nvidia/kda.py:613")
def _kda_heads(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    heads, tp = case.known("kda_heads"), case.split.attention_tp
    if heads is None or heads % tp == 0:
        return None
    return f"{heads} KDA heads are not divisible by TP {tp}", "TP", tp, nearest(tp, lambda n: heads % n == 0)


@_rule("output-groups-per-tp", "vllm", "vllm 0.33.0 models/deepseek_v4/attention.py:226")
def _output_groups(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    groups, tp = case.known("o_groups"), case.split.attention_tp
    if groups is None or case.model.family != "dsv4" or tp <= groups:
        return None
    return f"TP {tp} leaves none of the {groups} output groups to a rank", "TP", tp, (groups,)


def _blocks(
    case: Case, group: str, width: int | None, ranks: int, of: str, other: str = ""
) -> tuple[str, str, int, tuple[int, ...]] | None:
    """Block-128 FP8: the width of a shard is a multiple of 128."""
    if width is None or case.form(group) != "fp8" or (width % ranks == 0 and (width // ranks) % 128 == 0):
        return None
    shard = f"{width / ranks:g}"
    return (
        f"{group} weights are FP8 in 128x128 blocks: width {width} over {ranks} ranks is {shard}, not a multiple of 128{other}",
        of, ranks, nearest(ranks, _also_heads(case, lambda n: width % n == 0 and (width // n) % 128 == 0)),
    )  # fmt: skip


@_rule("fp8-block-experts", "vllm", "vllm 0.33.0 quantization/utils/fp8_utils.py:1349 validate_fp8_block_shape_moe; vllm issue 17569")
@_rule("fp8-block-experts", "sglang", "sglang 0.5.23 model_runner_components/moe_ep_setup.py:136")
def _block_experts(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    if case.gpu is not None and case.gpu.vendor == "amd":
        return None  # AITER kernels take any width
    hint = "; expert parallelism keeps experts whole" if case.layout.ep <= 1 else ""
    return _blocks(case, "experts", case.known("moe_intermediate_size"), case.split.moe_tp, "expert TP", hint)


@_rule("fp8-block-shared-expert", "vllm", "vllm issue 40955; 0.33.0 pads the blocks of DeepSeek V4 instead", before=(0, 33))
def _block_shared_v4(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    return _shared_blocks(case) if case.model.family == "dsv4" else None


@_rule("fp8-block-shared-expert", "vllm", "vllm 0.33.0 quantization/utils/fp8_utils.py:1300")
def _block_shared(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    return None if case.model.family == "dsv4" else _shared_blocks(case)


def _shared_blocks(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    shared, width = case.known("n_shared_experts"), case.known("moe_intermediate_size")
    if shared is None or width is None:
        return None
    return _blocks(case, "shared", case.known("shared_expert_intermediate_size") or width * shared, case.split.shared_tp, "TP")


@_rule("fp8-block-dense", "vllm", "vllm 0.33.0 quantization/utils/fp8_utils.py:1300")
def _block_dense(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    if case.known("n_routed_experts") is not None and case.known("first_k_dense_replace") is None:
        return None
    return _blocks(case, "dense", case.known("intermediate_size"), case.split.dense_tp, "TP")


_GROUPS: Mapping[str, int] = {"int4g32": 32, "nvfp4": 16, "mxfp8": 32, "mxfp4": 32}


@_rule(
    "group-quantised-experts",
    "vllm",
    "vllm 0.33.0 distributed/utils.py:136 verify_group_size_divides_partition; quantization/modelopt.py:1320",
)
def _group_experts(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    width, form, ranks = case.known("moe_intermediate_size"), case.form("experts"), case.split.moe_tp
    group = _GROUPS.get(form or "")
    if width is None or group is None:
        return None

    def valid(n: int) -> bool:
        return width % n == 0 and (width // n) % group == 0

    if valid(ranks):
        return None
    message = f"experts are {form} in groups of {group}: width {width} over {ranks} ranks is {width / ranks:g}, not a multiple of {group}"
    return message, "expert TP", ranks, nearest(ranks, _also_heads(case, valid))


@_rule("expert-parallel-size", "vllm", "vllm 0.33.0 FusedMoEParallelConfig: EP is TP x DP x PCP")
def _ep_vllm(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layout = case.layout
    ranks = layout.tp * layout.dp * layout.cp
    if layout.ep in (1, ranks):
        return None
    return (
        f"expert parallelism spans TP {layout.tp} x DP {layout.dp} x PCP {layout.cp} = {ranks} ranks, not {layout.ep}",
        "EP",
        layout.ep,
        (1, ranks),
    )


@_rule("expert-parallel-divides", "sglang", "sglang 0.5.23 model_runner_components/moe_ep_setup.py:136")
@_rule("expert-parallel-divides", "trtllm", "TensorRT-LLM mapping.py: tp_size == moe_tp_size * moe_ep_size")
def _ep_divides(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    tp, ep = case.layout.tp, case.layout.ep
    if ep <= 1 or tp % ep == 0:
        return None
    return f"TP {tp} is not divisible by EP {ep}", "EP", ep, nearest(ep, lambda n: tp % n == 0, tp)


@_rule("moe-data-parallel", "sglang", "sglang 0.5.23 arg_groups/parallel_hook.py:170", since=(0, 5, 20))
def _moe_dp(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    tp, ep, dp, pp = case.layout.tp, case.layout.ep, case.layout.moe_dp, case.layout.pp
    if dp <= 1:
        return None
    if tp % dp or ep * dp > tp or (ep > 1 and ep * dp != tp):
        return (
            f"MoE DP {dp} with EP {ep} and TP {tp}: EP x MoE DP must be TP",
            "MoE DP",
            dp,
            nearest(dp, lambda n: tp % n == 0 and ep * n == tp, tp),
        )
    return (f"MoE DP {dp} does not work with PP {pp}", "PP", pp, (1,)) if pp > 1 else None


@_rule("more-expert-ranks-than-experts", "vllm sglang trtllm", "an expert-parallel rank holds a whole expert at least")
def _few_experts(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    experts, ep = case.known("n_routed_experts"), case.split.moe_ep
    if experts is None or ep <= experts + case.layout.redundant_experts:
        return None
    return f"{experts} experts over {ep} ranks leave ranks without one", "EP", ep, (experts,)


@_rule("dp-attention-divides", "sglang", "sglang 0.5.16 server_args.py:5605; 0.5.23 arg_groups/parallel_hook.py:158")
def _dp_attention(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layout = case.layout
    ways = (layout.dp if layout.dp_attention else 1) * layout.cp
    if ways <= 1 or layout.tp % ways == 0:
        return None
    message = f"TP {layout.tp} is not divisible by attention DP {layout.dp if layout.dp_attention else 1} x CP {layout.cp}"
    return message, "DP", layout.dp, nearest(layout.dp, lambda n: layout.tp % (n * layout.cp) == 0, layout.tp)


@_rule("dp-over-nodes", "sglang", "sglang 0.5.16 server_args.py:7594; 0.5.23 arg_groups/validation_hook.py:210")
def _dp_nodes(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layout = case.layout
    if layout.dp <= 1 or layout.dp_attention or (layout.nodes or 1) <= 1:
        return None
    return f"DP {layout.dp} without DP-attention does not span {layout.nodes} nodes", "nodes", layout.nodes or 1, (1,)


@_rule("pp-with-speculation", "sglang", "sglang 0.5.16 server_args.py:7604", before=(0, 5, 17))
def _pp_speculation(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    if case.layout.pp > 1 and case.layout.mtp:
        return f"PP {case.layout.pp} does not work with speculative decoding", "PP", case.layout.pp, (1,)
    return None


@_rule("moe-dense-tp", "sglang", "sglang 0.5.23 arg_groups/validation_hook.py:218")
def _moe_dense_tp(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    value = case.layout.moe_dense_tp
    if value is None or value in (1, case.layout.tp):
        return None
    return f"moe-dense-tp-size {value} is neither 1 nor TP {case.layout.tp}", "moe-dense-tp-size", value, (1, case.layout.tp)


@_rule("decode-context-parallel", "vllm", "vllm 0.33.0 config/parallel.py:595")
@_rule("decode-context-parallel", "sglang", "sglang 0.5.23 distributed/parallel_state.py:2665")
def _dcp(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    tp, dcp, cp = case.layout.tp, case.layout.dcp, case.layout.cp
    if dcp <= 1:
        return None
    if case.layout.engine == "vllm" and cp > 1:
        return None if dcp in (1, cp, tp * cp) else (f"DCP {dcp} with PCP {cp} and TP {tp}", "DCP", dcp, (1, cp, tp * cp))
    if tp % dcp == 0:
        return None
    return f"TP {tp} is not divisible by decode context parallel {dcp}", "DCP", dcp, nearest(dcp, lambda n: tp % n == 0, tp)


@_rule("decode-context-parallel-gqa", "vllm", "vllm 0.33.0 config/model.py:1578")
def _dcp_gqa(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    heads, kv = case.known("num_attention_heads"), case.known("num_key_value_heads")
    tp, dcp = case.layout.tp, case.layout.dcp
    if dcp <= 1 or heads is None or kv is None or _latent(case):
        return None
    most = tp // kv
    if tp <= kv:
        return f"DCP {dcp} needs TP above the {kv} KV heads, not {tp}", "TP", tp, (kv * dcp,)
    if dcp > most or (heads // kv) % dcp:
        valid = tuple(one for one in range(1, most + 1) if (heads // kv) % one == 0)[-2:]
        return f"DCP {dcp} with TP {tp}, {kv} KV heads and {heads // kv} query heads each: at most {most}, dividing them", "DCP", dcp, valid
    return None


@_rule("layers-per-pp", "vllm sglang trtllm", "a pipeline stage holds a layer at least; TensorRT-LLM mapping.py: pp <= layers")
def _layers(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layers, pp = case.known("num_hidden_layers"), case.layout.pp
    if layers is None or pp <= layers:
        return None
    return f"{layers} layers do not fill PP {pp}", "PP", pp, (layers,)


@_rule("pp-partition", "vllm sglang", "vllm 0.33.0 distributed/utils.py get_pp_indices; sglang 0.5.23 distributed/utils.py")
def _partition(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layers, partition, pp = case.known("num_hidden_layers"), case.layout.partition, case.layout.pp
    if partition is None or layers is None or (len(partition) == pp and sum(partition) == layers):
        return None
    even = stages(Layout(case.layout.engine, pp=pp), layers)
    stated = ",".join(map(str, partition))
    message = f"partition {stated} has {len(partition)} stages and {sum(partition)} layers, not {pp} and {layers}"
    message += f": {','.join(map(str, even))} would do"
    return message, "stages", len(partition), (pp,)


@_rule("world-size", "vllm", "vllm 0.33.0 config/parallel.py:1043,1111")
@_rule("world-size", "sglang trtllm atom", "every rank has a GPU of its own")
def _world(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layout, world = case.layout, case.split.world
    if layout.gpus_per_node is None or layout.nodes is None or world <= layout.nodes * layout.gpus_per_node:
        return None
    need = -(-world // layout.gpus_per_node)
    message = f"{world} ranks on {layout.nodes} x {layout.gpus_per_node} = {layout.nodes * layout.gpus_per_node} GPUs"
    return message, "nodes", layout.nodes, (need,)


@_rule("ranks-per-node", "sglang", "sglang 0.5.23 arg_groups/validation_hook.py:178")
def _ranks_per_node(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    ranks, nodes = case.layout.tp * case.layout.pp, case.layout.nodes or 1
    if ranks % nodes == 0:
        return None
    return f"TP x PP = {ranks} is not divisible by {nodes} nodes", "nodes", nodes, nearest(nodes, lambda n: ranks % n == 0, ranks)


@_rule("context-parallel-experts", "trtllm", "TensorRT-LLM mapping.py: cp_size > 1 excludes moe_ep_size > 1")
def _cp_experts(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    if case.layout.cp > 1 and case.layout.ep > 1:
        return f"CP {case.layout.cp} does not work with expert parallel {case.layout.ep}", "EP", case.layout.ep, (1,)
    return None


@_rule("eplb-needs-ep", "vllm", "vllm 0.33.0 config/parallel.py:560")
def _eplb(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    layout = case.layout
    if layout.eplb and layout.ep <= 1:
        return (
            f"EPLB needs expert parallelism, EP is {layout.ep}",
            "EP",
            layout.ep,
            (layout.tp * layout.dp,) if layout.tp * layout.dp > 1 else (),
        )
    if layout.redundant_experts and not layout.eplb:
        return f"{layout.redundant_experts} redundant experts need EPLB", "redundant experts", layout.redundant_experts, (0,)
    return None


@_rule("batch-below-sequences", "vllm", "vllm 0.33.0 config/scheduler.py:317")
def _batch(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    tokens, sequences, length = case.layout.max_num_batched_tokens, case.layout.max_num_seqs, case.layout.max_model_len
    if tokens is not None and sequences is not None and tokens < sequences:
        return f"max-num-batched-tokens {tokens} is below max-num-seqs {sequences}", "max-num-batched-tokens", tokens, (sequences,)
    if tokens is not None and length is not None and case.layout.chunked_prefill is False and tokens < length:
        return (
            f"max-num-batched-tokens {tokens} is below max-model-len {length} with chunked prefill off",
            "max-num-batched-tokens", tokens, (length,),
        )  # fmt: skip
    return None


@_rule("chunk-per-page", "sglang", "sglang 0.5.23 arg_groups/validation_hook.py:245")
def _chunk(case: Case) -> tuple[str, str, int, tuple[int, ...]] | None:
    chunk, page = case.layout.max_num_batched_tokens, case.layout.page_size
    if chunk is None or page is None or page < 1 or chunk < 1 or chunk % page == 0:
        return None
    down = chunk // page * page
    return (
        f"chunked-prefill-size {chunk} is not a multiple of page-size {page}",
        "chunked-prefill-size",
        chunk,
        tuple(one for one in (down, down + page) if one),
    )


def each() -> Iterator[Constraint]:
    """Every declared constraint."""
    yield from CONSTRAINTS
