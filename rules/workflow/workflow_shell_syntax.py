"""A script in a workflow is not shell

What
The script of a `run` cannot be read as bash: a quote, bracket, `if` or here-document is never closed, or a word stands where none can.

Why
The step fails when it is reached, which may be hours into a run.

Example
    - run: |
        if [[ "$TP" == 8 ]]; then
          echo eight

Instead
    - run: |
        if [[ "$TP" == 8 ]]; then
          echo eight
        fi
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.expressions import Embedded, split_template
from reviewbot.documents.positions import Span
from reviewbot.documents.shell import parse_shell
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("workflow-shell-syntax", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        workflow = workflow_of(context.documents.yaml(path))
        for job in workflow.jobs.values():
            for step in job.steps:
                shell = step.shell or job.shell or workflow.shell or "bash"
                if step.run is None or shell.split(" ")[0] not in ("bash", "sh"):
                    continue
                pieces = split_template(step.run.text)
                if any(isinstance(piece, Embedded) and piece.error is not None for piece in pieces):
                    continue
                text = "".join(piece if isinstance(piece, str) else _word(piece, step.run.text) for piece in pieces)
                for problem in parse_shell(text.encode("utf-8", "surrogateescape"), path).problems:
                    if problem.code != "shell-syntax":
                        continue
                    line = step.run.line(problem.span.line)
                    column = step.run.columns[min(problem.span.line, len(step.run.columns)) - 1] if step.run.columns else 0
                    start = column + problem.span.column - 1 if column else 1
                    yield context.finding(
                        RULE,
                        f"the script is not shell: {problem.message}",
                        Span(line, start, line, start + 1),
                        path=path,
                        structure=("jobs", job.id, step.name or step.id or ""),
                        subject=problem.message,
                    )
                    break


def _word(piece: Embedded, text: str) -> str:
    """A word as long as the expression."""
    written = text[piece.start : piece.end]
    return "x" * len(written) if "\n" not in written else "x"
