from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from reviewbot.engine.registry import REQUIRED_HEADINGS, RegistryError, load_rules, nearest, parse_page
from tests.support import write

PAGE = '"""Title\n\n## What\na\n\n## Why\nb\n\n## Example\n    c: 1\n\n## Instead\n    c: 2\n"""\n'
BODY = "from reviewbot.engine.model import Level, Rule\nRULE = Rule('{name}', Level.NOTE)\ndef check(context):\n    yield from ()\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that makes a package of rules from texts and loads it."""
    count = 0

    def load(files: dict[str, str]):  # type: ignore[no-untyped-def]
        nonlocal count
        count += 1
        name = f"made_rules_{tmp_path.name.replace('-', '_')}_{count}"
        write(tmp_path / name, {"__init__.py": "", **files})
        monkeypatch.syspath_prepend(str(tmp_path))
        try:
            return load_rules(name)
        finally:
            for loaded in [loaded for loaded in sys.modules if loaded.startswith(name)]:
                del sys.modules[loaded]

    return load


def rule(name: str) -> str:
    return PAGE + BODY.format(name=name)


def test_finds_modules_of_all_families(package):  # type: ignore[no-untyped-def]
    found = package({"one/__init__.py": "", "one/bad_thing.py": rule("bad-thing"), "two/__init__.py": "", "two/worse.py": rule("worse"),
                     "one/_shared.py": "raise RuntimeError"})  # fmt: skip
    assert found["bad-thing"].family == "one"
    assert found["worse"].page.sections["Example"] == "    c: 1"
    assert "unparsable-file" in found


OF_A_RUN = rule("bad-thing").replace("Level.NOTE)", "Level.NOTE, scope='run')")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PAGE, "no RULE"),
        (PAGE + "from reviewbot.engine.model import Level, Rule\nRULE = Rule('bad-thing', Level.NOTE)\n", "no check"),
        (rule("Bad_Thing"), "kebab"),
        (rule("other-thing"), "must be named other_thing"),
        (BODY.format(name="bad-thing"), "lacks What, Why, Example, Instead"),
        (rule("bad-thing").replace("Level.NOTE)", "Level.NOTE, frozenset({'moon'}))"), "unknown needs: moon"),
        (rule("bad-thing").replace("Level.NOTE)", "Level.NOTE, scope='moon')"), "scope 'moon' is none of run, document, all"),
        (rule("bad-thing").replace("Level.NOTE)", "Level.NOTE, frozenset({'runs', 'bench'}), scope='run')"), "scope run cannot need bench"),
        (OF_A_RUN + "def gather(context):\n    return []\n", "scope all that needs runs"),
        (OF_A_RUN + "def survey(context):\n    return []\n", "scope all that needs documents"),
    ],
)
def test_refuses_a_module_that_breaks_the_contract(package, text: str, message: str):  # type: ignore[no-untyped-def]
    with pytest.raises(RegistryError, match=message):
        package({"one/__init__.py": "", "one/bad_thing.py": text})


def test_refuses_a_name_twice(package):  # type: ignore[no-untyped-def]
    with pytest.raises(RegistryError, match="taken"):
        package({"a/__init__.py": "", "a/worse.py": rule("worse"), "b/__init__.py": "", "b/worse.py": rule("worse")})


def test_page_takes_headings_in_several_forms():
    page = parse_page(textwrap.dedent("A title\n\nWhat\n----\none\n\nWhy:\ntwo\n## Example\n    x\nInstead\n    What else\n"))
    assert page.title == "A title"
    assert page.sections == {"What": "one", "Why": "two", "Example": "    x", "Instead": "    What else"}


def test_all_rules_have_complete_pages():
    for module in load_rules().values():
        assert module.page.title, module.name
        assert all(module.page.sections.get(heading) for heading in REQUIRED_HEADINGS), module.name


def test_nearest():
    assert nearest("duplicat-key", ["duplicate-key", "row-refused"]) == "duplicate-key"
    assert nearest("zzz", ["duplicate-key"]) is None
