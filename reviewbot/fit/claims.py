"""What a sentence says about the size of a checkpoint or about what it fits on, and whether the arithmetic agrees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from reviewbot.catalog.gpus import GIB, Gpu, find_gpu
from reviewbot.catalog.models import Checkpoint, Model, ModelError, find_model
from reviewbot.catalog.tensors import checkpoint_bytes
from reviewbot.documents.claims import sentences
from reviewbot.fit.layout import MOST_RANKS, Layout, split_of
from reviewbot.fit.table import layouts
from reviewbot.fit.verdict import Report, fit

_FAR = 0.12
"""Part by which a size has to be wrong in every unit that may be meant: people write GB for GiB, round, and count vision towers or not."""

_SIZE = r"(?<![\w.])(?P<number>\d{1,5}(?:[.,]\d{1,3})?)\s?(?P<unit>[GT]i?B)(?![\w])"
_EACH = r"\s?(?:/|per|a|each)\s?(?:GPU|rank)\b"
_PRECISION = r"(?P<precision>(?:MX|NV)?FP[48]|BF16|INT4)"
_WEIGHTS = r"(?:checkpoint|weights?\b)"
_BEFORE_WEIGHTS = re.compile(
    rf"{_SIZE}(?!{_EACH})(?:\s+of)?(?:\s+{_PRECISION})?(?:\s+model)?\s+{_WEIGHTS}(?!\s?/|\s+per|\s+a\s+GPU)", re.IGNORECASE
)
_BEHIND_WEIGHTS = re.compile(
    rf"(?:{_PRECISION}\s+)?{_WEIGHTS}\s*(?:is|are|of|takes?|needs?|has|[:(=])?\s*(?:about\s+|around\s+|roughly\s+|~|≈)?\s*{_SIZE}(?!{_EACH})",
    re.IGNORECASE,
)
_PLAIN_MODEL = re.compile(rf"{_PRECISION}\s*\(\s*~?\s*{_SIZE}\s*\)", re.IGNORECASE)
# Other things that are measured in GB, other models, and sentences about what was or could be.
_OTHER = re.compile(
    r"\b(draft|eagle\w*|embedding|cache|KV|pool|activations?|shards?|layers?|vision|download\w*|was|were|had|previous\w*|used to|"
    r"would|could|"
    r"if|sibling|mirrors?|unlike|compared|than|instead|extra|another|leaves?|remaining|free|residual|resident)\b",
    re.IGNORECASE,
)
_NOT = r"(?:(?:does|do|did|will|would|can)(?:\s+not|n['’]t)|cannot|can['’]t|won['’]t)"
_ON_GPUS = re.compile(
    rf"(?P<not>{_NOT}\s+)?\b(?:fits?|load)\s+(?:on|in|into|onto)?\s*(?:a|an|one|single|the|\s)*?(?P<count>\d{{1,3}})\s?x\s?(?P<gpu>[A-Za-z]{{1,3}}\d{{2,4}}\w?)",
    re.IGNORECASE,
)
_TP = re.compile(
    rf"\bTP\s?=?\s?(?P<count>\d{{1,3}})\s+{_NOT}\s+(?:fit|load)\b(?:\s+on\s+(?:an?\s+)?(?P<gpu>[A-Za-z]{{1,3}}\d{{2,4}}\w?))?",
    re.IGNORECASE,
)
_BELOW = re.compile(rf"{_NOT}\s+fit\s+below\s+(?P<count>\d{{1,3}})(?:\s+(?:GPUs?|(?P<gpu>[A-Za-z]{{1,3}}\d{{2,4}}\w?)))?", re.IGNORECASE)
_CONTEXT = re.compile(r"\b(KV|context|requests?|tokens?|max.model.len|concurrency|batch|headroom)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A statement that the arithmetic contradicts: ``text`` as written, ``why`` the numbers, ``start`` and ``end`` its place."""

    text: str
    why: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What a place speaks of: a model in a precision on a GPU, and what a server of it has beside its sizes where there is one."""

    model: Model
    checkpoint: Checkpoint
    gpu: Gpu
    engine: str
    layout: Layout | None = None


def of_server(model: Model, checkpoint: Checkpoint, gpu: Gpu, own: Layout) -> Subject:
    """The subject that a server is."""
    layout = Layout(
        own.engine, version=own.version, mtp=own.mtp, separate_draft=own.separate_draft, max_model_len=own.max_model_len,
        kv_dtype=own.kv_dtype,
    )  # fmt: skip
    return Subject(model, checkpoint, gpu, own.engine, layout)


def may_claim(text: str) -> bool:
    """Whether it is worth looking closer."""
    return "GB" in text or "TB" in text or "GiB" in text or "TiB" in text or "fit" in text or "load" in text


@lru_cache(maxsize=4096)
def wrong_claims(text: str, subject: Subject) -> tuple[Wrong, ...]:
    """The statements in ``text`` about the subject that the arithmetic contradicts."""
    return tuple(_wrong(text, subject))


def _wrong(text: str, subject: Subject) -> Iterator[Wrong]:
    for start, sentence in sentences(text):
        if not may_claim(sentence) or _speaks_of_another(sentence, subject):
            continue
        yield from (replace(one, start=start + one.start, end=start + one.end) for one in _sizes(sentence, subject))
        if not _CONTEXT.search(sentence):
            yield from (replace(one, start=start + one.start, end=start + one.end) for one in _fits(sentence, subject))


def _speaks_of_another(sentence: str, subject: Subject) -> bool:
    """Whether a sentence names a model that is not the subject."""
    for word in re.findall(r"[A-Za-z][\w.]*(?:-[\w.]+)+", sentence):
        model = find_model(word)
        if model is not None and model is not subject.model:
            return True
    return False


def _sizes(sentence: str, subject: Subject) -> Iterator[Wrong]:
    if _OTHER.search(sentence):
        return
    seen: set[int] = set()
    for pattern in (_BEFORE_WEIGHTS, _BEHIND_WEIGHTS, _PLAIN_MODEL):
        for match in pattern.finditer(sentence):
            if match.start("number") in seen:
                continue
            seen.add(match.start("number"))
            checkpoint = _meant(subject, match["precision"])
            if checkpoint is None:
                continue
            try:
                size = checkpoint_bytes(subject.model, checkpoint)
            except ModelError:
                continue
            giga = match["unit"][0] in "gG"
            written = match["number"].replace(",", "" if giga else ".")
            units = (1e9, float(GIB)) if giga else (1e12, 1024.0 * GIB)
            if checkpoint.draft_bytes or any(_agrees(written, unit, size) for unit in units):
                continue
            why = f"{subject.model.name} in {checkpoint.precision} has {size / 1e9:,.1f} GB = {size / GIB:,.1f} GiB of weights"
            yield Wrong(match.group().strip(" ("), why, match.start("number"), match.end())


def _agrees(written: str, unit: float, size: int) -> bool:
    """Whether a size is near enough, or right to the precision that it is written with."""
    decimals = len(written.partition(".")[2])
    return bool(abs(float(written) * unit - size) <= max(_FAR * size, 0.5 * unit / 10**decimals))


def _meant(subject: Subject, precision: str | None) -> Checkpoint | None:
    """The checkpoint that is spoken of: the subject's own, or where another precision is named the published one in it."""
    if precision is None:
        return subject.checkpoint
    named = precision.lower()
    own = subject.checkpoint.precision
    if named in own or (named == "fp8" and own == "mxfp8") or (named == "fp4" and "fp4" in own):
        return subject.checkpoint
    found = next((one for one in subject.model.checkpoints if one.precision == named and one.published), None)
    return found


def _fits(sentence: str, subject: Subject) -> Iterator[Wrong]:
    for match in _ON_GPUS.finditer(sentence):
        gpu = find_gpu(match["gpu"])
        if gpu is not None:
            yield from _contradicted(match, int(match["count"]), gpu, subject, match["not"] is None, False)
    for match in _TP.finditer(sentence):
        gpu = find_gpu(match["gpu"]) if match["gpu"] else subject.gpu
        if gpu is not None:
            yield from _contradicted(match, int(match["count"]), gpu, subject, False, True)
    for match in _BELOW.finditer(sentence):
        gpu = find_gpu(match["gpu"].rstrip("s")) if match["gpu"] else subject.gpu
        if gpu is not None and int(match["count"]) > 1:
            yield from _contradicted(match, 1 << (int(match["count"]) - 1).bit_length() - 1, gpu, subject, False, False)


def _contradicted(match: re.Match[str], count: int, gpu: Gpu, subject: Subject, claimed: bool, tensor: bool) -> Iterator[Wrong]:
    if not 1 <= count <= min(64, MOST_RANKS):
        return
    precision = re.search(_PRECISION, match.string, re.IGNORECASE)
    checkpoint = _meant(subject, precision[0] if precision else None)
    if checkpoint is None:
        return
    found = _reports(subject, checkpoint, gpu, count, tensor)
    if not found:
        return
    on = f"{count} x {gpu.name.upper()}"
    name = f"{subject.model.name} in {checkpoint.precision}"
    if claimed and all(one.memory == "does-not-fit" and one.cause == "weights" for one in found):
        least = min(found, key=lambda one: one.weights_gib or 0.0)
        why = f"{name} on {on} has at least {least.weights_gib or 0.0:.1f} GiB of weights a GPU, which has {gpu.usable_gib:.1f}"
        yield Wrong(match.group().strip(), why, match.start(), match.end())
    if not claimed:
        fitting = next((one for one in found if one.verdict == "fits"), None)
        if fitting is not None:
            why = f"{name} has {fitting.weights_gib or 0.0:.1f} GiB of weights a GPU on {on}, each with {gpu.usable_gib:.1f}: it fits"
            yield Wrong(match.group().strip(), why, match.start(), match.end())


def _reports(subject: Subject, checkpoint: Checkpoint, gpu: Gpu, count: int, tensor: bool) -> list[Report]:
    """The layouts on exactly ``count`` GPUs; only plain tensor parallelism where ``tensor``."""
    base = Layout(subject.engine)
    if subject.layout is not None:
        base = subject.layout
    if tensor:
        candidates = [replace(base, tp=count)]
    else:
        candidates = [one for one in layouts(subject.model, subject.engine, count, base) if split_of(one).world == count]
    return [fit(subject.model, checkpoint, one, gpu) for one in candidates]
