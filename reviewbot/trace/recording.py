"""An evaluator that notes which statements it executes. Others pay nothing for it."""

from __future__ import annotations

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Block, Statement
from reviewbot.trace.shell import Evaluator


class RecordingEvaluator(Evaluator):
    """``executed`` holds the first line of every statement that this path executed, in the order of the first time.

    Where a condition is not known and both arms are evaluated, the statements of both count.
    """

    executed: dict[Site, None]

    def block(self, body: Block) -> None:
        for statement in body:
            self.execute(statement)

    def execute(self, statement: Statement) -> None:
        self.executed.setdefault(self.site(statement.line))
        super().execute(statement)
