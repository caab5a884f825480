"""The digest of a run says what runs, not how a trace happened to number what it does not know."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.runs.build import digest
from reviewbot.runs.model import Run
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.values import Hole, Holes

POINT = Point("key[x]", "key", {}, True, "fixed-seq-len", "m.yaml", Site("m.yaml", 1))
RUN = Run("key", POINT, "label", "node_0", "runners/launch_node.sh", "submit", "", None)


def text_with(label: str, *before: str) -> tuple[FileText, Holes]:
    holes = Holes()
    for other in before:
        holes.new(Hole(other, None))
    hole = holes.new(Hole(label, None))
    return FileText(f"job: {hole}\n", (LineOrigin(None),)), holes


def test_the_number_of_an_unknown_piece_does_not_count():
    one, one_holes = text_with("job id")
    other, other_holes = text_with("job id", "output of date", "process id")
    assert one.text != other.text
    assert digest(replace(RUN, text=one), one_holes) == digest(replace(RUN, text=other), other_holes)


def test_what_an_unknown_piece_stands_for_counts():
    one, one_holes = text_with("job id")
    other, other_holes = text_with("output of date")
    assert digest(replace(RUN, text=one), one_holes) != digest(replace(RUN, text=other), other_holes)


def test_comments_and_layout_do_not_count():
    origins = (LineOrigin(None),) * 4
    one = FileText("a: 1\nb: [2, 3]\n", origins[:2])
    other = FileText("# why\na: 1\n\nb: [2,   3]\n", origins)
    changed = FileText("a: 1\nb: [2, 4]\n", origins[:2])
    digests = [digest(replace(RUN, text=text), Holes()) for text in (one, other, changed)]
    assert digests[0] == digests[1] != digests[2]
