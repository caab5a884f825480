"""Recipes as rules see them: grouped by what runs, with the places of values through a launcher's edits."""

from __future__ import annotations

from reviewbot.bench.model import Point, Recipe, RecipeError
from reviewbot.bench.recipes import load_recipe
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import parse_yaml
from reviewbot.engine.recipes import Use, concurrencies, engine_window, image_of, tool_of
from reviewbot.runs.model import Run, Setting
from reviewbot.trace.effects import Checkout
from reviewbot.trace.files import FileText, LineOrigin

TEXT = """\
name: "lab_00"
model: {path: toy, container: dynamo-sglang, precision: fp8}
resources: {gpu_type: h100, agg_nodes: 1, agg_workers: 1}
backend: {type: sglang}
benchmark: {type: sa-bench, isl: 1, osl: 1, concurrencies: "4x8"}
"""
POINT = Point("toy[1]", "toy", {"conc": [1, 2], "image": "lmsysorg/sglang:v0.5.14"}, True, "fixed-seq-len", "m.yaml", Site("m.yaml", 1))


def recipe(text: str = TEXT) -> Recipe:
    found = load_recipe(parse_yaml(text.encode()))[0]
    assert not isinstance(found, RecipeError)
    return found


def run(**fields: object) -> Run:
    return Run("toy", POINT, "lab", "lab_00", "l.sh", "submit", "", None, **fields)  # type: ignore[arg-type]


def test_places_of_an_edited_line():
    edited = LineOrigin(Site("toy.yaml", 1), ((Site("l.sh", 9), 'name: "toy-tp8"  # mine'),))
    text = FileText(TEXT, (edited, *(LineOrigin(Site("toy.yaml", line)) for line in range(2, 6))))
    use = Use(recipe(), text, (), "toy.yaml", None, ())
    value = use.recipe.name
    assert value is not None
    assert use.site(value) == Site("l.sh", 9) and use.written(value) == Site("toy.yaml", 1)
    assert use.name == "toy-tp8"
    container = use.recipe.container
    assert container is not None and use.site(container) == Site("toy.yaml", 2)


def test_the_client_of_the_recipe_decides_its_concurrencies():
    assert concurrencies(run(recipe=recipe())) == (4, 8)
    assert concurrencies(run(recipe=recipe(TEXT.replace("sa-bench", "custom")))) == (1, 2)
    assert concurrencies(run()) == (1, 2)


def test_an_alias_stands_for_the_image_of_the_row():
    assert image_of(run(image=Setting(("dynamo-sglang",)))) == "lmsysorg/sglang:v0.5.14"
    assert image_of(run(image=Setting(("lmsysorg/sglang:v0.5.12",)))) == "lmsysorg/sglang:v0.5.12"


def test_the_last_certain_checkout_is_the_tool():
    def checkout(url: str, ref: str | None, certain: bool = True) -> Checkout:
        return Checkout(url, ref, "/srt-slurm", False, Site("l.sh", 3), certain)

    upstream, fork = "https://github.com/NVIDIA/srt-slurm.git", "https://github.com/someone/srt-slurm-nv.git"
    tool = tool_of(run(effects=(checkout(upstream, None), checkout(upstream, "v1.0.44"))))
    assert tool is not None and tool.upstream and tool.releases == ("v1.0.44",)
    other = tool_of(run(effects=(checkout(fork, "v1.0.44"),)))
    assert other is not None and not other.upstream and other.releases == ()
    assert tool_of(run(effects=(checkout(upstream, "v1.0.44", certain=False),))) is None
    assert tool_of(run()) is None


def test_releases_of_an_image():
    exact = engine_window("sglang", "lmsysorg/sglang:v0.5.14")
    private = engine_window("sglang", "lmsysorg/sglang:mine")
    assert exact is not None and exact[2] and private is not None and not private[2]
    assert engine_window("sglang", "lmsysorg/sglang:v0.1.0") is None  # a release that was not read
    assert engine_window("trtllm", "x:1") is None
