from __future__ import annotations

from pathlib import Path

import pytest

from reviewbot.documents.positions import Site
from tests.runs.repositories import LAUNCHER, RECIPES, SINGLE, runs, submitted

RECIPE_PATH = f"{RECIPES}/toy.yaml"
LAUNCHER_PATH = "runners/launch_lab.sh"


def test_a_recipe_becomes_a_server(tmp_path: Path):
    run = submitted(tmp_path)
    assert (run.outcome, run.recipe_path, run.recipe_argument) == ("submit", RECIPE_PATH, "recipes/toy.yaml")
    (server,) = run.servers
    assert (server.role, server.engine, server.gpus, server.nodes, server.workers) == ("agg", "vllm", 8, 1, 1)
    assert {name: setting.value for name, setting in server.flags.items()} == {
        "tensor-parallel-size": "8", "enable-expert-parallel": "true", "max-num-seqs": "512",
    }  # fmt: skip
    assert {name: setting.value for name, setting in server.env.items()} == {"LEVEL": "global", "OTHER": "1"}
    assert run.image is not None and run.image.value == "vllm/vllm-openai:v1"
    assert run.extra["checkout.0"].value == "https://github.com/NVIDIA/srt-slurm.git@HEAD"


def test_an_edit_is_a_layer(tmp_path: Path):
    run = submitted(tmp_path, 'sed -i "s/max-num-seqs: 512/max-num-seqs: 64/" "$CONFIG_FILE"')
    setting = run.servers[0].flags["max-num-seqs"]
    assert setting.value == "64"
    assert [(layer.site, layer.operation, layer.value) for layer in setting.layers] == [
        (Site(RECIPE_PATH, 16), "recipe", "max-num-seqs: 512"),
        (Site(LAUNCHER_PATH, 7), "edit", "max-num-seqs: 64"),
    ]


@pytest.mark.parametrize(
    ("edit", "values", "unknown"),
    [
        ('if probe; then sed -i "s/seqs: 512/seqs: 64/" "$CONFIG_FILE"; fi', {"64", "512"}, False),
        ('sed -i "s/seqs: 512/seqs: $(probe)/" "$CONFIG_FILE"', None, True),
    ],
)
def test_what_cannot_be_decided_is_one_of_several_or_unknown(tmp_path: Path, edit: str, values: set[str] | None, unknown: bool):
    run = submitted(tmp_path, edit)
    setting = run.servers[0].flags["max-num-seqs"] if run.servers else None
    assert setting is None or setting.value is None
    if values is not None:
        assert setting is not None and set(setting.values) == values and setting.unknown is unknown


def test_an_opaque_helper_touches_its_keys_only(tmp_path: Path):
    edit = 'python3 "$GITHUB_WORKSPACE/utils/rewrite.py" "$CONFIG_FILE"'
    files = {"utils/rewrite.py": "print()\n"}
    known = submitted(tmp_path / "a", edit, files=files, opaque_helpers={"utils/rewrite.py": ("max-*",)})
    assert known.servers[0].flags["max-num-seqs"].unknown
    assert known.servers[0].flags["tensor-parallel-size"].value == "8"
    nothing = submitted(tmp_path / "b", edit, files=files, opaque_helpers={"utils/rewrite.py": ()})
    assert nothing.servers[0].flags["max-num-seqs"].value == "512"


def test_the_model_is_what_the_cluster_file_says(tmp_path: Path):
    run = submitted(tmp_path, "printf 'model_paths:\\n  toy-7b: /lab/models/toy\\n' > srtslurm.yaml")
    assert run.model_path is not None and run.model_path.value == "/lab/models/toy"


@pytest.mark.parametrize(
    ("launcher", "outcome", "message"),
    [
        ("echo no such model >&2\nexit 1\n", "refused", "no such model"),
        ("echo hi\n", "refused", "it ends without starting anything"),
        ("while true; do x=$((x + 1)); done\n", "unknown", "more than 2000 iterations"),
        ("cat <<EOF\n", "unknown", "never ended"),
        ("f() { f; }\nf\n", "unknown", "nested deeper"),
    ],
)
def test_outcomes(tmp_path: Path, launcher: str, outcome: str, message: str):
    (run,) = runs(tmp_path, launcher)
    assert run.outcome == outcome
    assert message in run.message
    assert run.missing is None


@pytest.mark.parametrize(
    ("launcher", "master", "missing"),
    [
        (LAUNCHER.replace("EDIT", "").replace('"$CONFIG_FILE"', "recipes/gone.yaml"), None, "recipes/gone.yaml"),
        (LAUNCHER.replace("EDIT", "sed -i s/a/b/ recipes/gone.yaml"), None, "recipes/gone.yaml"),
        ("bash benchmarks/gone.sh\n", SINGLE, "benchmarks/gone.sh"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, launcher: str, master: str | None, missing: str):
    (run,) = runs(tmp_path, launcher, **({"master": master} if master else {}))
    assert run.outcome == "refused"
    assert run.missing is not None and run.missing.path.endswith(missing)


def test_an_unreadable_launcher_is_not_a_refusal(tmp_path: Path):
    (run,) = runs(tmp_path, "echo hi\n" * 700_000)
    assert (run.outcome, run.message) == ("unknown", f"{LAUNCHER_PATH} cannot be read")


def test_a_script_becomes_server_and_client(tmp_path: Path):
    bench = (
        "export LEVEL=3\n"
        'env OTHER=1 vllm serve "$MODEL" --tensor-parallel-size "$TP" --max-num-seqs 4 --max-num-seqs "$CONC" &\n'
        'vllm bench serve --max-concurrency "$CONC"\n'
    )
    launcher = 'srun --container-image="$IMAGE" --container-mounts="$GITHUB_WORKSPACE:/w" --container-workdir=/w bash benchmarks/toy.sh\n'
    (run,) = runs(tmp_path, launcher, SINGLE, {"benchmarks/toy.sh": bench})
    assert (run.outcome, run.script) == ("script", "benchmarks/toy.sh")
    assert run.image is not None and run.image.value == "vllm/vllm-openai:v1"
    (server,) = run.servers
    assert server.site == Site("benchmarks/toy.sh", 2)
    assert {name: server.flags[name].value for name in ("model", "tensor-parallel-size", "max-num-seqs")} == {
        "model": "toylab/Toy-7B", "tensor-parallel-size": "2", "max-num-seqs": "8",
    }  # fmt: skip
    assert [layer.value for layer in server.flags["max-num-seqs"].layers] == ["4", "8"]
    assert (server.env["LEVEL"].value, server.env["OTHER"].value) == ("3", "1")
    (client,) = run.clients
    assert (client.program, client.flags["max-concurrency"].value) == ("vllm bench serve", "8")


def test_an_engine_file_wins_over_the_command_line(tmp_path: Path):
    bench = (
        "cat > extra.yaml <<EOF\nmax_batch_size: 64\nkv_cache_config:\n  free_gpu_memory_fraction: 0.8\nEOF\n"
        'trtllm-serve "$MODEL" --max_batch_size 8 --config extra.yaml\n'
    )
    (run,) = runs(tmp_path, "bash benchmarks/toy.sh\n", SINGLE, {"benchmarks/toy.sh": bench})
    flags = run.servers[0].flags
    assert flags["max-batch-size"].value == "64"
    assert flags["kv-cache-config.free_gpu_memory_fraction"].value == "0.8"


def test_the_digest_knows_no_lines(tmp_path: Path):
    one = submitted(tmp_path / "a")
    moved = submitted(tmp_path / "b", "# a comment\n# another")
    other = submitted(tmp_path / "c", 'sed -i "s/512/64/" "$CONFIG_FILE"')
    assert one.digest == moved.digest != other.digest


def test_an_upstream_clone_shows_its_files(tmp_path: Path):
    launcher = LAUNCHER.replace("EDIT", "").replace("rm -rf recipes\n", "").replace('"$CONFIG_FILE"', "recipes/upstream.yaml")
    (run,) = runs(tmp_path, launcher)
    assert (run.outcome, run.text) == ("submit", None)
