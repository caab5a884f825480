"""The verbs ``fit`` and ``model``: a table of layouts, one layout worked out, a model's facts, a model file from a ``config.json``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from reviewbot.catalog.gpus import GIB, Gpu, all_gpus, find_gpu
from reviewbot.catalog.models import Checkpoint, Model, ModelError, all_models, find_model, model_file_from_config
from reviewbot.catalog.tensors import checkpoint_bytes, parameters
from reviewbot.fit.advice import advise, advise_table
from reviewbot.fit.layout import ENGINES, MOST_RANKS, Layout, described, parse_version
from reviewbot.fit.table import table
from reviewbot.fit.verdict import Report, fit, report_data

_ENGINE_NAMES = {"trt": "trtllm", "tensorrt-llm": "trtllm", "trt-llm": "trtllm", "tensorrtllm": "trtllm"}


class UsageError(Exception):
    """Arguments that cannot be answered; the message says what would do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot fit``. Sizes are in the engine's own notation; ``--ep`` above 1 turns expert parallelism on."""
    parser.add_argument(
        "names", nargs="*", metavar="MODEL | KEY",
        help="with --gpu and --engine: a model's name, alias, Hugging Face id, or file (.json); without: config keys or ids of points of "
        "the repository, * matches any text (default: all)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", dest="every", help="of a repository: one line for each run and role, not each layout")
    parser.add_argument("--gpu", help=f"one of {', '.join(all_gpus())}, or another with --gpu-memory-gib")
    parser.add_argument("--gpu-memory-gib", type=float, help="usable memory of the GPU in GiB (2**30 bytes), where it is not a known one")
    parser.add_argument("--engine", help=f"one of {', '.join(ENGINES)}")
    parser.add_argument("--precision", help="of the weights: fp4, fp8, nvfp4, mxfp4, int4, bf16 ... (default: what the id is published in)")
    parser.add_argument("--engine-version", help="as 0.33.0; padding and defaults differ by version (default: the newest known)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--models", action="append", default=[], metavar="DIR", help="a directory with model files of your own")
    layout = parser.add_argument_group("one layout (without: a table)")
    layout.add_argument("--tp", "--tensor-parallel-size", type=_ranks, dest="tp")
    layout.add_argument("--pp", "--pipeline-parallel-size", type=_ranks, dest="pp")
    layout.add_argument("--dp", "--data-parallel-size", type=_ranks, dest="dp")
    layout.add_argument("--ep", "--expert-parallel-size", type=_ranks, dest="ep")
    layout.add_argument("--cp", type=_ranks, help="prefill (vLLM) or attention (SGLang) context parallel")
    layout.add_argument("--dcp", type=_ranks, help="decode context parallel")
    layout.add_argument("--dp-attention", action="store_true", help="DP-attention (SGLang, TensorRT-LLM, ATOM)")
    layout.add_argument("--mtp", action="store_true", help="load the draft layers of the checkpoint")
    layout.add_argument("--redundant-experts", type=_count, default=0)
    layout.add_argument("--nodes", type=_ranks)
    layout.add_argument("--gpus-per-node", type=_ranks)
    parser.add_argument("--max-gpus", type=_size, help="of the table (default: one node)")
    parser.add_argument("--kv-dtype", "--kv-cache-dtype", dest="kv_dtype")
    parser.add_argument("--utilization", type=_fraction, help="gpu-memory-utilization, mem-fraction-static or free_gpu_memory_fraction")
    parser.add_argument("--max-model-len", type=_size)
    parser.add_argument("--max-num-seqs", type=_size)
    parser.add_argument("--max-num-batched-tokens", type=_size)
    parser.add_argument("--concurrency", type=_size)
    parser.add_argument("--moe-backend")
    parser.add_argument("--moe-a2a-backend", dest="all_to_all")
    parser.add_argument("--moe-dense-tp-size", type=_ranks, dest="moe_dense_tp")
    parser.add_argument("--enable-dp-lm-head", action="store_true", dest="dp_lm_head")
    parser.add_argument("--language-model-only", action="store_true", dest="language_only")
    parser.add_argument("--draft-gib", type=float, default=0.0, help="weights of a separate draft model on each GPU, in GiB")
    parser.add_argument("--pp-partition", help="layers of each stage, as 31,30")


def _size(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1 << 30:
        raise argparse.ArgumentTypeError(f"{text} is not a positive size")
    return value


def _ranks(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MOST_RANKS:
        raise argparse.ArgumentTypeError(f"{text} is not a number of ranks from 1 to {MOST_RANKS}")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 1 << 20:
        raise argparse.ArgumentTypeError(f"{text} is not a count")
    return value


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a fraction above 0 and up to 1")
    return value


def _model(name: str, directories: Sequence[str]) -> Model:
    from reviewbot.catalog.models import read_model

    if name.endswith(".json") and Path(name).is_file():
        return read_model(Path(name))
    model = find_model(name, *(Path(one) for one in directories))
    if model is None:
        raise UsageError(
            f"no facts about the model {name!r}; known: {', '.join(all_models())}; add one with: reviewbot model add config.json"
        )
    return model


def _gpu(name: str, memory: float | None) -> Gpu:
    known = find_gpu(name)
    if memory is not None:
        if not 1 <= memory <= 4096:
            raise UsageError(f"{memory:g} GiB is not a size of a GPU")
        if known is not None:
            return replace(known, usable_gib=memory, measured=True)
        return Gpu(name, "", "", round(memory * GIB / 1e9, 1), memory, True, 8, "")
    if known is None:
        raise UsageError(f"the GPU {name!r} is not known; known: {', '.join(all_gpus())}; give --gpu-memory-gib for another")
    return known


def _checkpoint(model: Model, name: str, precision: str | None, gpu: Gpu) -> Checkpoint:
    by_id = model.checkpoint_of(name) if "/" in name else None
    if precision is None:
        if by_id is None and not model.checkpoints:
            raise UsageError(f"{model.name} has no checkpoint")
        return by_id or model.checkpoints[0]
    chosen = model.checkpoint(precision)
    if precision.lower() == "fp4" and gpu.vendor == "amd" and chosen is not None and chosen.precision.startswith("nvfp4"):
        chosen = model.checkpoint("mxfp4") or chosen
    if by_id is not None and by_id.precision != "bf16" and (chosen is None or precision.lower() in ("fp4", "fp8")):
        return by_id  # the id says more than the width
    if chosen is None:
        raise UsageError(f"{model.name} is not known in {precision}; known: {', '.join(one.precision for one in model.checkpoints)}")
    return chosen


def _layout(args: argparse.Namespace, engine: str) -> Layout:
    version = parse_version(args.engine_version) if args.engine_version else None
    partition = None
    if args.pp_partition:
        try:
            partition = tuple(int(one) for one in args.pp_partition.split(","))
        except ValueError:
            raise UsageError(f"{args.pp_partition!r} is not a list of layers") from None
    tp, dp, ep = args.tp or 1, args.dp, args.ep or 1
    if engine == "vllm" and dp is None and ep > tp and ep % tp == 0:
        dp = ep // tp  # expert parallelism spans TP x DP
    if engine == "vllm" and args.dp_attention and dp is None and ep in (1, tp) and tp > 1:
        tp, dp = 1, tp  # attention replicated over what would be TP
    if engine == "sglang" and args.dp_attention and dp is None:
        dp = tp
    return Layout(
        engine=engine, tp=tp, pp=args.pp or 1, dp=dp or 1, ep=ep, cp=args.cp or 1, dcp=args.dcp or 1,
        dp_attention=bool(args.dp_attention) and engine != "vllm", version=version, nodes=args.nodes, gpus_per_node=args.gpus_per_node,
        redundant_experts=args.redundant_experts, eplb=bool(args.redundant_experts), mtp=args.mtp, draft_gib=args.draft_gib,
        moe_backend=args.moe_backend, all_to_all=args.all_to_all, moe_dense_tp=args.moe_dense_tp, dp_lm_head=args.dp_lm_head,
        kv_dtype=args.kv_dtype, utilization=args.utilization, max_model_len=args.max_model_len, max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens, concurrency=args.concurrency, partition=partition,
        language_only=args.language_only,
    )  # fmt: skip


def run(args: argparse.Namespace, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Answers ``reviewbot fit``: 0 where the layout (or any of the table) fits or is tight or cannot be told, 1 where it does not, 2 on
    bad usage."""
    out, err = out or sys.stdout, err or sys.stderr
    try:
        if not args.gpu or not args.engine or len(args.names) != 1:
            raise UsageError("a MODEL, --gpu and --engine are needed; without all of them the runs of a repository are looked at")
        name = args.names[0]
        engine = _ENGINE_NAMES.get(args.engine.lower(), args.engine.lower())
        if engine not in ENGINES:
            raise UsageError(f"the engine {args.engine!r} is not known; known: {', '.join(ENGINES)}")
        gpu = _gpu(args.gpu, args.gpu_memory_gib)
        model = _model(name, args.models)
        checkpoint = _checkpoint(model, name, args.precision, gpu)
        layout = _layout(args, engine)
        if args.engine_version and layout.version is None:
            print(f"reviewbot fit: no version in {args.engine_version!r}: taken as the newest", file=err)
        single = any(value is not None for value in (args.tp, args.pp, args.dp, args.ep))
        if single:
            if layout.nodes is not None and layout.gpus_per_node is None:
                layout = replace(layout, gpus_per_node=gpu.gpus_per_node)
            return _one(fit(model, checkpoint, layout, gpu), args.format, out)
        most = args.max_gpus or (args.nodes or 1) * (args.gpus_per_node or gpu.gpus_per_node)
        base = replace(layout, nodes=None, gpus_per_node=args.gpus_per_node or gpu.gpus_per_node)
        return _table(model, checkpoint, gpu, base, min(most, 1024), args.format, out)
    except (UsageError, ModelError) as error:
        print(f"reviewbot fit: {error}", file=err)
        return 2


def _one(report: Report, form: str, out: TextIO) -> int:
    advice = advise(report)
    if form == "json":
        data = report_data(report)
        data["advice"] = {"text": advice.text, "nodes": advice.nodes, "layout": _sizes(advice.layout)}
        json.dump(data, out, indent=2)
        out.write("\n")
    else:
        print(
            f"{report.model.name} in {report.checkpoint.precision} on {report.gpus} x {report.gpu.name.upper()}, {_name(report.layout)}",
            file=out,
        )
        for step in report.steps:
            value = "" if step.value is None else f"{step.value:,.2f}" if step.unit == "GiB" else f"{step.value:,.0f}"
            unit = step.unit if step.value is not None else ""
            print(f"  {step.name:<26}{value:>14} {unit:<9} {step.text}".rstrip(), file=out)
        for violation in report.constraints:
            print(f"  refused: {violation.message} [{violation.rule}; {violation.source}]", file=out)
        print(f"  {advice.text}", file=out)
    return 1 if report.verdict == "does-not-fit" else 0


def _sizes(layout: Layout | None) -> dict[str, Any] | None:
    if layout is None:
        return None
    return {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep, "dp_attention": layout.dp_attention}


def _name(layout: Layout) -> str:
    version = f" {'.'.join(map(str, layout.version))}" if layout.version else ""
    return f"{layout.engine}{version} {described(layout)}"


def of_repository(args: argparse.Namespace) -> bool:
    """Whether the arguments of ``fit`` ask about the runs of a repository. Raises ``UsageError`` where they mix both questions."""
    if args.gpu is not None or args.engine is not None:
        return False
    names = ("tp", "pp", "dp", "ep", "precision", "engine_version", "max_gpus")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(args, name)]
    if given:
        raise UsageError(f"{given[0]} goes with a MODEL, --gpu and --engine")
    return True


_BAR = 24


def _bar(part: float | None) -> str:
    if part is None:
        return "?".ljust(_BAR)
    filled = min(_BAR, max(0, round(part * _BAR)))
    return ("█" * filled + "░" * (_BAR - filled)) if part <= 1 else "█" * (_BAR - 1) + "▶"


_COLOURS = {"fits": "32", "tight": "33", "does-not-fit": "31", "cannot-tell": "36"}


def _painted(verdict: str, out: TextIO) -> str:
    if os.environ.get("NO_COLOR") is not None or not getattr(out, "isatty", lambda: False)():
        return verdict
    return f"\x1b[{_COLOURS[verdict]}m{verdict}\x1b[0m"


def _table(model: Model, checkpoint: Checkpoint, gpu: Gpu, base: Layout, most: int, form: str, out: TextIO) -> int:
    reports = table(model, checkpoint, gpu, base, most)
    usable = any(one.verdict != "does-not-fit" for one in reports)
    advice = advise_table(reports)
    if form == "json":
        data = {
            "version": 1,
            "model": model.name,
            "precision": checkpoint.precision,
            "gpu": gpu.name,
            "engine": base.engine,
            "max_gpus": most,
            "checkpoint_bytes": _size_of(model, checkpoint),
            "layouts": [report_data(one) for one in reports],
            "advice": {"text": advice.text, "nodes": advice.nodes, "layout": _sizes(advice.layout)},
        }
        json.dump(data, out, indent=2)
        out.write("\n")
        return 0 if usable else 1
    size = _size_of(model, checkpoint)
    head = f"{size / 1e9:,.1f} GB = {size / GIB:,.1f} GiB of weights" if size is not None else "weights not known"
    print(
        f"{model.name} in {checkpoint.precision} ({head}) "
        f"on up to {most} x {gpu.name.upper()} ({gpu.usable_gib:.2f} GiB usable), {base.engine}",
        file=out,
    )
    print(
        f"{'GPUs':>4} {'TP':>3} {'PP':>3} {'DP':>3} {'EP':>4}  "
        f"{'weights/GPU':<{_BAR}} {'GiB':>7} {'of GPU':>6} {'KV tokens':>12} {'requests':>9}  verdict",
        file=out,
    )
    for one in reports:
        layout = one.layout
        weights = f"{one.weights_gib:7.1f}" if one.weights_gib is not None else "      ?"
        share = f"{one.share:6.0%}" if one.share is not None else "     ?"
        tokens = f"{one.kv_tokens[0]:,}" if one.kv_tokens is not None else "?"
        requests = f"{one.requests[0]:.1f}" if one.requests is not None else "-"
        note = f"  {one.constraints[0].message}" if one.constraints else ""
        attention = "a" if layout.dp_attention else ""
        sizes = f"{one.gpus:>4} {layout.tp:>3} {layout.pp:>3} {f'{layout.dp}{attention}':>3} {layout.ep:>4}"
        held = f"{_bar(one.share)} {weights} {share} {tokens:>12} {requests:>9}"
        print(f"{sizes}  {held}  {_painted(one.verdict, out)}{note}", file=out)
    print(advice.text, file=out)
    return 0 if usable else 1


def _size_of(model: Model, checkpoint: Checkpoint) -> int | None:
    try:
        return checkpoint_bytes(model, checkpoint)
    except ModelError:
        return None


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot model``: ``list``, ``show NAME``, ``add config.json``."""
    verbs = parser.add_subparsers(dest="model_verb", required=True, metavar="VERB")
    verbs.add_parser("list", help="the models that facts are known of")
    show = verbs.add_parser("show", help="parameters by class, checkpoints and their sources")
    show.add_argument("model", metavar="MODEL")
    add = verbs.add_parser("add", help="a model file from a Hugging Face config.json")
    add.add_argument("config", metavar="CONFIG.JSON")
    add.add_argument("--name", help="of the model (default: the directory of the file)")
    add.add_argument("--hf-id", help="as org/name")
    add.add_argument("--output", metavar="FILE", help="where to write (default: standard output)")


def run_model(args: argparse.Namespace, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Answers ``reviewbot model``; 2 on bad usage or a file that is not a config."""
    out, err = out or sys.stdout, err or sys.stderr
    try:
        if args.model_verb == "list":
            for model in all_models().values():
                print(f"{model.name:<22} {', '.join(one.precision for one in model.checkpoints if one.published)}", file=out)
            return 0
        if args.model_verb == "show":
            return _show(_model(args.model, ()), out)
        return _add(args, out)
    except (UsageError, ModelError) as error:
        print(f"reviewbot model: {error}", file=err)
        return 2


def _show(model: Model, out: TextIO) -> int:
    print(f"{model.name} ({model.family or 'family not known'})", file=out)
    for key, value in sorted(model.sources.items()):
        print(f"  source of {key}: {value}", file=out)
    for checkpoint in model.checkpoints:
        size = _size_of(model, checkpoint)
        text = f"{size / 1e9:,.2f} GB = {size / GIB:,.2f} GiB" if size is not None else "size not known"
        print(f"  {checkpoint.precision}: {text}{' (assumed layout)' if checkpoint.assumed else ''}; {checkpoint.source}", file=out)
    try:
        counts = parameters(model, model.checkpoints[0])
    except (ModelError, IndexError) as error:
        print(f"  {error}", file=out)
        return 0
    for group, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {group:<16}{count:>20,} parameters", file=out)
    return 0


def _add(args: argparse.Namespace, out: TextIO) -> int:
    path = Path(args.config)
    try:
        if path.stat().st_size > 8 << 20:
            raise UsageError(f"{path.name}: larger than 8 MiB")
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path.name}: {error}") from None
    name = args.name or (args.hf_id or path.resolve().parent.name).rsplit("/", 1)[-1].lower()
    data = model_file_from_config(
        config, name, (args.hf_id and f"https://huggingface.co/{args.hf_id}/blob/main/config.json") or path.name, args.hf_id
    )
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
    else:
        out.write(text)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m reviewbot.fit.command fit|model ...``."""
    parser = argparse.ArgumentParser(prog="reviewbot")
    verbs = parser.add_subparsers(dest="verb", required=True)
    add_arguments(verbs.add_parser("fit"))
    add_model_arguments(verbs.add_parser("model"))
    args = parser.parse_args(argv)
    return run(args) if args.verb == "fit" else run_model(args)


if __name__ == "__main__":
    raise SystemExit(main())
