"""``python -m reviewbot``."""

from __future__ import annotations

import gc

from reviewbot.cli import main


def entry() -> None:
    # A check builds large trees that live to its end: looking for cycles among them again and again takes a third of its time. Traces do leave
    # cycles behind, so that it cannot be left out.
    gc.set_threshold(100_000, 20, 50)
    raise SystemExit(main())


if __name__ == "__main__":
    entry()
