"""The written pages agree with the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reviewbot.docs import generated_pages, write_pages

ROOT = Path(__file__).parent.parent


def test_rule_pages_are_up_to_date():
    written = {path.relative_to(ROOT / "docs").as_posix(): path.read_text("utf-8") for path in (ROOT / "docs" / "rules").rglob("*.md")}
    assert written == generated_pages(), "run make docs"


def test_pages_of_gone_rules_are_removed(tmp_path: Path):
    (tmp_path / "rules" / "old").mkdir(parents=True)
    (tmp_path / "rules" / "old" / "gone.md").write_text("x")
    write_pages(tmp_path)
    assert not (tmp_path / "rules" / "old" / "gone.md").exists()
    assert (tmp_path / "rules" / "README.md").exists()


@pytest.mark.parametrize("name", ["check-report", "trace-report", "review-report", "review-artifact", "impact-report"])
def test_formats_page_names_every_field(name: str):
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8"))

    def fields(part: object) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(fields, part)) if part else set()
        if not isinstance(part, dict):
            return set()
        own = set(part["properties"]) if isinstance(part.get("properties"), dict) else set()
        return own.union(*map(fields, part.values()))

    assert sorted(field for field in fields(schema) if f"`{field}`" not in page) == []
    assert f"schemas/{name}.schema.json" in page


def test_readme_names_every_command_and_only_options_that_exist():
    readme = (ROOT / "README.md").read_text("utf-8")
    known = set()
    for command in (
        "check", "review", "init", "trace", "fix", "rules", "baseline", "impact", "reach", "when", "fit", "model", "sweep plan", "sweep run",
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "reviewbot", *command.split(), "--help"], capture_output=True, text=True, cwd=ROOT, check=True
        )
        known |= set(re.findall(r"--[a-z][a-z-]+", done.stdout))
        assert f"reviewbot {command}" in readme
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", readme)) <= known | {"--version"}


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "docs/formats.md", "docs/review.md", "docs/sweep.md", "docs/impact.md"])
def test_links_lead_somewhere(path: str):
    page = ROOT / path
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
