"""A recipe of speculative decoding sends raw prompts

What
The servers of a recipe decode speculatively, and its `sa-bench` benchmark turns `use_chat_template` off. Where it is not written it is on: every
release of srt-slurm has `true` as its default.

Why
Drafts are accepted at another rate on text that is not a chat: the acceptance, and with it the throughput that is published, is not that
of real requests.

Example
    backend: {vllm_config: {decode: {speculative-config: '{"method": "mtp"}'}}}
    benchmark: {type: sa-bench, use_chat_template: false}

Instead
    backend: {vllm_config: {decode: {speculative-config: '{"method": "mtp"}'}}}
    benchmark: {type: sa-bench}
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
        if spec is None or asked is None or asked.value is not False:
            continue
        place = last_site(recipe_setting(asked, run.text))
        name, setting = spec
        if place is None or ":" in place.path:
            continue
        other: Site | None = last_site(setting)
        yield context.finding(
            RULE,
            f"the servers decode speculatively (`{name}`), and the benchmark sends raw prompts: `use_chat_template` is `false`",
            place,
            help="take `use_chat_template` out, or set it to `true`",
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
