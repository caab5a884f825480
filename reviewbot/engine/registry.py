"""The rules that there are: one module each, found in ``reviewbot.rules.<family>.<name>``.

A rule module holds ``RULE`` (a ``Rule``), ``check(context)`` (a generator of findings) and a docstring that is the rule's page: a title
line, then sections headed ``## What``, ``## Why``, ``## Example``, ``## Instead`` and, where there is something to say, ``## Fix``.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reviewbot.engine.model import Finding, Rule

if TYPE_CHECKING:
    from reviewbot.engine.context import Context

HEADINGS = ("What", "Why", "Example", "Instead", "Fix")
REQUIRED_HEADINGS = HEADINGS[:4]
NEEDS = frozenset({"documents", "bench", "runs", "change"})
# What a rule of a scope may need: a part that is checked by itself has nothing else to read.
SCOPES = {"run": frozenset({"runs", "change"}), "document": frozenset({"documents"}), "all": NEEDS}

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_HEADING = re.compile(rf"^(?:#+ )?({'|'.join(HEADINGS)}):?$")

Check = Callable[["Context"], Iterator[Finding]]
Gather = Callable[["Context"], Iterator[Any]]


class RegistryError(Exception):
    """A rule module that breaks the contract; the message names it."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a rule's docstring says: a title and its sections by heading, in the order of ``HEADINGS``."""

    title: str
    sections: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RuleModule:
    """A rule with what is known about it. ``check`` is ``None`` for what the engine itself reports."""

    rule: Rule
    family: str
    page: Page
    check: Check | None
    gather: Gather | None = None  # what the check wants to know of every run, made run by run: see ``Context.gathered``
    survey: Gather | None = None  # what the check wants to know of every document, made one by one: see ``Context.surveyed``

    @property
    def name(self) -> str:
        return self.rule.name


def parse_page(docstring: str | None) -> Page:
    """The page in a docstring; a heading is a line that holds nothing else."""
    lines = inspect.cleandoc(docstring or "").split("\n")
    title = lines[0].strip()
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[1:]:
        heading = _HEADING.match(line.rstrip())
        if heading:
            current = sections.setdefault(heading[1], [])
        elif not (set(line.strip()) == {"-"} and not current):  # the underline of a heading
            current.append(line)
    return Page(title, {name: "\n".join(sections[name]).strip("\n") for name in HEADINGS if name in sections})


def load_rules(package: str = "reviewbot.rules") -> dict[str, RuleModule]:
    """All rules of ``package`` and the engine's own, by name.

    Raises ``RegistryError`` where a module breaks the contract or two rules share a name.
    """
    from reviewbot.engine.own_rules import OWN_RULES

    found = {module.name: module for module in OWN_RULES}
    root = importlib.import_module(package)
    for family in _submodules(root):
        for module in _submodules(family):
            rule = _rule_of(module, family.__name__.rpartition(".")[2])
            if rule.name in found:
                raise RegistryError(f"{module.__name__}: the rule name {rule.name} is taken")
            found[rule.name] = rule
    return dict(sorted(found.items()))


def nearest(name: str, known: Mapping[str, object] | list[str]) -> str | None:
    """The name of ``known`` that ``name`` was probably meant to be."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _submodules(parent: ModuleType) -> Iterator[ModuleType]:
    for info in sorted(pkgutil.iter_modules(getattr(parent, "__path__", [])), key=lambda info: info.name):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{parent.__name__}.{info.name}")


def _rule_of(module: ModuleType, family: str) -> RuleModule:
    where = module.__name__
    rule, check = getattr(module, "RULE", None), getattr(module, "check", None)
    if not isinstance(rule, Rule):
        raise RegistryError(f"{where}: there is no RULE")
    if not callable(check):
        raise RegistryError(f"{where}: there is no check(context)")
    if not _NAME.match(rule.name):
        raise RegistryError(f"{where}: {rule.name!r} is not in kebab case")
    if rule.name.replace("-", "_") != where.rpartition(".")[2]:
        raise RegistryError(f"{where}: the module of {rule.name} must be named {rule.name.replace('-', '_')}")
    if not rule.needs <= NEEDS:
        raise RegistryError(f"{where}: unknown needs: {', '.join(sorted(rule.needs - NEEDS))}")
    if rule.scope not in SCOPES:
        raise RegistryError(f"{where}: the scope {rule.scope!r} is none of {', '.join(SCOPES)}")
    if not rule.needs <= SCOPES[rule.scope]:
        raise RegistryError(f"{where}: a rule of scope {rule.scope} cannot need {', '.join(sorted(rule.needs - SCOPES[rule.scope]))}")
    page = parse_page(module.__doc__)
    missing = [heading for heading in REQUIRED_HEADINGS if not page.sections.get(heading)]
    if missing or not page.title:
        raise RegistryError(f"{where}: the docstring lacks {', '.join(missing) or 'a title'}")
    gather = getattr(module, "gather", None)
    if gather is not None and (not callable(gather) or rule.scope != "all" or "runs" not in rule.needs):
        raise RegistryError(f"{where}: gather(context) is for a rule of scope all that needs runs")
    survey = getattr(module, "survey", None)
    if survey is not None and (not callable(survey) or rule.scope != "all" or "documents" not in rule.needs):
        raise RegistryError(f"{where}: survey(context) is for a rule of scope all that needs documents")
    return RuleModule(rule, family, page, check, gather, survey)
