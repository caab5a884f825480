"""``python -m reviewbot``."""

from __future__ import annotations

from reviewbot.cli import main


def entry() -> None:
    raise SystemExit(main())


if __name__ == "__main__":
    entry()
