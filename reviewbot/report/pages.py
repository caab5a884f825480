"""The page of a rule, from its docstring; also what ``docs/rules/`` holds."""

from __future__ import annotations

from collections.abc import Iterable

from reviewbot.engine.registry import RuleModule


def rule_page(module: RuleModule) -> str:
    """The Markdown page of a rule."""
    rule = module.rule
    facts = [f"level: {rule.level}", f"family: {module.family}"]
    if rule.guess:
        facts.append("a guess")
    if not rule.ignorable:
        facts.append("cannot be ignored")
    parts = [f"# {module.name}", module.page.title, "; ".join(facts)]
    parts.extend(f"## {heading}\n\n{body}" for heading, body in module.page.sections.items())
    return "\n\n".join(parts) + "\n"


def rules_index(modules: Iterable[RuleModule]) -> str:
    """The Markdown table of all rules, by family."""
    rows = sorted(modules, key=lambda module: (module.family, module.name))
    lines = ["# Rules", "", "Made by `make docs`.", "", "| rule | level | what it says |", "|---|---|---|"]
    lines += [f"| [{m.name}]({m.family}/{m.name}.md) | {m.rule.level} | {m.page.title.replace('|', chr(92) + '|')} |" for m in rows]
    return "\n".join(lines) + "\n"
