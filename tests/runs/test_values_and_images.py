from __future__ import annotations

import pytest

from reviewbot.documents.positions import Site
from reviewbot.runs.images import looks_like_image, repository_of, same_image, tag_of
from reviewbot.runs.model import Layer, Setting
from reviewbot.runs.values import MAX_VALUES, possible, setting, shown, united
from reviewbot.trace.values import Hole, Holes


@pytest.fixture
def holes() -> Holes:
    return Holes()


def test_a_known_text_is_itself(holes: Holes):
    assert possible("a b", holes) == (("a b",), False)


def test_a_hole_without_choices_is_unknown(holes: Holes):
    name = holes.new(Hole("$USER", None))
    assert possible(f"/home/{name}", holes) == ((), True)
    assert shown(f"/home/{name}", holes) == "/home/\u27e8$USER\u27e9"


def test_choices_multiply_and_one_hole_is_one_text(holes: Holes):
    one, two = holes.new(Hole("a", None, choices=("1", "2"))), holes.new(Hole("b", None, choices=("x", "y")))
    assert possible(f"{one}-{two}", holes)[0] == ("1-x", "1-y", "2-x", "2-y")
    assert possible(f"{one}-{one}", holes)[0] == ("1-1", "2-2")


def test_too_many_are_unknown(holes: Holes):
    text = "".join(holes.new(Hole(str(n), None, choices=("1", "2"))) for n in range(4))
    assert MAX_VALUES < 2**4
    assert possible(text, holes) == ((), True)


def test_a_setting_is_known_only_with_one_value(holes: Holes):
    layer = Layer(Site("a.sh", 2), "argv", "8")
    assert setting("8", holes, (layer,)) == Setting(("8",), False, (layer,))
    assert setting("8", holes, (layer,)).site == Site("a.sh", 2)
    assert setting(holes.new(Hole("a", None, choices=("1", "2"))), holes).value is None


def test_united():
    one, two = Setting(("1",)), Setting(("2",))
    assert united([one, one]) == one
    assert united([one, two]) == Setting(("1", "2"))
    assert united([one, None]) == Setting(("1",), True)
    assert united([None, None]) is None
    assert united([one, Setting((), True)]) == Setting(("1",), True)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("nvcr.io#nvidia/trt:1", "nvcr.io/nvidia/trt:1", True),
        ("docker.io/vllm/vllm-openai:v1", "vllm/vllm-openai:v1", True),
        ("docker://vllm/vllm-openai:v1", "vllm/vllm-openai:v1", True),
        ("vllm/vllm-openai:v1", "vllm/vllm-openai:v2", False),
        ("vllm/vllm-openai:v1", "lmsysorg/vllm-openai:v1", False),
    ],
)
def test_same_image(one: str, other: str, same: bool):
    assert same_image(one, other) is same


@pytest.mark.parametrize(
    ("text", "is_image"),
    [
        ("vllm/vllm-openai:v1", True),
        ("nvcr.io#nvidia/trt:1.2", True),
        ("host:5000/a/b:c", True),
        ("a/b@sha256:0af1", True),
        ("dynamo-vllm", False),
        ("v0.5.13.post1", False),
        ("/lab/images/a.sqsh", False),
        ("lab/images/a:1.sqsh", False),
        ("", False),
    ],
)
def test_looks_like_image(text: str, is_image: bool):
    assert looks_like_image(text) is is_image


def test_tag_and_repository():
    assert (tag_of("host:5000/a:v1"), repository_of("host:5000/a:v1")) == ("v1", "host:5000/a")
    assert (tag_of("a/b"), repository_of("a/b")) == (None, "a/b")
