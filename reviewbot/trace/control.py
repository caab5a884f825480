"""How the evaluator leaves the normal course of a script."""

from __future__ import annotations

from reviewbot.documents.positions import Site


class Control(Exception):
    """Something that an arm of a condition can end with."""

    def same(self, other: Control) -> bool:
        return type(self) is type(other)


class Exit(Control):
    def __init__(self, status: int | None, site: Site, message: str | None = None) -> None:
        self.status = status
        self.site = site
        self.message = message

    def same(self, other: Control) -> bool:
        return isinstance(other, Exit) and other.status == self.status


class Return(Control):
    def __init__(self, status: int | None, site: Site) -> None:
        self.status = status
        self.site = site

    def same(self, other: Control) -> bool:
        return isinstance(other, Return) and other.status == self.status


class Break(Control):
    def __init__(self, levels: int) -> None:
        self.levels = levels

    def same(self, other: Control) -> bool:
        return isinstance(other, Break) and other.levels == self.levels


class Continue(Control):
    def __init__(self, levels: int) -> None:
        self.levels = levels

    def same(self, other: Control) -> bool:
        return isinstance(other, Continue) and other.levels == self.levels


class Stop(Control):
    """What the trace was made for has happened: ``outcome`` is ``submit``, ``script`` or ``refused``."""

    def __init__(self, outcome: str, site: Site, status: int | None = 0) -> None:
        self.outcome = outcome
        self.site = site
        self.status = status

    def same(self, other: Control) -> bool:
        return False


class Entered(Control):
    """An arm that is only tried has entered a bench script, with which its path ends."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def same(self, other: Control) -> bool:
        return False


class Fork(Exception):
    """The path cannot go on without an answer: evaluate again, once with each of ``answers`` to ``question``."""

    def __init__(self, question: tuple[object, ...], answers: int) -> None:
        self.question = question
        self.answers = answers


class Bound(Exception):
    """A bound was hit; the path ends here."""

    def __init__(self, text: str, site: Site) -> None:
        self.text = text
        self.site = site
