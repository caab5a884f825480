"""Compares what a trace says with what bash did."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reviewbot.trace.effects import Effect, Enter, Exec, Submit
from reviewbot.trace.files import FileText
from reviewbot.trace.trace import Trace, TracePath
from reviewbot.trace.values import HOLE, Holes
from tests.differential.harness import Call, Record

COMPARED = frozenset({"docker", "sbatch", "sglang", "srtctl", "srun", "trtllm-serve", "vllm"})


@dataclass(frozen=True)
class Started:
    """A program that the trace starts; ``recipe`` and ``cluster`` are ``None`` where there is no file, or where its text is not known."""

    argv: tuple[str, ...]
    line: int
    certain: bool
    submit: bool = False
    recipe: str | None = None
    cluster: str | None = None


def started(path: TracePath, programs: frozenset[str] = COMPARED) -> list[Started]:
    """What bash should have started on this path, in order. What runs inside a container is not seen by bash."""
    out: list[Started] = []
    before: Effect | None = None
    for effect in path.effects:
        if isinstance(effect, Submit):
            texts = _text(effect.text), _text(effect.cluster)
            out.append(Started(effect.argv, effect.site.line, effect.certain, effect.tool == "srtctl", *texts))
        elif isinstance(effect, (Exec, Enter)) and not (isinstance(effect, Exec) and _within(effect)):
            twice = isinstance(effect, Enter) and isinstance(before, Exec) and before.argv == effect.argv and before.site == effect.site
            if effect.argv and effect.argv[0] in programs and not twice:
                out.append(Started(tuple(map(str, effect.argv)), effect.site.line, effect.certain))
            before = effect
    return out


def _within(effect: Exec) -> bool:
    """Whether a program runs in a container or job step; ``srun`` itself, which opens one, does not."""
    inside = effect.inside
    return bool(inside) and not (len(inside) == 1 and effect.argv[:1] == inside)


def _text(text: FileText | None) -> str | None:
    return None if text is None else text.text


def same_text(said: str, done: str, holes: Holes) -> bool:
    """Whether a value with holes can be ``done``: a hole is any text, the same hole is the same text."""
    seen: dict[str, str] = {}
    pattern: list[str] = []
    at = 0
    for found in HOLE.finditer(said):
        pattern.append(re.escape(said[at : found.start()]))
        at = found.end()
        character = found.group()
        if character in seen:
            pattern.append(f"(?P={seen[character]})")
            continue
        seen[character] = f"h{len(seen)}"
        choices = holes.of(character).choices
        known = choices is not None and not any(HOLE.search(choice) for choice in choices)
        inner = "|".join(re.escape(choice) for choice in choices or ()) if known else ".+?" if holes.of(character).nonempty else ".*?"
        pattern.append(f"(?P<{seen[character]}>{inner})")
    pattern.append(re.escape(said[at:]))
    return re.fullmatch("".join(pattern), done, re.DOTALL) is not None


def disagreements(
    path: TracePath, record: Record, holes: Holes, programs: frozenset[str] = COMPARED, *, to_the_end: bool = True,
) -> list[str]:
    """Sentences for people, none where the path can be what bash did. With ``to_the_end`` false only submissions and bench scripts
    count, up to the last that the path has, and no exit status."""
    said = started(path, programs)
    done = [call for call in record.calls if call.argv[0] in programs and (call.argv[0] != "srtctl" or call.argv[1:2] == ("apply",))]
    if not to_the_end:
        said = [item for item in said if _decides(item.argv)]
        done = [call for call in done if _decides(call.argv)][: len(said)]
    out = _aligned(said, done, holes)
    if to_the_end and path.status is not None and path.status != record.status:
        out.append(f"exit status: the trace says {path.status}, bash {record.status}")
    return out


def _decides(argv: Sequence[str]) -> bool:
    """Whether this is what a launcher is for: a submission, or a container that runs a script (not an image import or a clean-up)."""
    return argv[0] in ("srtctl", "sbatch") or any(word.endswith(".sh") and " " not in word for word in argv[1:])


def _aligned(said: Sequence[Started], done: Sequence[Call], holes: Holes) -> list[str]:
    """A start that is not certain may be missing from what bash did."""
    at = 0
    for item in said:
        problems = _one(item, done[at], holes) if at < len(done) else [f"line {item.line}: bash never started {shown(item.argv)}"]
        if not problems:
            at += 1
        elif item.certain:
            return problems
    return [f"the trace misses {shown(call.argv)}" for call in done[at:]]


def _one(item: Started, call: Call, holes: Holes) -> list[str]:
    if len(item.argv) != len(call.argv) or not all(same_text(one, two, holes) for one, two in zip(item.argv, call.argv, strict=True)):
        for number, (one, two) in enumerate(zip(item.argv, call.argv, strict=False)):
            if not same_text(one, two, holes):
                where = f"line {item.line}: word {number} of {item.argv[0]}"
                return [f"{where} is {shown([one])} in the trace, {two!r} in bash (of {shown(call.argv)})"]
        return [f"line {item.line}: the trace starts {shown(item.argv)}, bash {shown(call.argv)}"]
    out: list[str] = []
    if item.submit:
        for name, text, content in (("recipe", item.recipe, call.recipe), ("srtslurm.yaml", item.cluster, call.cluster)):
            if text is None and content is None:
                continue
            if content is None:
                out.append(f"line {item.line}: the trace has a {name}, bash none")
                continue
            actual = content.decode("utf-8", "surrogateescape")
            if text is not None and not same_text(text, actual, holes):
                out.append(f"line {item.line}: the {name} differs: {_first_difference(text, actual, holes)}")
    return out


def _first_difference(said: str, done: str, holes: Holes) -> str:
    ours, theirs = said.split("\n"), done.split("\n")
    for number, (one, two) in enumerate(zip(ours, theirs, strict=False), 1):
        if not same_text(one, two, holes):
            return f"line {number} is {shown([one])}, bash {two!r}"
    return f"{len(ours)} lines, bash {len(theirs)}"


def unknowns(trace: Trace, path: TracePath, programs: frozenset[str] = COMPARED) -> int:
    """How much the trace leaves open in what is compared: distinct holes, files of unknown text, an unknown exit status."""
    found: set[str] = set()
    count = 0 if path.status is not None else 1
    for item in started(path, programs):
        for value in (*item.argv, item.recipe or "", item.cluster or ""):
            found.update(HOLE.findall(value))
        count += item.submit and item.recipe is None
    return count + len(found)


def shown(argv: Sequence[str]) -> str:
    return " ".join(HOLE.sub("?", repr(word)) if HOLE.search(word) else repr(word) for word in argv)
