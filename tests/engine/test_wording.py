from __future__ import annotations

import pytest

from reviewbot.engine.wording import listed


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        (["a"], "`a`"),
        (["a", "b"], "`a` and `b`"),
        (["a", "b", "c"], "`a`, `b` and `c`"),
        (list("abcdef"), "`a`, `b`, `c` and 3 more"),
    ],
)
def test_listed(values: list[str], text: str):
    assert listed(values) == text
