"""A recipe of speculative decoding sends raw prompts

What
The servers of a recipe decode speculatively, and its `sa-bench` benchmark does not set `use_chat_template: true`.

Why
Drafts are accepted at another rate on text that is not a chat: the acceptance, and with it the throughput that is published, is not that
of real requests.

Example
    backend: {vllm_config: {decode: {speculative-config: '{"method": "mtp"}'}}}
    benchmark: {type: sa-bench}

Instead
    backend: {vllm_config: {decode: {speculative-config: '{"method": "mtp"}'}}}
    benchmark: {type: sa-bench, use_chat_template: true}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import last_site
from reviewbot.runs.model import Run, Setting
from reviewbot.runs.servers import recipe_setting

RULE = Rule("chat-template-missing", Level.ERROR, scope="run")

_OFF = frozenset({"", "none", "null", "false", "0", "{}"})


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        recipe = run.recipe
        if recipe is None or run.text is None or recipe.benchmark_type is None or recipe.benchmark_type.value != "sa-bench":
            continue
        if run.point.row.get("spec-decoding") in (None, "none"):
            continue
        asked = recipe.settings.get("benchmark.use_chat_template")
        spec = _speculative(run)
        if spec is None or (asked is not None and str(asked.value).lower() == "true"):
            continue
        if asked is None and any(name in recipe.settings for name in ("benchmark.dsv4", "benchmark.custom_tokenizer")):
            continue
        place = last_site(recipe_setting(asked or recipe.benchmark_type, run.text))
        name, setting = spec
        if place is None or ":" in place.path:
            continue
        other: Site | None = last_site(setting)
        yield context.finding(
            RULE,
            f"the servers decode speculatively (`{name}`), and the benchmark sends raw prompts: `use_chat_template` is "
            + ("not set" if asked is None else f"`{asked.value}`"),
            place,
            help="set `use_chat_template: true` below `benchmark`",
            touches=[run],
            related=[(other, "speculative decoding")] if other is not None else [],
            structure="benchmark.use_chat_template",
            subject="use_chat_template",
        )


def _speculative(run: Run) -> tuple[str, Setting] | None:
    for server in run.servers:
        for name, setting in server.flags.items():
            if name.startswith("speculative-") and (setting.unknown or (setting.value or "").lower() not in _OFF):
                return name.partition(".")[0], setting
    return None
