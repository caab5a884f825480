"""The bench as a whole: formats, places, files, runner lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reviewbot.bench.layout import Layout, matches_any, select
from reviewbot.bench.model import Recipe
from reviewbot.bench.policy import CURRENT, EVALS_BY_TOPOLOGY, EVALS_ON_REQUEST, NO_EVALS, read_policy
from reviewbot.bench.repository import Bench, load_bench
from reviewbot.documents.shell_syntax import Script
from reviewbot.settings import Layout as GivenLayout
from reviewbot.settings import Settings
from reviewbot.tree import MemoryTree

MASTER = """\
k:
  image: i
  model: m
  model-prefix: p
  precision: fp4
  framework: f
  runner: alpha
  multinode: false
  scenarios:
    fixed-seq-len:
    - {isl: 1024, osl: 1024, search-space: [{tp: 8, conc-list: [4]}]}
"""
RECIPE = "name: r\nmodel: {path: m, container: c, precision: fp4}\nbackend:\n  type: sglang\nresources:\n  gpu_type: x\n"
VARIED = """\
base:
  name: r
  backend: {type: vllm}
  resources: {gpu_type: x}
override_fast: {name: f}
zip_override_sizes:
  resources: {prefill_nodes: [1, 2, 3], decode_nodes: [1]}
"""


@pytest.mark.parametrize("folder", ["configs", ".github/configs"])
def test_both_places_of_masters(folder: str) -> None:
    tree = MemoryTree({f"{folder}/x-master.yaml": MASTER.encode(), f"{folder}/runners.yaml": b"alpha: [alpha_0]\n"})
    bench = load_bench(tree)
    assert bench.adapter == "inferencex-2026-08"
    assert [point.master for point in bench.points] == [f"{folder}/x-master.yaml"]
    assert [job.node for job in bench.jobs()] == ["alpha_0"] and bench.problems == ()


def test_a_later_format_keeps_its_own_fields_to_itself() -> None:
    text = MASTER.replace("tp: 8", "tp: 8, srt-recipe: a.yaml")
    files = {"configs/x-master.yaml": text.encode()}
    assert "unknown-field" in {problem.code for problem in load_bench(MemoryTree(files)).problems}
    later = load_bench(MemoryTree({**files, "infx/matrix/generate.py": b""}))
    assert len(later.points) == 1 and "unknown-field" not in {problem.code for problem in later.problems}


def test_places_from_settings() -> None:
    files = {"cfg/all.yaml": MASTER.encode(), "cfg/machines.yaml": b"labels: {alpha: [alpha_0]}\n", "run/launch_alpha.sh": b"true\n"}
    assert load_bench(MemoryTree(files)).adapter == "none"
    layout = GivenLayout(masters=("cfg/all.yaml",), runners=("cfg/machines.yaml",), launchers=("run/*.sh",))
    bench = load_bench(MemoryTree(files), Settings(layout=layout))
    assert [point.key for point in bench.points] == ["k"] and bench.runners.nodes("alpha") == ("alpha_0",)
    assert bench.launchers == ("run/launch_alpha.sh",)


def test_settings_can_name_the_adapter() -> None:
    files = {"configs/x-master.yaml": MASTER.encode(), "r/a.yaml": RECIPE.encode()}
    bench = load_bench(MemoryTree(files), Settings(profile="srt-slurm-recipes"))
    assert [point.id for point in bench.points] == ["r/a.yaml"]


def test_a_folder_of_recipes() -> None:
    files = {"b.yaml": VARIED.encode(), "a/r.yaml": RECIPE.encode(), "mkdocs.yml": b"site_name: x\n", ".github/x.yaml": RECIPE.encode()}
    bench = load_bench(MemoryTree(files))
    assert bench.adapter == "srt-slurm-recipes"
    assert [point.id for point in bench.points] == [
        "a/r.yaml",
        "b.yaml:override_fast",
        "b.yaml:zip_override_sizes[0]",
        "b.yaml:zip_override_sizes[1]",
        "b.yaml:zip_override_sizes[2]",
    ]
    assert bench.points[1].site.line == 5 and bench.jobs() == ()


def test_a_variant_that_cannot_be_made_is_a_problem() -> None:
    text = VARIED.replace("[1]", "[1, 2]")
    bench = load_bench(MemoryTree({"a.yaml": text.encode()}))
    assert [point.id for point in bench.points] == ["a.yaml:override_fast"]
    assert [(problem.code, problem.site.path) for problem in bench.problems] == [("variant", "a.yaml")]


def test_an_unknown_format_is_an_empty_bench() -> None:
    bench = load_bench(MemoryTree({"README.md": b"hello\n", "x.sh": b"true\n"}))
    assert (bench.adapter, bench.points, bench.jobs(), bench.problems) == ("none", (), (), ())
    assert bench.scripts == ("x.sh",) and bench.changelog is None


def test_a_broken_master_is_a_problem_with_a_place() -> None:
    bench = load_bench(MemoryTree({"configs/x-master.yaml": b"broken: {\n", "configs/y-master.yaml": MASTER.encode()}))
    assert len(bench.points) == 1
    assert [(problem.code, problem.site.path) for problem in bench.problems] == [("yaml-syntax", "configs/x-master.yaml")]


def test_a_link_that_leaves_the_tree_is_a_problem() -> None:
    tree = MemoryTree({"configs/y-master.yaml": MASTER.encode()}, links={"configs/x-master.yaml": "../../secret.yaml"})
    bench = load_bench(tree)
    assert len(bench.points) == 1 and [problem.code for problem in bench.problems] == ["outside"]


def test_files_are_parsed_once(bench_of: Callable[..., Bench]) -> None:
    recipe = "benchmarks/multi_node/srt-slurm-recipes/a.yaml"
    files = {recipe: RECIPE, "runners/launch_alpha.sh": "echo x\n", "benchmarks/b.sh": "echo y\n"}
    bench = bench_of(MASTER, files)
    assert bench.launchers == ("runners/launch_alpha.sh",) and bench.scripts == ("benchmarks/b.sh", "runners/launch_alpha.sh")
    assert bench.recipe_files == (recipe,)
    (loaded,) = bench.recipes(recipe)
    assert isinstance(loaded, Recipe) and loaded.name is not None and loaded.name.value == "r"
    assert bench.recipes(recipe) is bench.recipes(recipe) and bench.recipes("nowhere.yaml") == ()
    assert bench.yaml_document(recipe) is bench.yaml_document(recipe)
    assert isinstance(bench.shell_script("benchmarks/b.sh"), Script)
    assert bench.yaml_document("nowhere.yaml") is None and bench.problems[-1].code == "missing"


def test_documents_can_be_shared() -> None:
    class Shared:
        def __init__(self, tree: MemoryTree) -> None:
            self.asked: list[str] = []
            self._bench = load_bench(tree)

        def yaml(self, path: str) -> object:
            self.asked.append(path)
            return self._bench.yaml_document(path)

        def shell(self, path: str) -> object:
            return self._bench.shell_script(path)

    tree = MemoryTree({"configs/x-master.yaml": MASTER.encode(), "a.sh": b"true\n"})
    shared = Shared(tree)
    bench = load_bench(tree, documents=shared)
    assert len(bench.points) == 1 and shared.asked == ["configs/x-master.yaml"]
    assert bench.shell_script("a.sh") is not None


def test_jobs_are_made_once(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(MASTER)
    assert bench.jobs_of(bench.points[0]) is bench.jobs_of(bench.points[0])
    assert bench.by_key["k"] == bench.points and bench.by_id[bench.points[0].id] is bench.points[0]


@pytest.mark.parametrize(
    ("text", "codes", "nodes"),
    [
        ("labels: {alpha: [a_0, a_1]}\n", [], ("a_0", "a_1")),
        ("alpha: [a_0]\n", [], ("a_0",)),
        ("labels: {alpha: []}\n", ["wrong-type"], ()),
        ("labels: {alpha: [a_0, 3]}\n", ["wrong-type"], ("a_0",)),
        ("labels: {alpha: [a_0]}\nextra: 1\n", ["unknown-field"], ("a_0",)),
        ("labels: {alpha: [a_0]}\nhardware: {alpha: {gpus-per-node: 0, available-cpu-dram-mib: 5}}\n", ["out-of-range"], ("a_0",)),
        ("labels: {alpha: [a_0]}\nhardware: {alpha: 3}\n", ["wrong-type"], ("a_0",)),
        ("hardware: {}\n", ["missing-field"], ()),
        ("[1]\n", ["wrong-type"], ()),
        ("", ["wrong-type"], ()),
    ],
)
def test_runner_lists(bench_of: Callable[..., Bench], text: str, codes: list[str], nodes: tuple[str, ...]) -> None:
    bench = bench_of(MASTER, {"configs/runners.yaml": text})
    assert [problem.code for problem in bench.problems] == codes
    assert bench.runners.nodes("alpha") == nodes


def test_places_in_the_runner_list(bench_of: Callable[..., Bench]) -> None:
    text = "labels:\n  alpha:\n  - a_0\n  - a_1\nhardware:\n  alpha:\n    gpus-per-node: 4\n    available-cpu-dram-mib: 5\n"
    runners = bench_of(MASTER, {"configs/runners.yaml": text}).runners
    assert runners.labels["alpha"].site.line == 2 and [site.line for site in runners.labels["alpha"].sites] == [3, 4]
    assert (runners.hardware["alpha"].gpus_per_node, runners.hardware["alpha"].site.line) == (4, 6)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("a/*.sh", "a/b.sh", True),
        ("a/*.sh", "a/b/c.sh", False),
        ("**/*.sh", "b.sh", True),
        ("**/*.sh", "a/b/c.sh", True),
        ("a/**", "a/b/c", True),
        ("a/?.sh", "a/b.sh", True),
        ("a/?.sh", "a/bb.sh", False),
        ("a.sh", "axsh", False),
        ("a/**/b.sh", "a/b.sh", True),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    assert matches_any(path, (glob,)) is expected and select([path], (glob,)) == ([path] if expected else [])


def test_no_glob_selects_nothing() -> None:
    assert select(["a"], ()) == [] and Layout().masters == ()


def test_policy_of_a_generator() -> None:
    assert read_policy("") == read_policy("print('hello')") == CURRENT
    source = """
SEARCH_SPACE = 'search-space'
MIN_EVAL_CONC = 32
MAX_MULTINODE_AGENTIC_CONCURRENCIES_PER_ALLOCATION = 4
MAX_AGENTIC_AVAILABLE_CPU_DRAM_MIB = 1_000
names = {"1k8k": (1024, 8192)}
length = isl + osl + 200
Fields.RUN_EVAL; _multinode_parallelism_key; DCP_SIZE
"""
    policy = read_policy(source, "DEFAULT_AGENTIC_DURATION_SECONDS = 60\n")
    assert (policy.min_eval_conc, policy.batch, policy.dram_cap_mib, policy.margin, policy.duration) == (32, 4, 1000, 200, 60)
    assert policy.lengths == {(1024, 8192): "1k8k"} and policy.evals == EVALS_BY_TOPOLOGY and policy.topology
    assert read_policy("SEARCH_SPACE").evals == NO_EVALS
    assert read_policy("SEARCH_SPACE RUN_EVAL '--run-evals'").evals == EVALS_ON_REQUEST


def test_the_generator_decides_the_margin(bench_of: Callable[..., Bench]) -> None:
    source = "SEARCH_SPACE = 1\nlength = isl + osl + 7\nlengths = {'1k1k': (1024, 1024)}\n"
    bench = bench_of(MASTER, {"utils/matrix_logic/generate_sweep_configs.py": source})
    row = bench.points[0].row
    assert row["max-model-len"] == 2055 and "run-eval" not in row and "pp" not in row
