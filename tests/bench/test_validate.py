"""Documents against the schemas: places, words, releases, ignored keys."""

from __future__ import annotations

import json

import jsonschema
import pytest

from reviewbot.bench.cluster_file import parse_cluster_file
from reviewbot.bench.validate import SCHEMAS, SchemaProblem, validate, version
from reviewbot.documents.yaml import parse_yaml

NAMES = sorted(path.name[: -len(".schema.json")] for path in SCHEMAS.glob("*.schema.json"))

RECIPE = """\
name: toy
model: {path: a, container: b, precision: c}
resources: {gpu_type: b200, agg_nodes: 1, agg_workers: 1}
"""


def problems(text: str, name: str = "srt-recipe-v1", tag: str | None = None) -> list[SchemaProblem]:
    return validate(parse_yaml(text.encode(), "x.yaml"), name, tag)


def one(text: str, name: str = "srt-recipe-v1", tag: str | None = None) -> SchemaProblem:
    found = problems(text, name, tag)
    assert len(found) == 1, found
    return found[0]


def test_the_schemas_are_there() -> None:
    assert {"srt-recipe-v1", "srt-recipe-v2", "srt-cluster", "inferencex-master", "inferencex-runners", "inferencex-changelog"} <= set(
        NAMES
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("srt-", "inferencex-"))])
def test_the_schemas_are_schemas(name: str) -> None:
    document = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    defined = set(document["$defs"]) if "$defs" in document else set()
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}:
        assert reference in defined, reference


def test_every_mention_of_a_release_is_one() -> None:
    document = json.loads((SCHEMAS / "srt-recipe-v1.schema.json").read_text(encoding="utf-8"))
    found = 0
    pending = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            for key in ("x-since", "x-until"):
                if key in part:
                    found += 1
                    assert version(part[key]) is not None
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    assert found > 40


# what is added to RECIPE; line and column in it; key; words of the message
WRONG = [
    ("environment: {A: 1}", (4, 18), "environment.A", "`environment.A` must be text, not the number 1; put it in quotes"),
    ("environment: {A: yes}", (4, 18), "environment.A", "not true (written yes); put it in quotes"),
    ("environment: {A: 0x10}", (4, 18), "environment.A", "the number 16 (written 0x10)"),
    ("environment: {A: null}", (4, 18), "environment.A", "not null"),
    ("environment: {A: [1]}", (4, 15), "environment.A", "not a list"),
    ("environment: {1: a}", (4, 15), "environment", "the key `1`"),
    ("environment: {A: 2026-01-01}", (4, 18), "environment.A", "not a date"),
    ("enviroment: {}", (4, 1), "enviroment", "did you mean `environment`"),
    (
        "benchmark: {concurrencies: 4}",
        (4, 28),
        "benchmark.concurrencies",
        "a list of whole numbers or a text such as 4x8, not the number 4",
    ),
    ("benchmark: {isl: long}", (4, 18), "benchmark.isl", 'a whole number, not the text "long"'),
    ("benchmark: {isl: true}", (4, 18), "benchmark.isl", "a whole number, not true"),
    ("benchmark: {categories: [a, 1]}", (4, 29), "benchmark.categories[1]", "must be text"),
    ("benchmark: {use_chat_template: maybe}", (4, 32), "benchmark.use_chat_template", "true or false"),
    ("benchmark: {temperature: .nan}", (4, 26), "benchmark.temperature", "a number, not nan"),
    ("backend: {type: tensorrt}", (4, 17), "backend.type", "one of sglang, vllm, trtllm, mocker"),
    ("backend: {vllm_config: {}}", (4, 11), "backend.vllm_config", "unknown key"),
    ("backend: {type: vllm, dp_launch_mode: both}", (4, 39), "backend.dp_launch_mode", "one of per_gpu, per_node"),
    ("backend: {type: vllm, vllm_config: {agg: {}}}", (4, 37), "backend.vllm_config.agg", "did you mean `aggregated`"),
    ("identity: {model: {name: x}}", (4, 20), "identity.model.name", "known here: repo, revision"),
    ("telemetry: {dcgm_exporter: {container_image: x}}", (4, 13), "telemetry.dcgm_exporter.port", "lacks `port`"),
    ("extra_mount: /a:/b", (4, 14), "extra_mount", "a list of texts"),
    ("container_mounts: {/a: 5}", (4, 24), "container_mounts./a", "must be text"),
    ("sweep: {a: 5}", (4, 9), "sweep.a", "must be a list"),
]


@pytest.mark.parametrize(("added", "place", "key", "words"), WRONG)
def test_problems_of_a_recipe(added: str, place: tuple[int, int], key: str, words: str) -> None:
    found = one(RECIPE + added + "\n")
    assert (found.span.line, found.span.column) == place
    assert found.key == key and words in found.message


RIGHT = [
    "resources_: null".replace("resources_", "reporting"),
    'benchmark: {isl: "8", osl: 8.5, concurrencies: ["4", 8], req_rate: 5}',
    "benchmark: {concurrencies: fast, type: sa_bench, isl: -4}",
    "health_check: {max_attempts: -1}",
    "backend: {type: sglang, kv_events_config: {prefill: true}, sglang_config: {prefill: null, decode: {a: {b: [1]}}}}",
    'frontend: {enable_multiple_frontends: "yes", args: {1a: null}}',
    "dynamo: {top_of_tree: 1}",
    "slurm: {time_limit: 4 hours}",
    "environment: {A: 08:00:00x}",
    "lock: {a: 1}",
]


@pytest.mark.parametrize("added", RIGHT)
def test_what_the_tool_accepts(added: str) -> None:
    assert problems(RECIPE + added + "\n") == []


# block; release; None where the release accepts it, else words of the message
RELEASES = [
    ("backend: {type: vllm, dp_launch_mode: per_node}", None, None),
    ("backend: {type: vllm, dp_launch_mode: per_node}", "v1.0.30", None),
    ("backend: {type: vllm, dp_launch_mode: per_node}", "v1.0.29", "known from v1.0.30 on"),
    ("backend: {type: vllm, dp_launch_mode: per_node}", "some-branch", None),
    ("backend: {type: vllm, dp_launch_mode: per_node}", "0123abc", None),
    ("telemetry: {provider: scraper}", None, None),
    ("telemetry: {provider: scraper}", "v1.0.58", None),
    ("telemetry: {provider: scraper}", "v1.0.59", "last known in v1.0.58"),
    ("benchmark: {tokenizer_mode: slow}", None, None),
    ("benchmark: {tokenizer_mode: slow}", "v1.0.68", "branch"),
    ("benchmark: {aiperf_server_metrics: x}", None, "unknown key"),
    ("observability: {tachometer: {enabled: false}}", "v1.0.58", "known from v1.0.59 on"),
    ("backend: {mooncake_kv_store: {master_extra_args: [a]}}", "v1.0.34", "known from v1.0.35 on"),
    ("backend: {type: vllm, mooncake_kv_store: {}}", "v1.0.11", "known from v1.0.12 on"),
]


@pytest.mark.parametrize(("added", "tag", "words"), RELEASES)
def test_a_field_belongs_to_releases(added: str, tag: str | None, words: str | None) -> None:
    found = problems(RECIPE + added + "\n", tag=tag)
    assert [words in item.message for item in found if words] == ([True] if words else []) and (words or not found)


def test_missing_blocks() -> None:
    assert {item.key for item in problems("name: toy\n")} == {"model", "resources"}


OVERRIDE = "base:\n  name: toy\n  model: {path: a, container: b, precision: c}\n  resources: {gpu_type: x}\noverride_a: {}\n"


@pytest.mark.parametrize(
    ("key", "guess"),
    [
        ("overide_x", "override_x"),
        ("zip-override_x", "zip_override_x"),
        ("zip_overide_x", "zip_override_x"),
        ("overrides_x", "override_x"),
        ("override-x", "override_x"),
        ("common", ""),
    ],
)
def test_a_key_that_nothing_reads(key: str, guess: str) -> None:
    found = one(OVERRIDE + f"{key}: {{a: 1}}\n")
    assert (found.keyword, found.key, found.span.line) == ("ignored-key", key, 6)
    assert (f"did you mean `{guess}`" in found.message) is bool(guess)


def test_schema_2_refuses_such_a_key() -> None:
    text = (
        "schema: 2\nbase:\n  name: toy\n  model: {path: a, container: b, precision: c}\n  resources: {}\n  engine: vllm\n"
        "override_a: {}\noveride_b: {}\n"
    )
    found = one(text, "srt-recipe-v2")
    assert (found.keyword, found.span.line) == ("additionalProperties", 8)


def test_one_mistake_in_the_base_is_one_problem() -> None:
    text = OVERRIDE.replace("  name: toy\n", "  name: toy\n  typo: 1\n") + "override_b: {}\noverride_c: {name: x}\n"
    found = one(text)
    assert (found.key, found.span.line) == ("typo", 3)


def test_a_mistake_in_an_override_is_placed_there() -> None:
    found = one(OVERRIDE + "override_b: {benchmark: {isl: x}}\n")
    assert (found.span.line, found.span.column) == (6, 31)


def test_a_variant_that_cannot_be_made() -> None:
    assert one(OVERRIDE + "zip_override_b: {a: []}\n").keyword == "variant"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", "5", "[1, {a: [b]}]", "a: {b: {c: [1, .nan, 2026-01-01, {? [x] : y}]}}", "1: {2: 3}", "null: null"])
def test_any_document_against_any_schema(name: str, text: str) -> None:
    for found in problems(text, name):
        assert found.message and found.keyword and found.span.line >= 1


V2 = "schema: 2\nname: toy\nmodel: {path: a, container: b, precision: c}\nresources: {}\nengine: vllm\n"


@pytest.mark.parametrize(
    ("added", "key", "words"),
    [
        ("roles: {prefill: {agg_nodes: 1}}", "roles.prefill.agg_nodes", "unknown key"),
        ("roles: {prefill: {nodes: shared}}", "roles.prefill.nodes", "a whole number or colocate"),
        ("roles: {prefill: {engine: {type: vllm, conector: x}}}", "roles.prefill.engine.conector", "did you mean `connector`"),
        ("roles: {prefill: {engine: tensorrt}}", "roles.prefill.engine", "one of atom, sglang"),
        ("roles: {prefill: {restart: sometimes}}", "roles.prefill.restart", "one of never, on-failure, always"),
        ("roles: {prefill: {env: {A: 1}}}", "roles.prefill.env.A", "must be text"),
        ("services: [{type: nats}]", "services[0].name", "lacks `name`"),
        ("services: [{name: a, placement: {nod: head}}]", "services[0].placement.nod", "did you mean `node`"),
        ("backend: {type: vllm}", "backend", "unknown key"),
        ("telemetry: {default_frequency: 1.0}", "telemetry.default_frequency", "unknown key"),
        ("dynamo: {version: '1'}", "dynamo.version", "unknown key"),
    ],
)
def test_problems_of_schema_2(added: str, key: str, words: str) -> None:
    found = one(V2 + added + "\n", "srt-recipe-v2")
    assert found.key == key and words in found.message and found.span.line == 6


@pytest.mark.parametrize(
    "added",
    [
        "roles: {prefill: {nodes: 1, restart: {policy: always}, kv_events: {topic: x}}, encode: {nodes: colocate, gpus: 1}}",
        "services: [{name: a, command: [x], readiness: {http: {port: 1}}, metrics: [{port: 1}]}, {name: b, metrics: {port: 2}}]",
        "telemetry: {enabled: true, collect_interval_ms: 1000, dcgm_exporter: {container_image: x, port: 1}}",
        "dynamo: {source: {git: x, rev: y}}\nhost_setup: {commands: [x]}\npost_eval: {command: [x]}",
        "sweep: {a: [1]}",
    ],
)
def test_what_schema_2_accepts(added: str) -> None:
    assert problems(V2 + added + "\n", "srt-recipe-v2") == []


MASTER = """\
toy-fp8-b200-vllm:
  image: a
  model: b
  model-prefix: toy
  precision: fp8
  framework: vllm
  runner: b200
  multinode: false
  scenarios:
    fixed-seq-len:
    - {isl: 1, osl: 1, search-space: [{tp: 8, conc-start: 4, conc-end: 8}]}
"""


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("tp: 8", "tp: 8, ep: 1, dp-attn: true", None),
        ("tp: 8", "tpp: 8, tp: 8", "toy-fp8-b200-vllm.scenarios.fixed-seq-len[0].search-space[0].tpp"),
        ("tp: 8, ", "", "toy-fp8-b200-vllm.scenarios.fixed-seq-len[0].search-space[0].tp"),
        ("conc-start: 4", "conc-start: 0", "toy-fp8-b200-vllm.scenarios.fixed-seq-len[0].search-space[0].conc-start"),
        ("runner: b200", "runner: 5", "toy-fp8-b200-vllm.runner"),
        ("  framework: vllm\n", "", "toy-fp8-b200-vllm.framework"),
        ("tp: 8", "tp: 8, spec-decoding: eagle", "toy-fp8-b200-vllm.scenarios.fixed-seq-len[0].search-space[0].spec-decoding"),
        ("multinode: false", "multinode: true", "toy-fp8-b200-vllm.scenarios.fixed-seq-len[0].search-space[0]"),
    ],
)
def test_masters(old: str, new: str, key: str | None) -> None:
    found = problems(MASTER.replace(old, new), "inferencex-master")
    assert (found == []) if key is None else found and all(item.key.startswith(key) for item in found)


def test_changelog_and_runners() -> None:
    assert problems("- config-keys: [a]\n  description: [b]\n  pr-link: c\n", "inferencex-changelog") == []
    found = problems("- config-keys: []\n  description: b\n", "inferencex-changelog")
    assert {item.key for item in found} == {"[0].config-keys", "[0].description", "[0].pr-link"}
    assert problems("labels: {a: [x]}\nhardware: {a: {available-cpu-dram-mib: 1, gpus-per-node: 8}}\n", "inferencex-runners") == []
    assert {item.key for item in problems("labels: {a: []}\nhardware: {a: {gpus: 8}}\n", "inferencex-runners")} >= {
        "labels.a",
        "hardware.a.gpus",
    }


CLUSTER = """\
default_time_limit: "04:00:00"
gpus_per_node: "4"
model_paths:
  toy: /models/toy
  toy: /models/other
containers: {img: /images/img.sqsh}
default_health_check: {max_attempts: 720, interval_seconds: 10}
default_mounts: {/a: /b}
"""


def test_cluster_file() -> None:
    found = parse_cluster_file(CLUSTER.encode())
    assert not found.ignored
    assert found.model_paths["toy"].value == "/models/other" and found.model_paths["toy"].line == 5
    assert found.default_time_limit is not None and found.default_time_limit.value == 14400
    assert found.gpus_per_node is not None and found.gpus_per_node.value == 4
    assert found.health_attempts is not None and (found.health_attempts.value, found.health_attempts.line) == (720, 7)
    assert [(item.key, item.lines, item.values) for item in found.duplicates] == [
        ("model_paths.toy", (4, 5), ("/models/toy", "/models/other"))
    ]


def test_a_cluster_file_belongs_to_a_release() -> None:
    text = b"preflight: false\n"
    assert not parse_cluster_file(text).ignored and not parse_cluster_file(text, tag="v2.2.1").ignored
    assert "known from v2.0.0 on" in parse_cluster_file(text, tag="v1.0.68").problems[0].message


@pytest.mark.parametrize("text", ["gpus_per_nodes: 4\n", "model_paths: {a: 5}\n", "[1]\n", "", "a: [\n", "default_time_limit: 4:00:00\n"])
def test_a_cluster_file_that_the_tool_ignores(text: str) -> None:
    found = parse_cluster_file(text.encode())
    assert found.ignored and found.problems[0].message
