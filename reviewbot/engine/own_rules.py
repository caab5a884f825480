"""What the engine itself reports: about files it cannot read, rules that crash, and comments that ignore findings."""

from __future__ import annotations

from reviewbot.engine.model import Level, Rule
from reviewbot.engine.registry import RuleModule, parse_page

INTERNAL_ERROR = Rule("internal-error", Level.ERROR, frozenset(), ignorable=False)
UNPARSABLE_FILE = Rule("unparsable-file", Level.ERROR, frozenset({"documents"}))
UNUSED_IGNORE = Rule("unused-ignore", Level.NOTE, frozenset({"documents"}), ignorable=False)
IGNORE_WITHOUT_REASON = Rule("ignore-without-reason", Level.WARNING, frozenset({"documents"}), ignorable=False)
UNKNOWN_IGNORE = Rule("unknown-ignore", Level.WARNING, frozenset({"documents"}), ignorable=False)

_INTERNAL_ERROR_PAGE = """A part of reviewbot crashed

## What
A rule, or the reading of the repository, ended with an exception. The other rules were still run.

## Why
What the crashed part would have found is not known, so the check is incomplete and ends with status 3.

## Example
    .:1:1 error internal-error: the rule row-refused crashed: KeyError: 'tp'

## Instead
Run again with `--debug` to see the traceback, and report it.
"""

_UNPARSABLE_FILE_PAGE = """A file cannot be read or parsed

## What
A file that takes part in a run is not valid UTF-8, YAML or shell, is too large, or cannot be read at all.

## Why
Nothing can be said about a run that depends on the file, and the program that reads it will most likely fail too. Where nothing at all
could be read, the check is incomplete and ends with status 3.

## Example
    resources:
      agg_nodes: 1
     agg_workers: 1

## Instead
    resources:
      agg_nodes: 1
      agg_workers: 1
"""

_UNUSED_IGNORE_PAGE = """An ignore comment ignores nothing

## What
A `reviewbot: ignore[rule]` comment stands where the rule finds nothing, or names a rule that refuses to be ignored.

## Why
A leftover comment hides the next real finding at that place.

## Example
    max_attempts: 360  # reviewbot: ignore[duplicate-key] kept for old readers

## Instead
    max_attempts: 360
"""

_IGNORE_WITHOUT_REASON_PAGE = """An ignore comment gives no reason

## What
A `reviewbot: ignore[rule]` comment has no text behind the bracket.

## Why
The next reader cannot tell whether the finding was wrong, accepted, or in the way.

## Example
    max_attempts: 360  # reviewbot: ignore[duplicate-key]

## Instead
    max_attempts: 360  # reviewbot: ignore[duplicate-key] both readers of this file take the last one
"""

_UNKNOWN_IGNORE_PAGE = """An ignore comment names no known rule

## What
A `reviewbot: ignore` comment names a rule that does not exist, or none.

## Why
It ignores nothing, although it looks as if it did.

## Example
    max_attempts: 360  # reviewbot: ignore[duplicat-key] both readers take the last one

## Instead
    max_attempts: 360  # reviewbot: ignore[duplicate-key] both readers take the last one
"""

OWN_RULES = tuple(
    RuleModule(rule, "engine", parse_page(page), None)
    for rule, page in (
        (INTERNAL_ERROR, _INTERNAL_ERROR_PAGE),
        (UNPARSABLE_FILE, _UNPARSABLE_FILE_PAGE),
        (UNUSED_IGNORE, _UNUSED_IGNORE_PAGE),
        (IGNORE_WITHOUT_REASON, _IGNORE_WITHOUT_REASON_PAGE),
        (UNKNOWN_IGNORE, _UNKNOWN_IGNORE_PAGE),
    )
)
