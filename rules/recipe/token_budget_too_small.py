"""A prompt does not fit into a step, and may not be split

What
A worker that reads prompts has a budget of tokens a step below the longest sequence that it accepts, and does not split prompts (chunked
prefill is off, as it is for TensorRT-LLM unless said). Prompts of the benchmark are compared as well: a chat template adds tokens to
`isl`.

Why
A prompt longer than the budget is refused, and the request counts as failed.

Example
    # isl: 8192
    prefill: {max_num_tokens: 8192, max_seq_len: 8232}

Instead
    prefill: {max_num_tokens: 8320, max_seq_len: 8232}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import Started, own, started
from reviewbot.runs.model import Server, Setting
from reviewbot.runs.parallel import integer, switch

RULE = Rule("token-budget-too-small", Level.WARNING, frozenset({"runs", "change"}), scope="run")

_NAMES = {"trtllm": ("max-num-tokens", "max-seq-len"), "vllm": ("max-num-batched-tokens", "max-model-len")}


def check(context: Context) -> Iterator[Finding]:
    for one in started(context):
        server = one.server
        names = _NAMES.get(server.engine)
        if names is None or server.role not in ("prefill", "agg") or not _whole_prompts(server):
            continue
        budget, length = integer(server.flags, names[0], None), integer(server.flags, names[1], None)
        prompt = _prompt(one)
        if budget is None:
            continue
        setting = server.flags[names[0]]
        longest = length if length is not None and (server.role == "prefill" or server.engine == "vllm") else prompt
        if longest is None or budget >= longest:
            continue
        yield _finding(context, one, setting, budget, longest, names, prompt)


def _whole_prompts(server: Server) -> bool:
    if server.engine == "trtllm":
        return switch(server.flags, "enable-chunked-prefill") is False
    return switch(server.flags, "no-enable-chunked-prefill") is True


def _prompt(one: Started) -> int | None:
    """Tokens of a prompt of the benchmark; a lower bound, since a chat template adds some."""
    recipe = one.use.recipe if one.use is not None else None
    if recipe is not None and recipe.isl is not None and isinstance(recipe.isl.value, int):
        return recipe.isl.value
    isl = one.runs[0].point.row.get("isl") if one.runs else None
    return isl if isinstance(isl, int) and isl > 0 else None


def _finding(
    context: Context, one: Started, setting: Setting, budget: int, longest: int, names: tuple[str, str], prompt: int | None
) -> Finding:
    server = one.server
    site = setting.layers[-1].site if setting.layers else server.site
    assert site is not None
    if not own(context, site) and one.runs:
        site = one.runs[0].point.site
    length = server.flags.get(names[1])
    related = [Related(length.layers[-1].site, f"`{names[1]}` is {length.value}")] if length is not None and length.layers else []
    spelling = [name.replace("-", "_") if server.engine == "trtllm" else name for name in names]
    what = f"`{spelling[1]}` is {longest}" if length is not None and length.value == str(longest) else f"prompts have {longest}"
    level = Level.NOTE  # room for the template is left, or the recipe is not in this repository
    if (prompt is not None and budget < prompt) or (server.engine == "vllm" and length is not None):  # vLLM refuses to start
        level = Level.ERROR
    elif own(context, setting.layers[-1].site if setting.layers else None) and (prompt is None or budget == prompt):
        level = Level.WARNING
    return context.finding(
        RULE,
        f"{server.role} takes {budget} tokens a step (`{spelling[0]}`) and does not split prompts, but {what}",
        site,
        help=f"raise `{spelling[0]}` to {longest} or more, or switch chunked prefill on",
        touches=one.runs,
        related=[item for item in related if own(context, item.site)],
        structure=f"{server.role}.{spelling[0]}",
        subject=f"{budget} < {longest}",
        level=level,
    )
