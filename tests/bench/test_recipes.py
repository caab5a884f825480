"""Recipes of both schemas: finding them, the normalised view, GPU arithmetic, checks across fields, defaults."""

from __future__ import annotations

import dataclasses
import time

import pytest

from reviewbot.bench.model import Recipe, RecipeError, Role
from reviewbot.bench.recipes import effective, load_recipe, looks_like_recipe, schema_of
from reviewbot.bench.srt_values import seconds
from reviewbot.documents.yaml import parse_yaml

V1 = """\
name: toy
model: {path: toy-model, container: toy-image, precision: fp4}
resources:
  gpu_type: gb200
  gpus_per_node: 4
  prefill_nodes: 2
  prefill_workers: 4
  decode_nodes: 4
  decode_workers: 1
  gpus_per_decode: 16
slurm: {time_limit: "02:30:00"}
backend:
  type: sglang
  prefill_environment: {P: "1"}
  decode_environment: {D: "2"}
  sglang_config:
    prefill: {tp-size: 2}
    decode: {tp-size: 16, enable-dp-attention: true}
frontend: {type: sglang, args: {policy: cache_aware}, env: {F: "3"}}
benchmark: {type: sa-bench, isl: 8192, osl: 1024, concurrencies: "4x8x16", env: {B: "4"}}
health_check: {max_attempts: 360}
environment: {G: "5"}
setup_script: install.sh
container_mounts: {/a: /b}
srun_options: {mpi: pmix}
identity: {model: {repo: toy/Model}, frameworks: {sglang: "0.5"}}
"""

V2 = """\
schema: 2
name: toy
model: {path: toy-model, container: toy-image, precision: fp4}
resources: {gpu_type: gb200, gpus_per_node: 4}
slurm: {time_limit: "02:30:00"}
engine: sglang
roles:
  prefill: {nodes: 2, workers: 4, env: {P: "1"}, args: {tp-size: 2}}
  decode: {nodes: 4, workers: 1, gpus: 16, env: {D: "2"}, args: {tp-size: 16, enable-dp-attention: true}}
frontend: {type: sglang-router, args: {policy: cache_aware}, env: {F: "3"}}
benchmark: {type: sa-bench, isl: 8192, osl: 1024, concurrencies: "4x8x16", env: {B: "4"}}
health_check: {max_attempts: 360}
environment: {G: "5"}
setup_script: install.sh
container_mounts: {/a: /b}
srun_options: {mpi: pmix}
identity: {model: {repo: toy/Model}, frameworks: {sglang: "0.5"}}
"""


def load(text: str, **options: object) -> list[Recipe | RecipeError]:
    return load_recipe(parse_yaml(text.encode(), "toy.yaml"), **options)  # type: ignore[arg-type]


def one(text: str, **options: object) -> Recipe:
    found = load(text, **options)
    assert len(found) == 1 and isinstance(found[0], Recipe), found
    return found[0]


def errors(text: str, **options: object) -> list[RecipeError]:
    return [item for item in load(text, **options) if isinstance(item, RecipeError)]


def _bare(value: object) -> object:
    if isinstance(value, Role):
        return {field.name: _bare(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    return getattr(value, "value", value)


def test_both_schemas_give_the_same_view() -> None:
    first, second = one(V1), one(V2)
    different = {"schema", "settings", "frontend"}
    for field in dataclasses.fields(Recipe):
        if field.name not in different:
            assert _bare(getattr(first, field.name)) == _bare(getattr(second, field.name)), field.name
    assert (first.schema, second.schema) == (1, 2)
    assert _bare(first.frontend) == "sglang" and _bare(second.frontend) == "sglang-router"


@pytest.mark.parametrize("text", [V1, V2])
def test_the_view(text: str) -> None:
    recipe = one(text)
    assert _bare(recipe.concurrencies) == (4, 8, 16) and _bare(recipe.time_limit) == 9000
    assert recipe.total_nodes == 6 and recipe.engine == "sglang"
    assert [(role.name, role.gpus_per_worker) for role in recipe.roles.values()] == [("prefill", 2), ("decode", 16)]
    assert {key: _bare(value) for key, value in recipe.identity.items()} == {"model.repo": "toy/Model", "frameworks.sglang": "0.5"}
    lines = text.splitlines()
    for value in recipe.settings.values():
        assert 1 <= value.line <= len(lines)
    isl = recipe.isl
    assert isl is not None and lines[isl.line - 1][isl.column - 1 :].startswith("8192")


# resources of schema 1; total nodes; GPUs a worker of prefill, decode, agg
ARITHMETIC = [
    ("agg_nodes: 1, agg_workers: 1", 1, (None, None, 4)),
    ("agg_nodes: 4, agg_workers: 1", 4, (None, None, 16)),
    ("agg_nodes: 1, agg_workers: 3", 1, (None, None, 1)),  # the remainder is dropped
    ("agg_workers: 2", 1, (None, None, 4)),
    ("agg_nodes: 2, agg_workers: 0", 2, (None, None, 4)),
    ("agg_nodes: 2, agg_workers: 1, gpus_per_agg: 2", 2, (None, None, 2)),
    ("prefill_nodes: 1, prefill_workers: 1, decode_nodes: 2, decode_workers: 1", 3, (4, 8, None)),
    ("prefill_nodes: 2, prefill_workers: 4, decode_nodes: 0, decode_workers: 2", 2, (2, 2, None)),
    ("prefill_nodes: 2, prefill_workers: 4, decode_nodes: 0, decode_workers: 2, gpus_per_decode: 1", 2, (2, 1, None)),
    ("prefill_nodes: 1, decode_nodes: 1", 2, (4, 4, None)),
    ("gpus_per_node: 8, prefill_nodes: 1, prefill_workers: 2, decode_nodes: 1, decode_workers: 1", 2, (4, 8, None)),
    ('gpus_per_node: 8.5, agg_nodes: "2", agg_workers: 1', 2, (None, None, 16)),
    ("agg_nodes: -1, agg_workers: 1", -1, (None, None, -4)),
]


@pytest.mark.parametrize(("resources", "total", "gpus"), ARITHMETIC)
def test_gpu_arithmetic_of_schema_1(resources: str, total: int, gpus: tuple[int | None, ...]) -> None:
    recipe = one("name: toy\nmodel: {path: a, container: b, precision: c}\nresources: {gpu_type: b200, " + resources + "}\n")
    assert recipe.total_nodes == total
    found = tuple(
        None if role is None else role.gpus_per_worker for role in (recipe.roles.get(name) for name in ("prefill", "decode", "agg"))
    )
    assert found == gpus


def test_sharing_nodes_of_prefill() -> None:
    text = V1.replace("decode_nodes: 4", "decode_nodes: 0").replace("  gpus_per_decode: 16\n", "")
    assert one(text).roles["decode"].colocated and one(text).total_nodes == 2
    second = V2.replace("decode: {nodes: 4, workers: 1, gpus: 16", "decode: {nodes: colocate, workers: 1, gpus: 2")
    decode = one(second).roles["decode"]
    assert decode.colocated and _bare(decode.nodes) == 0 and one(second).total_nodes == 2


@pytest.mark.parametrize(("across", "nodes"), [("false", 2), ("true", 2)])
def test_vllm_packs_prefill_and_decode(across: str, nodes: int) -> None:
    text = (
        "name: toy\nmodel: {path: a, container: b, precision: c}\n"
        "resources: {gpu_type: b200, gpus_per_node: 8, prefill_nodes: 1, prefill_workers: 1, gpus_per_prefill: 4,"
        " decode_nodes: 1, decode_workers: 2, gpus_per_decode: 4}\n"
        f"backend: {{type: vllm, allow_prefill_decode_colocation: true, allow_prefill_decode_colocation_across_nodes: {across}}}\n"
    )
    recipe = one(text)
    assert recipe.total_nodes == nodes and recipe.roles["decode"].colocated is (across == "true")
    small = text.replace("gpus_per_prefill: 4", "gpus_per_prefill: 2").replace("gpus_per_decode: 4", "gpus_per_decode: 2")
    assert one(small).total_nodes == 1 and one(small).roles["decode"].colocated


@pytest.mark.parametrize(
    ("blocks", "dedicated"),
    [
        ("", 0),
        ("infra: {etcd_nats_dedicated_node: true}\n", 1),
        ("infra: {etcd_nats_dedicated_node: true}\nSHARED", 1),
        ("infra: {etcd_nats_dedicated_node: true}\nAPART", 3),
    ],
)
def test_dedicated_nodes_of_schema_1(blocks: str, dedicated: int) -> None:
    text = "name: toy\nmodel: {path: a, container: b, precision: c}\nresources: {gpu_type: b200, agg_nodes: 2, agg_workers: 1}\n"
    extra = "frontend: {dedicated_node: true}\nbenchmark: {client_dedicated_node: true, colocate_with_frontend: WHICH}\n"
    blocks = blocks.replace("SHARED", extra.replace("WHICH", "true")).replace("APART", extra.replace("WHICH", "false"))
    recipe = one(text + blocks)
    assert (recipe.dedicated_nodes, recipe.total_nodes) == (dedicated, 2 + dedicated)


def test_services_and_placements_of_schema_2() -> None:
    text = V2.replace("frontend: {", "frontend: {placement: {node: dedicated}, ").replace(
        "benchmark: {", "benchmark: {placement: {node: dedicated}, "
    )
    text += (
        "services:\n- {name: etcd, type: etcd, placement: {node: dedicated}}\n- {name: nats, type: nats, placement: {node: dedicated}}\n"
        "- {name: train, command: [sleep, infinity], nodes: 2}\n- {name: idle, command: [x], nodes: 3, enabled: false}\n"
    )
    recipe = one(text)
    assert (recipe.dedicated_nodes, recipe.total_nodes) == (1, 9)
    assert list(recipe.services) == ["etcd", "nats", "train", "idle"]
    assert recipe.services["train"].line == text[: text.index("{name: train")].count("\n") + 1
    apart = text.replace("benchmark: {", "benchmark: {colocate_with_frontend: false, ")
    assert (one(apart).dedicated_nodes, one(apart).total_nodes) == (3, 11)


def test_roles_of_any_name_and_own_engines() -> None:
    text = (
        "schema: 2\nname: toy\nmodel: {path: a, container: b, precision: c}\nresources: {gpus_per_node: 8}\n"
        "roles:\n  encode: {nodes: 1, workers: 2, engine: vllm}\n  decode: {nodes: 2, workers: 1, engine: {type: sglang}, container: other}\n"
    )
    recipe = one(text)
    assert [(role.name, role.engine, role.gpus_per_worker) for role in recipe.roles.values()] == [
        ("encode", "vllm", 4),
        ("decode", "sglang", 16),
    ]
    assert recipe.engine is None and _bare(recipe.roles["decode"].container) == "other"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("engine: sglang\n", ""), "roles"),
        (("args: {tp-size: 2}}", "args: {}, engine: vllm}"), "roles.prefill.engine"),
        (("engine: sglang\n", "engine: sglang\ndynamo: {source: {git: a, pypi: b}}\n"), "dynamo.source"),
        (("engine: sglang\n", "engine: sglang\ndynamo: {source: {}}\n"), "dynamo.source"),
        (("engine: sglang\n", "engine: sglang\ndynamo: {source: {rev: a, wheel: b}}\n"), "dynamo.source"),
        (("frontend: {", "frontend: {placement: {node: last_decode}, "), "frontend.placement.node"),
        (("decode: {nodes: 4, workers: 1, gpus: 16", "decode: {nodes: colocate, workers: 1"), "roles.decode.nodes"),
        (("roles:\n", "roles:\n  agg: {nodes: 1, workers: 1}\n"), "roles.agg"),
    ],
)
def test_checks_of_schema_2(change: tuple[str, str], key: str) -> None:
    text = V2.replace(*change)
    assert text != V2
    found = errors(text)
    assert [(item.kind, item.key) for item in found] == [("check", key)]


MOONCAKE = "  mooncake_kv_store: {}\n"

# what is put into V1; release (or none); key of the check that fails, or None
CHECKS = [
    ("dynamo: {hash: abc, top_of_tree: true}\n", None, "dynamo.hash"),
    ("dynamo: {hash: abc, wheel: '1.0'}\n", None, "dynamo.hash"),
    ("dynamo: {wheel: a.whl}\n", None, "dynamo.wheel"),
    ("dynamo: {wheel: '1.2.0'}\n", None, None),
    ("dynamo: {cargo_patches: [a]}\n", None, "dynamo.cargo_patches"),
    ("dynamo: {request_plane: udp}\n", None, "dynamo.request_plane"),
    ("dynamo: {event_plane: kafka}\n", None, "dynamo.event_plane"),
    ("dynamo: {event_plane: null}\n", None, None),
    ("profiling: {type: nsys-time}\n", None, "profiling.type"),
    ("profiling: {type: torch, prefill: {}, decode: {}}\n", None, None),
    ("profiling: {type: torch, prefill: {}, decode: {}, aggregated: {}}\n", None, "profiling.aggregated"),
    ("profiling: {type: torch, prefill: {}}\n", None, "profiling.type"),
    ("infra: {etcd_nats_dedicated_node: true}\nobservability: {tachometer: {enabled: true}}\n", None, "observability.tachometer.enabled"),
    (
        "observability: {enabled: true, tachometer: {enabled: true, storage_subdir: ../up}}\n",
        None,
        "observability.tachometer.storage_subdir",
    ),
    (
        "observability: {enabled: true, tachometer: {enabled: true, default_frequency: 0}}\n",
        None,
        "observability.tachometer.default_frequency",
    ),
    ("telemetry: {enabled: true}\n", None, "telemetry.enabled"),
    ("telemetry: {enabled: true, dcgm_exporter: {container_image: x, port: 0}}\n", None, "telemetry.dcgm_exporter.port"),
    (
        "telemetry: {enabled: true, default_frequency: 5, dcgm_exporter: {container_image: x, port: 1}}\n",
        None,
        "telemetry.default_frequency",
    ),
    (
        "telemetry: {enabled: true, collector_join_timeout_seconds: 10, dcgm_exporter: {container_image: x, port: 1}}\n",
        None,
        "telemetry.collector_join_timeout_seconds",
    ),
    ("telemetry: {enabled: true, dcgm_exporter: {container_image: x, port: 1}}\n", None, None),
    ("telemetry: {enabled: true, dcgm_exporter: {container_image: x, port: 1}}\n", "v1.0.50", "telemetry.enabled"),
    (
        "telemetry: {enabled: true, provider: dcgm-power, default_frequency: 1, dcgm_exporter: {container_image: x, port: 1}}\n",
        "v1.0.50",
        None,
    ),
]


@pytest.mark.parametrize(("block", "tag", "key"), CHECKS)
def test_checks_of_schema_1(block: str, tag: str | None, key: str | None) -> None:
    found = errors(V1 + block, tag=tag)
    assert {(item.kind, item.key) for item in found} == ({("check", key)} if key else set())
    for item in found:
        assert V1.count("\n") < item.line <= (V1 + block).count("\n")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ([("  type: sglang\n", "  type: sglang\n" + MOONCAKE)], "backend.mooncake_kv_store"),
        ([("  type: sglang\n", "  type: sglang\n" + MOONCAKE), ("tp-size: 2", "disaggregation_transfer_backend: mooncake")], None),
        ([("gpu_type: gb200", "gpu_type: gb200\n  het_jobs: true")], None),
        ([("gpu_type: gb200", "gpu_type: gb200\n  het_jobs: true"), ("decode_nodes: 4", "decode_nodes: 0")], "resources.het_jobs"),
        ([("type: sglang, args", "type: vllm, args")], "frontend.type"),
        ([("type: sglang, args", "dedicated_node: true, orchestrator_placement: first_decode, args")], "frontend.orchestrator_placement"),
    ],
)
def test_checks_across_blocks(changes: list[tuple[str, str]], key: str | None) -> None:
    text = V1
    for change in changes:
        assert change[0] in text
        text = text.replace(*change)
    assert {item.key for item in errors(text)} == ({key} if key else set())


VLLM = """\
name: toy
model: {path: a, container: b, precision: c}
resources: {gpu_type: b200, agg_nodes: 2, agg_workers: WORKERS}
backend: {type: vllm, vllm_config: {aggregated: {data-parallel-size: 8, HEADLESS}}}
frontend: {type: vllm, enable_multiple_frontends: false}
"""


@pytest.mark.parametrize(
    ("workers", "headless", "tag", "key"),
    [
        ("1", "a: 1", None, None),
        ("1", "a: 1", "v1.0.68", None),
        ("1", "a: 1", "v1.0.38", "resources.agg_nodes"),
        ("1", "a: 1", "v1.0.36", None),
        ("2", "a: 1", "v1.0.68", "frontend.type"),
        ("2", "a: 1", None, None),
        ("0", "a: 1", None, "frontend.type"),
        ("1", "headless: true", None, None),
        ("1", "headless: true", "v1.0.68", "backend.vllm_config.aggregated.headless"),
        ("1", "headless: true", "v1.0.67", None),  # per_gpu was the default there
    ],
)
def test_vllm_checks_by_release(workers: str, headless: str, tag: str | None, key: str | None) -> None:
    text = VLLM.replace("WORKERS", workers).replace("HEADLESS", headless)
    assert {item.key for item in errors(text, tag=tag)} == ({key} if key else set())


def test_written_and_default_values() -> None:
    recipe = one(V1)
    assert effective(recipe, "health_check.max_attempts") == (360, False)
    assert effective(recipe, "health_check.interval_seconds") == (10, True)
    assert effective(recipe, "frontend.num_additional_frontends") == (9, True)
    assert effective(recipe, "identity.frameworks") == ({"sglang": "0.5"}, False)
    assert effective(recipe, "no.such.key") == (None, True)
    assert effective(recipe, "backend.connector") == (None, True)  # sglang has none
    vllm = one(VLLM.replace("WORKERS", "1").replace("HEADLESS", "a: 1"))
    assert effective(vllm, "backend.connector") == ("nixl", True)
    assert effective(vllm, "backend.dp_launch_mode", "v1.0.68") == ("per_node", True)
    assert effective(vllm, "backend.dp_launch_mode", "v1.0.50") == ("per_gpu", True)
    assert effective(vllm, "backend.dp_launch_mode", "v1.0.29") == (None, True)
    assert effective(vllm, "dynamo.version") == ("0.8.0", True)
    second = one(V2)
    assert effective(second, "dynamo.version") == (None, True)  # no implied pin
    assert effective(second, "telemetry.collect_interval_ms") == (1000, True)
    assert effective(second, "roles.prefill.critical") == (True, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("04:00:00", 14400),
        ("30", 1800),
        ("10:30", 630),
        ("1-0", 86400),
        ("1-02:03", 93780),
        ("1-02:03:04", 93784),
        ("4 hours", None),
        ("", None),
        (28800, None),
    ],
)
def test_time_limits(text: object, expected: int | None) -> None:
    assert seconds(text) == expected


def test_a_time_limit_without_quotes_is_a_number_to_the_tool() -> None:
    (found,) = errors(V1.replace('"02:30:00"', "2:30:00"))
    assert found.key == "slurm.time_limit" and "9000 (written 2:30:00)" in found.message and "quotes" in found.message


@pytest.mark.parametrize("written", ["4,8", "4x", "fast"])
def test_concurrencies_that_cannot_be_read_stay(written: str) -> None:
    assert _bare(one(V1.replace("4x8x16", written)).concurrencies) == written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (V1, True),
        (V2, True),
        ("base:\n  name: x\n  model: {}\n  resources: {}\noverride_a: {}\n", True),
        ("base: {engine: vllm, roles: {}}\noverride_a: {}\n", True),
        ("base: {a: 1}\noverride_a: {}\n", False),
        ("model: {path: a}\nresources: {limits: {cpu: 1}}\n", False),
        ("model: a\nresources: {}\nbackend: {}\n", False),
        ("name: workflow\non: push\njobs: {}\n", False),
        ("- a\n", False),
        ("", False),
    ],
)
def test_what_looks_like_a_recipe(text: str, expected: bool) -> None:
    assert looks_like_recipe(parse_yaml(text.encode(), "x.yaml").root) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (V1, 1),
        (V2, 2),
        (V2.replace("schema: 2\n", ""), 2),
        ("base: {name: x}\noverride_a: {roles: {}}\n", 2),
        ("base: {backend: {}}\noverride_a: {roles: {}}\n", 1),
        ("schema: 2\nbase: {}\n", 2),
        ("schema: 1\nengine: x\n", 1),
    ],
)
def test_schema_of(text: str, expected: int) -> None:
    assert schema_of(parse_yaml(text.encode(), "x.yaml").root) == expected


def test_a_release_of_schema_1_refuses_schema_2() -> None:
    assert "schema" in {item.key for item in errors(V2, tag="v1.0.68")}


def test_keep_gives_the_recipe_behind_its_errors() -> None:
    found = load(V1.replace("health_check:", "helth_check:"), keep=True)
    assert [type(item) for item in found] == [RecipeError, Recipe]
    assert isinstance(found[0], RecipeError) and "did you mean `health_check`" in found[0].message


def test_a_fragment_lacks_blocks() -> None:
    text = V2.replace("model: {path: toy-model, container: toy-image, precision: fp4}\n", "")
    assert [item.key for item in errors(text)] == ["model"]
    assert _bare(one(text, partial=True).isl) == 8192
    assert errors(text.replace("roles:", "rolls:"), partial=True)


def test_speed() -> None:
    document = parse_yaml(V1.encode(), "toy.yaml")
    load_recipe(document)
    started = time.perf_counter()
    for _ in range(100):
        load_recipe(document, tag="v1.0.68")
    assert (time.perf_counter() - started) / 100 < 0.01
