"""``python -m reviewbot.docs``: write the pages of ``docs/`` that are made from the code."""

from __future__ import annotations

from pathlib import Path

from reviewbot.engine.registry import load_rules
from reviewbot.report.pages import rule_page, rules_index


def generated_pages() -> dict[str, str]:
    """Path below ``docs/`` -> text, of every generated page."""
    rules = load_rules()
    pages = {f"rules/{module.family}/{module.name}.md": rule_page(module) for module in rules.values()}
    pages["rules/README.md"] = rules_index(rules.values())
    return pages


def write_pages(docs: Path) -> None:
    """Write the pages and remove those of rules that are gone."""
    pages = generated_pages()
    for old in (docs / "rules").rglob("*.md"):
        if old.relative_to(docs).as_posix() not in pages:
            old.unlink()
    for path, text in pages.items():
        (docs / path).parent.mkdir(parents=True, exist_ok=True)
        (docs / path).write_text(text, "utf-8")


if __name__ == "__main__":
    write_pages(Path("docs"))
