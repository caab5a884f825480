"""Result files of the known shapes, as rows of one table, and what they say about a point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.sweep.plan import PlanPoint

MAX_BYTES = 64 * 1024 * 1024

COLUMNS = (
    "key",
    "config",
    "runner",
    "scenario",
    "framework",
    "precision",
    "model",
    "state",
    "outcome",
    "reason",
    "attempt",
    "shape",
    "file",
    "isl",
    "osl",
    "conc",
    "gpus",
    "requests",
    "successful",
    "total_tput",
    "output_tput",
    "tput_per_gpu",
    "output_tput_per_gpu",
    "interactivity",
    "ttft_ms",
    "tpot_ms",
    "e2e_ms",
    "seconds",
    "task",
    "score",
    "receipt",
)
"""Columns of the table. Throughput is in tokens a second, ``interactivity`` in tokens a second a user, times are medians."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a point ended: ``success``, or one word for what went wrong and the ``reason`` for people; ``rows`` of its result files."""

    outcome: str
    reason: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()


class UnreadableResult(Exception):
    """A result file that cannot be read as what it should be."""


def judge(point: PlanPoint, end: Mapping[str, Any], folder: Path) -> Outcome:
    """What has become of a point whose job said its last word. A point without one successful request has failed."""
    rows: list[Mapping[str, Any]] = []
    trouble = ""
    found = sorted(folder.glob("*")) if folder.is_dir() else []
    for path in found:
        try:
            rows.extend(read_result(path, point))
        except UnreadableResult as error:
            trouble = trouble or f"{path.name}: {error}"
    outcome, rc = str(end.get("outcome", "")), end.get("rc")
    if outcome != "exited":
        return Outcome(outcome or "no-last-word", str(end.get("reason") or ""), tuple(rows))
    if rc != 0:
        return Outcome("exit-status", str(end.get("reason") or "") or f"it ended with status {rc}", tuple(rows))
    if not point.outputs:
        return Outcome("success")
    if trouble:
        return Outcome("unreadable-result", trouble, tuple(rows))
    if not rows:
        return Outcome(
            "empty", f"no result of a known shape among {', '.join(p.name for p in found[:3])}" if found else "it left no result"
        )
    useless = [row for row in rows if row.get("successful") == 0]
    if useless:
        return Outcome("no-success", f"{useless[0]['file']}: not one request was successful", tuple(rows))
    return Outcome("success", "", tuple(rows))


def read_result(path: Path, point: PlanPoint) -> list[dict[str, Any]]:
    """The rows of a result file, none where it is of no known shape. Raises ``UnreadableResult``."""
    if path.suffix != ".json":
        return []
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableResult("too large for a result")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableResult(error.strerror or "cannot be read") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableResult(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        return []
    rows = _rows(data, point)
    for row in rows:
        row["file"] = path.name
    return rows


def _rows(data: Mapping[str, Any], point: PlanPoint) -> list[dict[str, Any]]:
    if "num_requests_successful" in data or data.get("scenario_type") == "agentic-coding":
        return [_agentic(data, point)]
    if isinstance(data.get("output_token_throughput"), Mapping) and "request_count" in data:
        return [_aiperf(data, point)]
    if "total_token_throughput" in data or ("completed" in data and "output_throughput" in data):
        return [_fixed(data, point)]
    if isinstance(data.get("results"), Mapping) and ("configs" in data or "lm_eval_version" in data or "n-samples" in data):
        return _eval(data, point)
    if "exit_code" in data and "job_id" in data:
        return [
            {"shape": "status", "successful": 1 if data["exit_code"] == 0 else 0, "score": number(data.get("score")), "gpus": point.gpus}
        ]
    return []


def _fixed(data: Mapping[str, Any], point: PlanPoint) -> dict[str, Any]:
    """benchmark_serving: one concurrency, lengths given."""
    tpot = number(data.get("median_tpot_ms"))
    return _with_rates(
        {
            "shape": "fixed",
            "conc": whole(data.get("max_concurrency")),
            "requests": whole(data.get("num_prompts")),
            "successful": whole(data.get("completed")),
            "total_tput": number(data.get("total_token_throughput")),
            "output_tput": number(data.get("output_throughput")),
            "ttft_ms": number(data.get("median_ttft_ms")),
            "tpot_ms": tpot,
            "e2e_ms": number(data.get("median_e2el_ms")),
            "seconds": number(data.get("duration")),
            "interactivity": _inverse(tpot),
        },
        point,
    )


def _agentic(data: Mapping[str, Any], point: PlanPoint) -> dict[str, Any]:
    """The aggregate of an agentic run; its latencies are in seconds."""
    metrics = data.get("request_metrics")
    metrics = metrics if isinstance(metrics, Mapping) else {}
    throughput, latency = metrics.get("throughput"), metrics.get("latency")
    throughput = throughput if isinstance(throughput, Mapping) else {}
    latency = latency if isinstance(latency, Mapping) else {}

    def median(name: str) -> float | None:
        found = latency.get(name)
        return number(found.get("p50")) if isinstance(found, Mapping) else None

    ttft, itl, e2e, interactivity = (median(name) for name in ("ttft", "itl", "e2el", "intvty"))
    return _with_rates(
        {
            "shape": "agentic", "conc": whole(data.get("conc")), "requests": whole(data.get("num_requests_total")),
            "successful": whole(data.get("num_requests_successful")), "total_tput": number(throughput.get("total_tput_tps")),
            "output_tput": number(throughput.get("output_tput_tps")), "ttft_ms": _milliseconds(ttft), "tpot_ms": _milliseconds(itl),
            "e2e_ms": _milliseconds(e2e), "interactivity": interactivity if interactivity is not None or not itl else 1 / itl,
        },
        point,
    )  # fmt: skip


def _aiperf(data: Mapping[str, Any], point: PlanPoint) -> dict[str, Any]:
    """AIPerf's own export of a profile."""

    def average(name: str, *fields: str) -> float | None:
        found = data.get(name)
        return next((value for field in fields if isinstance(found, Mapping) and (value := number(found.get(field))) is not None), None)

    tpot = average("inter_token_latency", "p50", "avg")
    output = average("output_token_throughput", "avg")
    completed = average("request_count", "avg")
    failed = average("error_request_count", "avg")
    config = data.get("input_config")
    generator = config.get("loadgen") if isinstance(config, Mapping) else None
    return _with_rates(
        {
            "shape": "aiperf",
            "conc": whole(generator.get("concurrency")) if isinstance(generator, Mapping) else None,
            "requests": None if completed is None else int(completed + (failed or 0)),
            "successful": None if completed is None else int(completed),
            "total_tput": average("total_token_throughput", "avg"),
            "output_tput": output,
            "ttft_ms": average("time_to_first_token", "p50", "avg"),
            "tpot_ms": tpot,
            "e2e_ms": average("request_latency", "p50", "avg"),
            "seconds": average("benchmark_duration", "avg"),
            "interactivity": _inverse(tpot),
        },
        point,
    )


def _eval(data: Mapping[str, Any], point: PlanPoint) -> list[dict[str, Any]]:
    """lm-eval: a row a task, with its main metric and the samples that counted."""
    rows = []
    samples = data.get("n-samples")
    for task, values in data["results"].items():
        if not isinstance(values, Mapping):
            continue
        scored = [
            (name, number(value)) for name, value in values.items() if "stderr" not in name and name not in ("alias", "name", "sample_len")
        ]
        preferred = [pair for pair in scored if pair[1] is not None]
        preferred.sort(
            key=lambda pair: (not any(word in pair[0] for word in ("strict", "resolved")), not pair[0].startswith(("exact_match", "acc")))
        )
        counted = samples.get(task) if isinstance(samples, Mapping) else None
        effective = whole(counted.get("effective")) if isinstance(counted, Mapping) else None
        rows.append(
            {
                "shape": "eval",
                "task": str(task),
                "score": preferred[0][1] if preferred else None,
                "requests": effective,
                "successful": 0 if not preferred else effective,
                "gpus": point.gpus,
            }
        )
    return rows


def _with_rates(row: dict[str, Any], point: PlanPoint) -> dict[str, Any]:
    gpus = point.gpus
    if row.get("conc") is None:
        row["conc"] = whole(point.row.get("conc"))
    row["isl"], row["osl"], row["gpus"] = whole(point.row.get("isl")), whole(point.row.get("osl")), gpus
    for name in ("total_tput", "output_tput"):
        value = row.get(name)
        row[name.replace("total_", "") + "_per_gpu"] = value / gpus if value is not None and gpus else None
    return row


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _inverse(milliseconds: float | None) -> float | None:
    return 1000 / milliseconds if milliseconds else None


def number(value: Any) -> float | None:
    """A finite number, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(value)


def whole(value: Any) -> int | None:
    """A number as an integer, else ``None``."""
    found = number(value)
    return None if found is None else int(found)
