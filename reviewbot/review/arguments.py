"""The arguments of ``reviewbot review`` and ``reviewbot init``, apart from what carries them out so that ``--help`` is quick."""

from __future__ import annotations

import argparse

FAIL_LEVELS = ("note", "warning", "error", "never")


def add_review_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot review``."""
    parser.add_argument("--dry-run", action="store_true", help="print what would be posted; needs git alone")
    parser.add_argument("--base", metavar="REV", help="branch or commit that the change goes to; default: that of the event")
    parser.add_argument("--head", metavar="REV", help="the change; default: that of the event, HEAD in a dry run")
    parser.add_argument("--format", choices=("json", "markdown"), default="json", help="of a dry run")
    parser.add_argument("--repo", metavar="OWNER/NAME", help="repository on GitHub; default: that of the event")
    parser.add_argument("--pr", type=_number, metavar="N", help="pull request; default: that of the event")
    parser.add_argument("--event", metavar="FILE", help="payload of the event; default: GITHUB_EVENT_PATH")
    parser.add_argument("--request-changes", action="store_true", help="ask for changes while there are errors")
    parser.add_argument("--annotate", action="store_true", help="write annotations and a job summary, and no comment")
    parser.add_argument("--artifact-out", metavar="FILE", help="write the findings as data for a run that may post them, and no comment")
    parser.add_argument("--artifact-in", metavar="PATH", help="post the findings of such a file (or folder), for an event workflow_run")
    parser.add_argument("--bot-login", metavar="NAME", help="account that the token belongs to; default: asked for")
    parser.add_argument("--sarif", metavar="FILE", help="write the new findings as SARIF too")
    parser.add_argument("--fail-on", choices=FAIL_LEVELS, metavar="LEVEL", help=f"lowest level that fails: {', '.join(FAIL_LEVELS)}")
    parser.add_argument("--baseline", metavar="FILE", help="a baseline in the repository, read at the base")


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def add_init_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot init``."""
    parser.add_argument(
        "--action", metavar="OWNER/NAME@SHA", help="where the action is, pinned to a commit; without it no workflow is written"
    )
    parser.add_argument("--forks", action="store_true", help="write the two workflows for pull requests of forks too")
    parser.add_argument("--no-hook", action="store_true", help="write no entry for pre-commit")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
