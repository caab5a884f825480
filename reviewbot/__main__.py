"""``python -m reviewbot``."""

from __future__ import annotations

import gc

from reviewbot.cli import main


def entry() -> None:
    # A check builds large trees that live to its end; looking for cycles among them takes 40 % of its time and finds none.
    gc.disable()
    raise SystemExit(main())


if __name__ == "__main__":
    entry()
