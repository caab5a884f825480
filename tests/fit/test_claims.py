"""Sentences about sizes and fit against the arithmetic."""

from __future__ import annotations

import pytest

from reviewbot.catalog.gpus import find_gpu
from reviewbot.catalog.models import all_models
from reviewbot.fit.claims import Subject, wrong_claims


def _subject(model: str, precision: str, gpu: str, engine: str = "vllm") -> Subject:
    facts, found = all_models()[model], find_gpu(gpu)
    checkpoint = facts.checkpoint(precision)
    assert checkpoint is not None
    assert found is not None
    return Subject(facts, checkpoint, found, engine)


_M3 = _subject("minimax-m3", "nvfp4", "b200")
_K3 = _subject("kimi-k3", "mxfp4", "b200")
_GLM = _subject("glm-5.2", "nvfp4", "b200", "sglang")


@pytest.mark.parametrize(
    ("subject", "text", "claims"),
    [
        (_M3, "the ~250 GB checkpoint", 0),
        (_M3, "the 233 GB checkpoint", 0),  # GiB, written as GB
        (_M3, "the 750 GB checkpoint", 1),
        (_M3, "~444 GB of weights", 1),
        (_M3, "~444 GB of MXFP8 weights", 0),
        (_M3, "BF16 (~854 GB) is larger", 0),
        (_M3, "BF16 (~400 GB) is larger", 1),
        (_M3, "weights are about 900 GB", 1),
        (_M3, "the checkpoint was 750 GB before", 0),
        (_M3, "a 750 GB checkpoint of the draft", 0),
        (_M3, "0 GB of weights", 1),
        (_M3, "Kimi-K3 is a 1.56 TB checkpoint", 0),
        (_M3, "~60 GB weights/GPU", 0),
        (_K3, "the ~1.5 TB MXFP4 checkpoint", 0),
        (_K3, "~1.4TB weights", 0),
        (_K3, "a 1,561 GB checkpoint", 0),
        (_K3, "2.5 TB of weights", 1),
        (_K3, "does not fit one 8xB200 node", 0),
        (_K3, "fits on one 8xB200 node", 1),
        (_K3, "fits on 16x B200", 0),
        (_K3, "TP4 cannot load", 0),
        (_M3, "TP4 cannot load", 1),
        (_M3, "TP4 does not fit on B200 with this context", 0),
        (_M3, "does not fit 1 x RTX5", 0),
        (_M3, "does not fit 999x B200", 0),
        (_GLM, "it does not fit below 8.", 1),
        (_GLM, "it does not fit below 4 GPUs.", 0),
        (_M3, "fit", 0),
    ],
)
def test_claims(subject: Subject, text: str, claims: int) -> None:
    found = wrong_claims(text, subject)
    assert len(found) == claims, found
    assert all(text[one.start : one.end].strip(" (").startswith(one.text[:3]) or one.text[0].isalpha() for one in found)


def test_a_place_in_a_long_comment() -> None:
    (found,) = wrong_claims("Something else.\nThe rest of it: the 750 GB checkpoint is read.\n", _M3)
    assert found.text == "750 GB checkpoint"
    assert found.start == len("Something else.\nThe rest of it: the ")
