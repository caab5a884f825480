"""The results of a sweep: one table as CSV and JSON, and a page that shows them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TextIO

from reviewbot.sweep.durable import write_atomically
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.ledger import Ledger
from reviewbot.sweep.plan import Plan, paths_of, read_plan
from reviewbot.sweep.plots import COLOURS, Dot, Series, frontier, png, svg
from reviewbot.sweep.results import COLUMNS

VERSION = 1
_COMPARED = ("tput_per_gpu", "interactivity", "ttft_ms", "score")
_SHOWN_REASON = 400

Table = list[dict[str, Any]]


def table(plan: Plan, ledger: Ledger) -> Table:
    """A row for each result, and one for each point without any, in the order of the plan; a column without a value is ``None``."""
    rows: Table = []
    for entry in ledger.each():
        point = plan.by_key[entry.key]
        common = {
            "key": entry.key,
            "config": point.config,
            "runner": point.runner,
            "scenario": point.scenario,
            "framework": point.row.get("framework"),
            "precision": point.row.get("precision"),
            "model": point.row.get("model"),
            "state": entry.state,
            "outcome": entry.outcome,
            "reason": entry.reason,
            "attempt": entry.attempt,
            "receipt": entry.receipt,
            "gpus": point.gpus,
        }
        for result in entry.result_rows or [{}]:
            merged = {**common, **result}
            rows.append({name: merged.get(name) for name in COLUMNS})
    return rows


def groups(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Successful measurements that may be compared with each other: of one model, precision, scenario and lengths."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["state"] != "done" or not row["tput_per_gpu"] or not row["interactivity"]:
            continue
        lengths = f" {row['isl']}/{row['osl']}" if row["isl"] is not None else ""
        found.setdefault(f"{row['model']} {row['precision']} {row['scenario']}{lengths}", []).append(row)
    return found


def series(rows: Sequence[Mapping[str, Any]], previous: Sequence[Mapping[str, Any]] = ()) -> list[Series]:
    """What is drawn: a series for each group, its frontier marked."""
    earlier = groups(previous)
    found = []
    for name, members in groups(rows).items():
        best = frontier([(row["interactivity"], row["tput_per_gpu"]) for row in members])
        dots = tuple(Dot(row["interactivity"], row["tput_per_gpu"], _label(row), place in best) for place, row in enumerate(members))
        found.append(
            Series(name, dots, tuple(Dot(row["interactivity"], row["tput_per_gpu"], _label(row)) for row in earlier.get(name, ())))
        )
    return found


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['key']} conc {row['conc']}: {row['tput_per_gpu']:.1f} tok/s/GPU at {row['interactivity']:.1f} tok/s/user"


def comparison(rows: Sequence[Mapping[str, Any]], previous: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each result beside that of the previous sweep: values, and the change in percent; points that only one of them has are named."""

    def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row["key"], row["shape"], row["conc"], row["task"]

    def value(row: Mapping[str, Any] | None, column: str) -> Any:
        return row[column] if row is not None and row["state"] == "done" else None

    before = {identity(row): row for row in previous}
    states = {row["key"]: row["state"] for row in previous}
    now = {identity(row): row for row in rows}
    bare = {row["key"] for row in rows if row["shape"] is None}
    pairs: list[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]] = [(before.get(name), row) for name, row in now.items()]
    pairs.extend((row, None) for name, row in before.items() if name not in now and row["key"] not in bare)
    found = []
    for old, new in pairs:
        row = new if new is not None else old
        assert row is not None
        entry: dict[str, Any] = {
            "key": row["key"], "conc": row["conc"], "task": row["task"], "before": states.get(row["key"]) if old is None else old["state"],
            "now": None if new is None else new["state"],
        }  # fmt: skip
        for column in _COMPARED:
            one, other = value(old, column), value(new, column)
            entry[column] = {"before": one, "now": other, "percent": 100 * (other - one) / one if one and other is not None else None}
        found.append(entry)
    return found


def report_data(plan: Plan, rows: Table, counts: Mapping[str, int], compared: list[dict[str, Any]] | None) -> dict[str, Any]:
    """The report as JSON."""
    best: list[str] = []
    for members in groups(rows).values():
        places = frontier([(row["interactivity"], row["tput_per_gpu"]) for row in members])
        best.extend(str(members[place]["key"]) for place in sorted(places))
    return {
        "version": VERSION,
        "plan": plan.id,
        "commit": plan.commit,
        "made": plan.made,
        "counts": dict(counts),
        "rows": rows,
        "frontier": best,
        "failures": [
            {"key": row["key"], "state": row["state"], "outcome": row["outcome"], "reason": row["reason"]}
            for row in rows
            if row["state"] in ("failed", "refused", "cancelled")
        ],
        "left_out": [{"key": one.key, "reason": one.reason} for one in plan.left_out],
        "comparison": compared,
    }


def csv_text(rows: Table) -> str:
    """The table as CSV. Text that a spreadsheet would take for a formula is quoted with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_report(path: Path, output: Path | None, compare: Path | None, form: str, out: TextIO) -> int:
    """Write ``results.csv``, ``results.json``, ``index.html``, ``throughput.svg`` and, where matplotlib is, ``throughput.png``."""
    plan, rows, counts = _read(path)
    previous = _read(compare)[1] if compare is not None else None
    folder = output if output is not None else path.with_name(path.name.removesuffix(".json") + ".report")
    drawn = series(rows, previous or ())
    data = report_data(plan, rows, counts, comparison(rows, previous) if previous is not None else None)
    drawing = svg(drawn)
    text = json.dumps(data, indent=1, ensure_ascii=True) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(str(folder / "results.csv"), csv_text(rows))
        write_atomically(str(folder / "results.json"), text)
        write_atomically(str(folder / "throughput.svg"), drawing + "\n")
        pictured = png(drawn, folder / "throughput.png")
        write_atomically(str(folder / "index.html"), page(data, drawing, drawn))
    except OSError as error:
        raise SweepError(f"{folder}: {error.strerror}", 3) from None
    if form == "json":
        out.write(text)
    else:
        out.write("".join(f"{count} {state}\n" for state, count in counts.items() if count))
        out.write(f"{folder / 'index.html'}" + ("" if pictured else " (no PNG: matplotlib is not installed)") + "\n")
    return 0


def _read(path: Path) -> tuple[Plan, Table, dict[str, int]]:
    plan = read_plan(path)
    ledger = Ledger.open(paths_of(path)[0], plan.id)
    try:
        return plan, table(plan, ledger), ledger.status().counts
    finally:
        ledger.close()


# --- page --------------------------------------------------------------------------------------------------------------

_STYLE = """
:root{color-scheme:light;--ink:#0f172a;--soft:#475569;--line:#e2e8f0}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);margin:2rem auto;max-width:70rem;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
p.meta{color:var(--soft);margin:.25rem 0 1rem}
ul.counts{list-style:none;display:flex;flex-wrap:wrap;gap:.5rem;padding:0}
ul.counts li{border:1px solid var(--line);border-radius:.5rem;padding:.25rem .75rem}
ul.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;color:var(--soft)}
ul.legend span{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin-right:.4em}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.receipt{font-family:ui-monospace,monospace}
tr.best td:first-child::after{content:" \\2605";color:#a16207}
.failed,.refused,.cancelled{color:#b91c1c}.up{color:#15803d}.down{color:#b91c1c}
svg{width:100%;height:auto;border:1px solid var(--line);border-radius:.5rem}
"""

_SHOWN = (
    ("key", "Point", ""),
    ("shape", "Result", ""),
    ("conc", "Conc", "n"),
    ("gpus", "GPUs", "n"),
    ("successful", "Good", "n"),
    ("requests", "Requests", "n"),
    ("tput_per_gpu", "tok/s/GPU", "n"),
    ("interactivity", "tok/s/user", "n"),
    ("ttft_ms", "TTFT ms", "n"),
    ("tpot_ms", "TPOT ms", "n"),
    ("task", "Task", ""),
    ("score", "Score", "n"),
    ("receipt", "Receipt", "receipt"),
)


def page(data: Mapping[str, Any], drawing: str, drawn: Sequence[Series]) -> str:
    """The page, complete in itself: no script, nothing loaded from anywhere."""
    best = set(data["frontier"])
    measured = [row for row in data["rows"] if row["shape"] is not None]
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sweep {_text(data['plan'][:12])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        f"<h1>Sweep {_text(data['plan'][:12])}</h1>",
        f'<p class="meta">planned {_text(data["made"])} at commit {_text(data["commit"][:12] or "none")}</p>',
        '<ul class="counts" id="counts">'
        + "".join(f'<li class="{_text(s)}">{n} {_text(s)}</li>' for s, n in data["counts"].items() if n)
        + "</ul>",
    ]
    if drawn:
        parts.append("<h2>Throughput per GPU against interactivity</h2>")
        parts.append(
            '<ul class="legend">'
            + "".join(
                f'<li><span style="background:{COLOURS[number % len(COLOURS)]}"></span>{_text(one.name)}</li>'
                for number, one in enumerate(drawn)
            )
            + "<li>filled: on the Pareto frontier</li></ul>"
        )
        parts.append(drawing)
    if data["failures"]:
        parts.append(
            '<h2>Failures</h2>\n<div class="wide"><table id="failures">'
            "<thead><tr><th>Point</th><th>State</th><th>Why</th></tr></thead><tbody>"
        )
        for row in data["failures"]:
            why = f"{row['outcome'] or ''}: {row['reason'] or ''}".strip(": ")[:_SHOWN_REASON]
            parts.append(
                f'<tr><td>{_text(row["key"])}</td><td class="{_text(row["state"])}">{_text(row["state"])}</td><td>{_text(why)}</td></tr>'
            )
        parts.append("</tbody></table></div>")
    if data["comparison"] is not None:
        parts.append(_comparison_table(data["comparison"]))
    parts.append('<h2>Results</h2>\n<div class="wide"><table id="results"><thead><tr>')
    parts.append("".join(f'<th class="{kind}">{title}</th>' for _, title, kind in _SHOWN) + "</tr></thead><tbody>")
    for row in measured:
        cells = "".join(f'<td class="{kind}">{_text(_shown(name, row[name]))}</td>' for name, _, kind in _SHOWN)
        parts.append(f"<tr{' class=best' if row['key'] in best and row['tput_per_gpu'] else ''}>{cells}</tr>")
    parts.append("</tbody></table></div>")
    if data["left_out"]:
        parts.append('<h2>Left out</h2>\n<div class="wide"><table id="left-out"><tbody>')
        parts.extend(f"<tr><td>{_text(one['key'])}</td><td>{_text(one['reason'][:_SHOWN_REASON])}</td></tr>" for one in data["left_out"])
        parts.append("</tbody></table></div>")
    parts.append("</body>\n</html>\n")
    return "\n".join(parts)


def _comparison_table(compared: Sequence[Mapping[str, Any]]) -> str:
    parts = [
        '<h2>Against the previous sweep</h2>\n<div class="wide"><table id="comparison">'
        '<thead><tr><th>Point</th><th class="n">Conc</th><th>State</th>',
        '<th class="n">tok/s/GPU</th><th class="n">tok/s/user</th><th class="n">TTFT ms</th><th class="n">Score</th></tr></thead><tbody>',
    ]
    for row in compared:
        state = f"{row['before'] or 'not there'} → {row['now'] or 'not there'}" if row["before"] != row["now"] else str(row["now"])
        cells = "".join(_change(row[name], name == "ttft_ms") for name in _COMPARED)
        parts.append(
            f'<tr><td>{_text(row["key"])}</td><td class="n">{_text(_shown("conc", row["conc"]))}</td><td>{_text(state)}</td>{cells}</tr>'
        )
    parts.append("</tbody></table></div>")
    return "\n".join(parts)


def _change(value: Mapping[str, Any], less_is_better: bool) -> str:
    percent = value["percent"]
    if percent is None:
        return f'<td class="n">{_text(_shown("", value["now"]))}</td>'
    good = (percent < 0) == less_is_better
    kind = "" if abs(percent) < 1 else " up" if good else " down"
    return f'<td class="n{kind}">{_text(_shown("", value["now"]))} ({percent:+.1f}%)</td>'


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "receipt":
        return str(value)[:12]
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    return str(value)


def _text(text: Any) -> str:
    return escape("".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in str(text)).encode("utf-8", "replace").decode("utf-8"))
