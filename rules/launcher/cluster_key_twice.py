"""The cluster file that a launcher writes has a key twice

What
A launcher puts the cluster file together from pieces, and for some points two pieces have the same key. Where nothing of the first block is
lost it is a note; the same alias with the same value is not reported.

Why
The reader keeps the last one and says nothing. What the first one gave, a mount or an alias, is not there in the job.

Example
    cat > srtslurm.yaml <<EOF
    default_mounts:
      "$CACHE": "/cache"
    $MOUNTS_BLOCK
    EOF
    # with MOUNTS_BLOCK=$'default_mounts:\\n  "/lib": "/lib"'

Instead
    cat > srtslurm.yaml <<EOF
    default_mounts:
      "$CACHE": "/cache"
    $MORE_MOUNTS
    EOF
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.nodes import Entry, Mapping, Node, Scalar, find
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.wording import listed
from reviewbot.runs.build import cluster_of, document_of
from reviewbot.runs.servers import layers_of

RULE = Rule("cluster-key-twice", Level.WARNING, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.outcome != "submit" or run.cluster is None or not cluster_of(run.cluster.text).duplicates:
            continue
        document = document_of(run.cluster.text)
        for duplicate in document.duplicates:
            parent = find(document.root, *duplicate.path[:-1])
            if not isinstance(parent, Mapping):
                continue
            one, other = (next(entry for entry in parent.entries if entry.key.span == span) for span in (duplicate.first, duplicate.second))
            lost = _lost(one, other)
            first, second = (layers_of(run.cluster, entry.key.span.line) for entry in (one, other))
            if not first or not second or not (lost or isinstance(one.value, Mapping)):
                continue
            counts = f"the second one counts, and {listed(lost)} of the first is lost" if lost else "with the same entries"
            yield context.finding(
                RULE,
                f"`{'.'.join(map(str, duplicate.path))}` is written twice into the cluster file{': ' if lost else ' '}{counts}",
                second[-1].site,
                help="write one block that holds both",
                touches=[run],
                related=[Related(first[-1].site, "the first one")] if first[-1].site != second[-1].site else [],
                structure=duplicate.path,
                subject=" ".join(lost),
                level=None if lost else Level.NOTE,
            )


def _lost(one: Entry, other: Entry) -> list[str]:
    """What the first value has and the second does not."""
    first, second = one.value, other.value
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        kept = {_plain(entry.key): _plain(entry.value) for entry in second.entries}
        return [str(_plain(entry.key)) for entry in first.entries if kept.get(_plain(entry.key)) != _plain(entry.value)]
    return [str(_plain(first))] if _plain(first) != _plain(second) else []


def _plain(node: Node | None) -> object:
    return node.value if isinstance(node, Scalar) else None if node is None else "a block"
