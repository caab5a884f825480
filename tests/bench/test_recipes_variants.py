"""Variants of a recipe file: selectors, merges, zips, sweeps, changes of the command line."""

from __future__ import annotations

import pytest

from reviewbot.bench.model import Recipe, RecipeError
from reviewbot.bench.recipes import load_argument, load_recipe, split_selector
from reviewbot.bench.variants import VariantError
from reviewbot.documents.yaml import parse_yaml

BASE = """\
base:
  name: toy
  model: {path: toy-model, container: toy-image, precision: fp8}
  resources:
    gpu_type: b200
    gpus_per_node: 8
    agg_nodes: 1
    agg_workers: 1
  backend:
    type: vllm
    aggregated_environment:
      A_FLAG: "1"
    vllm_config:
      aggregated:
        tensor-parallel-size: 8
        max-num-seqs: 64
        cudagraph-capture-sizes: [1, 2, 4]
  benchmark: {type: sa-bench, isl: 1024, osl: 128, concurrencies: "4x8"}
"""

VARIANTS = (
    BASE
    + """\
override_small:
  backend:
    vllm_config:
      aggregated: {tensor-parallel-size: 4, max-num-seqs: null, cudagraph-capture-sizes: [8]}
override_named:
  name: by-hand
zip_override_sizes:
  backend:
    vllm_config:
      aggregated:
        tensor-parallel-size: [2, 4]
        max-num-seqs: [16]
  benchmark:
    concurrencies: [[1, 2], [3]]
"""
)


def load(text: str, selector: str = "", **options: object) -> list[Recipe | RecipeError]:
    return load_recipe(parse_yaml(text.encode(), "toy.yaml"), selector, **options)  # type: ignore[arg-type]


def recipes(text: str, selector: str = "", **options: object) -> list[Recipe]:
    found = load(text, selector, **options)
    assert all(isinstance(item, Recipe) for item in found), found
    return [item for item in found if isinstance(item, Recipe)]


def error(text: str, selector: str = "", **options: object) -> RecipeError:
    found = load(text, selector, **options)
    assert len(found) == 1 and isinstance(found[0], RecipeError), found
    return found[0]


@pytest.mark.parametrize(
    ("selector", "variants"),
    [
        ("", ["override_named", "override_small", "zip_override_sizes[0]", "zip_override_sizes[1]"]),
        ("base", ["base"]),
        ("override_small", ["override_small"]),
        ("zip_override_sizes", ["zip_override_sizes[0]", "zip_override_sizes[1]"]),
        ("zip_override_sizes[1]", ["zip_override_sizes[1]"]),
        ("override_*", ["override_named", "override_small"]),
        ("*s*", ["override_small", "zip_override_sizes[0]", "zip_override_sizes[1]"]),
        ("override_smal?", ["override_small"]),
    ],
)
def test_selectors(selector: str, variants: list[str]) -> None:
    assert [recipe.variant for recipe in recipes(VARIANTS, selector)] == variants


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("override_none", "there are override_named, override_small, zip_override_sizes[i]"),
        ("zip_override_none", "no `zip_override_none`"),
        ("zip_override_none[0]", "no `zip_override_none`"),
        ("zip_override_sizes[2]", "has 2 variants"),
        ("zip_override_sizes[99999999999999999999]", "out of range"),
        ("*none*", "no variant matches"),
    ],
)
def test_a_selector_that_picks_nothing(selector: str, words: str) -> None:
    found = error(VARIANTS, selector)
    assert words in found.message and found.kind == "variant"


def test_a_plain_file_ignores_the_selector() -> None:
    text = "\n".join(line[2:] for line in BASE.splitlines()[1:])
    assert [recipe.variant for recipe in recipes(text, "override_x")] == [""]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("a/b.yaml", ("a/b.yaml", "")),
        ("a/b.yaml:base", ("a/b.yaml", "base")),
        ("a:b.yaml:override_x", ("a:b.yaml", "override_x")),
        ("b.yaml:zip_override_x[3]", ("b.yaml", "zip_override_x[3]")),
        ("b.yaml:*mtp*", ("b.yaml", "*mtp*")),
    ],
)
def test_arguments_split_at_the_last_colon(argument: str, expected: tuple[str, str]) -> None:
    assert split_selector(argument) == expected


@pytest.mark.parametrize("argument", ["b.yaml:x", ":base", "b.yaml:", "b.yaml:override_", "b.yaml:zip_override_x[a]", "b.yaml: base"])
def test_arguments_that_the_tool_refuses(argument: str) -> None:
    with pytest.raises(VariantError):
        split_selector(argument)
    found = load_argument(parse_yaml(VARIANTS.encode(), "toy.yaml"), argument)
    assert isinstance(found[0], RecipeError) and found[0].kind == "variant"


def test_merge_replaces_lists_deletes_nulls_and_keeps_the_rest() -> None:
    (recipe,) = recipes(VARIANTS, "override_small")
    args = recipe.roles["agg"].args
    assert {key: value.value for key, value in args.items()} == {"tensor-parallel-size": 4, "cudagraph-capture-sizes": [8]}
    assert recipe.roles["agg"].env["A_FLAG"].value == "1"


def test_each_leaf_knows_where_it_was_written() -> None:
    (recipe,) = recipes(VARIANTS, "override_small")
    lines = VARIANTS.splitlines()
    size = recipe.roles["agg"].args["tensor-parallel-size"]
    assert (size.line, size.operation) == (lines.index("override_small:") + 4, "override_small")
    assert lines[size.line - 1][size.column - 1 :].startswith("4,")
    flag = recipe.roles["agg"].env["A_FLAG"]
    assert (lines[flag.line - 1].strip(), flag.operation) == ('A_FLAG: "1"', "base")
    assert recipe.name is not None and recipe.name.value == "toy_small" and lines[recipe.name.line - 1] == "override_small:"


def test_names() -> None:
    found = {recipe.variant: recipe.name.value for recipe in recipes(VARIANTS) if recipe.name is not None}
    assert found == {
        "override_named": "by-hand",
        "override_small": "toy_small",
        "zip_override_sizes[0]": "toy_sizes_0",
        "zip_override_sizes[1]": "toy_sizes_1",
    }


def test_a_list_of_names_names_the_zip() -> None:
    text = BASE + "zip_override_n:\n  name: [one, two]\n"
    assert [recipe.name.value for recipe in recipes(text) if recipe.name] == ["one", "two"]
    text = BASE + "zip_override_n:\n  name: same\n  benchmark: {isl: [1, 2]}\n"
    assert [recipe.name.value for recipe in recipes(text) if recipe.name] == ["toy_n_0", "toy_n_1"]


def test_zip_broadcasts_one_item_and_points_at_the_item() -> None:
    first, second = recipes(VARIANTS, "zip_override_sizes")
    assert first.concurrencies is not None and first.concurrencies.value == (1, 2)
    assert second.concurrencies is not None and second.concurrencies.value == (3,)
    sizes = [recipe.roles["agg"].args["tensor-parallel-size"] for recipe in (first, second)]
    assert [size.value for size in sizes] == [2, 4] and sizes[0].column < sizes[1].column
    assert [recipe.roles["agg"].args["max-num-seqs"].value for recipe in (first, second)] == [16, 16]
    assert sizes[1].operation == "zip_override_sizes[1]"


def test_a_null_in_a_zip_deletes_the_key() -> None:
    text = BASE + "zip_override_n:\n  backend: {vllm_config: {aggregated: {max-num-seqs: [null, 5]}}}\n"
    first, second = recipes(text)
    assert "max-num-seqs" not in first.roles["agg"].args and second.roles["agg"].args["max-num-seqs"].value == 5


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("zip_override_a: {benchmark: {isl: [1, 2], osl: [1, 2, 3]}}", "lists of 2 and 3 items"),
        ("zip_override_a: {benchmark: {isl: []}}", "empty list"),
        ("zip_override_a: {benchmark: {isl: 5}}", "nothing to zip"),
        ("zip_override_a: 5", "must be a mapping"),
        ("override_a: ", "must be a mapping"),
        ("override_a: [1]", "must be a mapping"),
    ],
)
def test_sections_that_give_no_variant(section: str, words: str) -> None:
    found = error(BASE + section + "\n")
    assert words in found.message and found.kind == "variant"
    assert found.line == len(BASE.splitlines()) + 1


def test_a_bad_section_leaves_the_others() -> None:
    found = load(VARIANTS + "zip_override_bad: {a: []}\n")
    assert [type(item).__name__ for item in found].count("Recipe") == 4
    assert [type(item).__name__ for item in found].count("RecipeError") == 1


SWEEP = """\
name: toy
model: {path: "m-{tp}", container: c, precision: fp8}
resources: {gpu_type: b200, agg_nodes: 1, agg_workers: 1}
backend:
  type: sglang
  sglang_config:
    aggregated: {tp-size: "{tp}", note: "x{extra}y", sizes: ["{tp}", "{extra}"], whole: "{extra}"}
sweep:
  tp: [4, 8]
  extra: [[1, 2], z]
"""


def test_a_sweep_is_the_full_product_with_texts_replaced() -> None:
    found = recipes(SWEEP)
    assert [recipe.variant for recipe in found] == [f"sweep[{number}]" for number in range(4)]
    assert [recipe.name.value for recipe in found if recipe.name] == [
        "toy_tp4_extra[1, 2]",
        "toy_tp4_extraz",
        "toy_tp8_extra[1, 2]",
        "toy_tp8_extraz",
    ]
    args = {key: value.value for key, value in found[0].roles["agg"].args.items()}
    assert args == {"tp-size": "4", "note": "x1,2y", "sizes": ["4", [1, 2]], "whole": [1, 2]}
    path = found[2].model_path
    assert path is not None and (path.value, path.operation, path.line) == ("m-8", "sweep[2]", 2)


@pytest.mark.parametrize("sweep", ["5", "[1]", "{a: 5}", "null"])
def test_a_sweep_that_is_none(sweep: str) -> None:
    text = SWEEP[: SWEEP.index("sweep:")] + f"sweep: {sweep}\n"
    assert "sweep" in error(text).message


def test_a_sweep_inside_a_variant_is_refused_by_schema_1() -> None:
    found = error(BASE + "override_a: {sweep: {a: [1]}}\n")
    assert found.key == "sweep" and "unknown key `sweep`" in found.message


def test_the_lock_of_a_lock_file_is_no_setting() -> None:
    text = SWEEP[: SWEEP.index("sweep:")] + "lock: {anything: [1]}\n"
    assert not any(key.startswith("lock") for key in recipes(text)[0].settings)


def test_set_and_unset() -> None:
    (recipe,) = recipes(
        VARIANTS,
        "base",
        sets=["benchmark.isl=8192", ("backend.vllm_config.aggregated.new", {"a": 1})],
        unsets=["benchmark.osl", "no.such.key"],
    )
    assert recipe.isl is not None and (recipe.isl.value, recipe.isl.operation, recipe.isl.node) == (8192, "--set", None)
    assert recipe.osl is None
    assert recipe.settings["backend.vllm_config.aggregated.new.a"].value == 1


@pytest.mark.parametrize("change", ["nonsense", "=5", "name.a=5"])
def test_changes_that_cannot_be_made(change: str) -> None:
    assert error(VARIANTS, "base", sets=[change]).kind == "variant"


HOSTILE = [
    "",
    "[]",
    "5",
    "base:",
    "base: 5",
    "base: {}\noverride_a: {}",
    "base: &a [*a]",
    "a: &a {b: *a}",
    "base: {name: {a: b}}\noverride_x: {}",
    "1: 2\nbase: {1: 2}\n? [a]\n: 3\noverride_x: {1: {2: 3}}",
    "name: .nan\nmodel: .inf\nresources: " + "9" * 400,
    "name: 2026-01-01\nmodel: 8:00:00",
    "base: {roles: 5, engine: [1], services: {a: 1}}\nschema: 2\noverride_a: {}",
    "schema: 2\nroles: {a: 5, b: {nodes: [1], engine: {type: [x]}}}\nservices: [1, {placement: 5}, {nodes: x}]",
    "a: [" * 300,
    "x: &a [" + "1," * 9 + "1]\ny: &b [" + "*a," * 9 + "*a]\nz: &c [" + "*b," * 9 + "*b]\nbase: {a: [" + "*c," * 9 + "*c]}\noverride_a: {}",
    "name: a\nsweep: {a: [" + "1," * 100 + "1], b: [" + "1," * 100 + "1]}",
    "resources: {agg_nodes: 0, agg_workers: 0, gpus_per_node: 0}\nmodel: {}\nname: ''",
    "resources: {agg_nodes: -1, agg_workers: x, gpus_per_node: [1]}\nbackend: {type: [a]}\nbenchmark: {concurrencies: 4xx}",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("selector", ["", "base", "*a*", "zip_override_x[0]"])
def test_hostile_documents_become_errors(text: str, selector: str) -> None:
    document = parse_yaml(text.encode(), "toy.yaml")
    if document.root is None:
        return
    for keep in (False, True):
        for found in load_recipe(document, selector, keep=keep):
            assert isinstance(found, (Recipe, RecipeError))
            if isinstance(found, RecipeError):
                assert found.message and found.line >= 1 and found.column >= 1
