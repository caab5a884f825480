"""A launcher names an image file that nothing makes

What
A launcher derives the name of an image file (`.sqsh`) from the row's image and starts a container from it, and neither it nor a script that
it sources or starts imports an image.

Why
The file is there for images that somebody imported by hand. A row with a new image fails before it measures anything.

Example
    SQUASH_FILE="/squash/$(echo "$IMAGE" | tr '/:' '__').sqsh"
    srun --container-image="$SQUASH_FILE" bash benchmarks/run.sh

Instead
    SQUASH_FILE="/squash/$(echo "$IMAGE" | tr '/:' '__').sqsh"
    flock "$SQUASH_FILE.lock" enroot import -o "$SQUASH_FILE" "docker://$IMAGE"
    srun --container-image="$SQUASH_FILE" bash benchmarks/run.sh
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Facts, facts_of

RULE = Rule("image-not-imported", Level.WARNING, frozenset({"documents"}))

_IMPORTS = re.compile(r"\b(?:enroot\s+(?:import|create)|apptainer\s+(?:pull|build)|singularity\s+(?:pull|build)|mksquashfs)\b")
_SCRIPT = re.compile(r"[\w.-]+\.(?:sh|bash|slurm|py)\b")


def check(context: Context) -> Iterator[Finding]:
    texts = {path: "\n".join(context.lines(path)) for path in context.documents.paths("shell")}
    by_name: dict[str, list[str]] = {}
    for path in texts:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for path in context.documents.paths("launcher"):
        if ".sqsh" not in texts[path] or _makes(path, texts, by_name):
            continue
        facts = facts_of(context.documents.shell(path))
        for name, line in _files(facts, texts[path]):
            yield context.finding(
                RULE,
                f"`{name}` is derived from the row's image, and nothing imports an image: the file is there if somebody made it by hand",
                Site(path, line),
                help="import it with `enroot import`, under a lock, where it is not there",
                structure=name,
                subject=name,
            )


def _files(facts: Facts, text: str) -> Iterator[tuple[str, int]]:
    """Variables that get a file name made of the image, and that a container is started from."""
    seen: set[str] = set()
    for one in facts.assigned:
        value = one.value.text if one.value is not None else ""
        used = re.search(rf"(?:container-image[= ]|containers?:|sqsh:)[^\n]*\$\{{?{one.name}\b", text) or re.search(
            rf":\s*\"?\$\{{{one.name}\}}", text
        )
        if ".sqsh" in value and re.search(r"\$\{?IMAGE\b", value) and used and one.name not in seen:
            seen.add(one.name)
            yield one.name, one.line


def _makes(path: str, texts: dict[str, str], by_name: dict[str, list[str]]) -> bool:
    """Whether a script, or one that it names, imports images."""
    seen, pending = {path}, [path]
    while pending:
        text = texts[pending.pop()]
        if _IMPORTS.search(text):
            return True
        for found in _SCRIPT.findall(text):
            new = [other for other in by_name.get(found, ()) if other not in seen]
            seen.update(new)
            pending += new
    return False
