"""From a point to the environment and script of its launcher, by the repository's own workflows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reviewbot.bench.profiles import PROFILE_PATH
from reviewbot.bench.repository import Bench

SINGLE = """
on:
  workflow_call:
    inputs:
      runner: {required: true, type: string}
      tp: {required: true, type: string}
      pp: {required: false, type: string, default: '1'}
      isl: {required: true, type: string}
      conc: {required: true, type: string}
      dp-attn: {required: true, type: boolean}
      run-eval: {type: boolean, default: false}
      eval-only: {type: boolean, default: false}
      scenario-type: {type: string, default: 'fixed-seq-len'}
      router: {type: string}
      hardware: {type: string, default: ""}
      recipe-fingerprint: {type: string, default: ''}
      limit: {type: number, default: 5}
      ratio: {type: string, default: '0.8'}
      fast: {type: boolean, default: false}
env:
  RATIO: 0.8
  PADDED: '0.10'
  TOKEN: ${{ secrets.TOKEN }}
  LABEL: x-${{ vars.SOMETHING }}
  TP: ${{ inputs.tp }}
  PP: ${{ inputs.pp }}
  ISL: ${{ inputs.isl }}
  CONC: ${{ inputs.conc }}
  DP: ${{ inputs.dp-attn }}
  RUN_EVAL: ${{ inputs.run-eval }}
  EVAL_ONLY: ${{ inputs.eval-only }}
  FAST: ${{ inputs.fast && '1' || '0' }}
  IS_AGENTIC: ${{ inputs.scenario-type == 'agentic-coding' && '1' || '0' }}
  ROUTER: ${{ inputs.router }}
  HARDWARE: ${{ inputs.hardware }}
  LIMIT: ${{ inputs.limit }}
  PRINT: ${{ inputs.recipe-fingerprint }}
  LEVEL: workflow
jobs:
  benchmark:
    runs-on: ${{ inputs.runner }}
    env:
      LEVEL: job
      SECOND: ${{ env.TP }}-${{ env.LEVEL }}
    steps:
      - run: echo nothing
      - name: Launch
        env:
          RUNNER_NAME: ${{ runner.name }}
          TYPE: ${{ inputs.runner }}
          FILE: a_${{ env.TP }}_${{ join(fromJson('[1,2]'), 'x') }}_${{ runner.name }}
          GITHUB_STEP_SUMMARY: ''
        run: |
          echo "${{ github.run_id }} ${{ inputs.tp }}"
          bash ./runners/launch_${RUNNER_NAME%%_*}.sh
"""
MULTI = """
on:
  workflow_call:
    inputs:
      runner: {type: string}
      conc-list: {type: string}
      settings: {type: string, default: "[]"}
      decode-settings: {type: string, default: "[]"}
      scenario-type: {type: string, default: fixed-seq-len}
      eval-only: {type: boolean, default: false}
      eval-conc: {type: string, default: ''}
jobs:
  benchmark:
    steps:
      - env:
          RUNNER_NAME: ${{ runner.name }}
          CONC_LIST: ${{ join(fromJson(inputs.conc-list), ' ') }}
          EVAL_CONC: ${{ inputs.eval-conc }}
          SCENARIO: ${{ inputs.scenario-type }}
        run: |
          export ${{ join(fromJson(inputs.settings), ' ') }} ${{ join(fromJson(inputs.decode-settings), ' ') }}
          bash ./runners/launch_${RUNNER_NAME%%_*}.sh
"""
SWEEP = """
on:
  push: {branches: [main]}
jobs:
  setup:
    runs-on: ubuntu-latest
  canary:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.select.outputs.canary) }}"}}
    with: {runner: "${{ matrix.config.runner }}", tp: canary}
  single-1k1k:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).single_node['1k1k'] }}"}}
    with: {runner: "${{ matrix.config.runner }}", tp: short}
  single-8k1k:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).single_node['8k1k'] }}"}}
    with: &single-inputs
      runner: ${{ matrix.config.runner }}
      tp: ${{ matrix.config.tp }}
      isl: ${{ matrix.config.isl }}
      conc: ${{ matrix.config.conc }}
      dp-attn: ${{ matrix.config.dp-attn }}
      run-eval: ${{ matrix.config.run-eval }}
      recipe-fingerprint: ${{ matrix.config['recipe-fingerprint'] || '' }}
      router: ${{ matrix.config.router && toJson(matrix.config.router) || '' }}
      hardware: ${{ matrix.config.nothing.at.all }}
      fast: ${{ contains(github.event.pull_request.labels.*.name, 'fast') }}
  single-4k1k:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).single_node['4k1k'] }}"}}
    with: *single-inputs
  agentic:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).single_node['agentic'] }}"}}
    with:
      runner: ${{ matrix.config.runner }}
      tp: ${{ matrix.config.tp }}
      isl: '0'
      conc: ${{ matrix.config.conc }}
      dp-attn: ${{ matrix.config.dp-attn }}
      scenario-type: agentic-coding
  evals:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).evals }}"}}
    with:
      runner: ${{ matrix.config.runner }}
      tp: ${{ matrix.config.tp }}
      isl: ${{ matrix.config.isl }}
      conc: ${{ matrix.config.conc }}
      dp-attn: ${{ matrix.config.dp-attn }}
      run-eval: true
      eval-only: true
  multi:
    uses: ./.github/workflows/multi.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).multi_node['8k1k'] }}"}}
    with:
      runner: ${{ matrix.config.runner }}
      conc-list: ${{ toJson(matrix.config.conc) }}
      settings: ${{ toJson(matrix.config.prefill.additional-settings) }}
      decode-settings: ${{ toJson(matrix.config.decode.additional-settings) }}
  multi-evals:
    uses: ./.github/workflows/multi.yml
    strategy: {matrix: {config: "${{ fromJson(needs.setup.outputs.space).multinode_evals }}"}}
    with:
      runner: ${{ matrix.config.runner }}
      conc-list: ${{ toJson(matrix.config.conc) }}
      settings: ${{ toJson(matrix.config.prefill.additional-settings) }}
      eval-only: true
      eval-conc: ${{ matrix.config['eval-conc'] }}
"""
MANUAL = """
on: {workflow_dispatch: {}}
jobs:
  single:
    uses: ./.github/workflows/single.yml
    strategy: {matrix: {config: "${{ fromJson(needs.jobs.outputs.single) }}"}}
    with: {runner: "${{ matrix.config.runner }}", tp: by hand}
"""
HEAD = "image: i\n  model: m\n  model-prefix: p\n  precision: fp4\n  framework: f\n  runner: {}\n  multinode: {}\n  scenarios:\n"
FIXED = "    fixed-seq-len:\n    - isl: 8192\n      osl: 1024\n      search-space:\n      - "
ROW = "{tp: 8, dp-attn: true, conc-list: [64], router: {name: r, version: '1'}}"
WORKERS = (
    "{conc-list: [8, 32], prefill: {num-worker: 1, tp: 8, ep: 1, dp-attn: false, additional-settings: [CONFIG_FILE=a b.yaml, 'X=$Y']}, "
    "decode: {num-worker: 1, tp: 8, ep: 1, dp-attn: false, additional-settings: [Z=3]}}"
)
FILES = {
    ".github/workflows/single.yml": SINGLE,
    ".github/workflows/multi.yml": MULTI,
    ".github/workflows/sweep.yml": SWEEP,
    ".github/workflows/manual.yml": MANUAL,
}


def single(runner: str = "alpha") -> str:
    return "s:\n  " + HEAD.format(runner, "false") + FIXED + ROW + "\n"


def multi() -> str:
    return "m:\n  " + HEAD.format("alpha-multi", "true") + FIXED + WORKERS + "\n"


def agentic() -> str:
    return (
        "a:\n  "
        + HEAD.format("cluster:alpha-one", "false")
        + "    agentic-coding:\n    - search-space:\n      - {tp: 8, kv-offloading: none, conc-list: [1]}\n"
    )


def test_environment_of_a_single_node_job(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(single(), FILES)
    job = bench.jobs()[0]
    expected = {
        "RATIO": "0.8",
        "PADDED": "0.10",
        "TP": "8",
        "PP": "1",
        "ISL": "8192",
        "CONC": "64",
        "DP": "true",
        "RUN_EVAL": "false",
        "EVAL_ONLY": "false",
        "FAST": "0",
        "IS_AGENTIC": "0",
        "ROUTER": '{\n  "name": "r",\n  "version": "1"\n}',
        "HARDWARE": "",
        "LIMIT": "5",
        "LEVEL": "job",
        "RUNNER_NAME": "alpha-one_00",
        "TYPE": "alpha",
        "FILE": "a_8_1x2_alpha-one_00",
        "GITHUB_STEP_SUMMARY": "",
        "SECOND": "8-job",
    }
    assert {name: job.environment.get(name) for name in expected} == expected
    assert len(job.environment["PRINT"]) == 64
    assert bench.problems == ()


def test_what_cannot_be_known_is_named_and_not_set(bench_of: Callable[..., Bench]) -> None:
    job = bench_of(single(), FILES).jobs()[0]
    assert {"TOKEN", "LABEL", "GITHUB_WORKSPACE", "HOME", "${{ github.run_id }}"} <= job.unknown
    assert not job.unknown & job.environment.keys()
    assert "GITHUB_STEP_SUMMARY" not in job.unknown
    assert job.script.splitlines()[0] == 'echo "${{ github.run_id }} 8"'


def test_sites_of_a_job(bench_of: Callable[..., Bench]) -> None:
    job = bench_of(single(), FILES).jobs()[0]
    lines = SINGLE.lstrip("\n").splitlines()
    assert job.site.path == ".github/workflows/single.yml" and "github.run_id" in lines[job.site.line - 1]
    for name in ("TP", "SECOND", "FILE"):
        assert f"{name}:" in lines[job.environment_sites[name].line - 1]
    assert lines[job.environment_sites["LEVEL"].line - 1].strip() == "LEVEL: job"


def test_one_job_for_each_launcher_of_a_label(bench_of: Callable[..., Bench]) -> None:
    jobs = bench_of(single(), FILES).jobs()
    assert [(job.node, job.launcher) for job in jobs] == [
        ("alpha-one_00", "runners/launch_alpha-one.sh"),
        ("alpha-two_0", "runners/launch_alpha-two.sh"),
    ]
    assert [job.environment["RUNNER_NAME"] for job in jobs] == ["alpha-one_00", "alpha-two_0"]


@pytest.mark.parametrize(
    ("runner", "node", "known"), [("alpha-two_0", "alpha-two_0", True), ("beta", "beta_0", False), ("cluster:gamma", "gamma_0", False)]
)
def test_runners_that_are_no_label(bench_of: Callable[..., Bench], runner: str, node: str, known: bool) -> None:
    bench = bench_of(single(runner), FILES)
    (job,) = bench.jobs()
    assert (job.node, job.launcher) == (node, f"runners/launch_{node.partition('_')[0]}.sh")
    assert [(problem.code, problem.runner_known) for problem in bench.problems] == ([] if known else [("unknown-runner", False)])
    assert bench.knows_runner(runner) is known


def test_the_caller_fits_the_point(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(single() + agentic() + multi(), FILES)
    jobs = {job.point.key: job for job in bench.jobs()}
    assert jobs["s"].environment["TP"] == "8"  # neither the canary's, nor 1k1k's, nor the one started by hand
    assert (jobs["a"].environment["IS_AGENTIC"], jobs["a"].environment["ISL"]) == ("1", "0")
    assert jobs["m"].environment["CONC_LIST"] == "8 32"
    assert not any(job.eval_only for job in jobs.values())


def test_inputs_shared_by_an_anchor(bench_of: Callable[..., Bench]) -> None:
    (job, _) = bench_of(single().replace("isl: 8192", "isl: 4096"), FILES).jobs()
    assert (job.environment["TP"], job.environment["ISL"]) == ("8", "4096")


def test_settings_are_joined_unquoted_into_the_script(bench_of: Callable[..., Bench]) -> None:
    (job,) = bench_of(multi(), FILES).jobs()
    assert job.script.splitlines()[0] == "export CONFIG_FILE=a b.yaml X=$Y Z=3"


def test_missing_settings_give_nothing(bench_of: Callable[..., Bench]) -> None:
    text = multi().replace(", additional-settings: [CONFIG_FILE=a b.yaml, 'X=$Y']", "").replace(", additional-settings: [Z=3]", "")
    (job,) = bench_of(text, FILES).jobs()
    assert job.script.splitlines()[0] == "export  "


def test_eval_jobs(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(single() + multi(), FILES)
    found = bench.jobs(eval_only=True)
    assert [(job.point.key, job.eval_only) for job in found] == [("s", True), ("s", True), ("m", True)]
    assert (found[0].environment["EVAL_ONLY"], found[0].environment["RUN_EVAL"], found[0].environment["PRINT"]) == ("true", "true", "")
    assert found[2].environment["EVAL_CONC"] == "32"


def test_evals_stay_in_the_job_where_there_is_no_other(bench_of: Callable[..., Bench]) -> None:
    sweep = SWEEP[: SWEEP.index("  evals:")]
    bench = bench_of(single(), {**FILES, ".github/workflows/sweep.yml": sweep})
    assert bench.jobs()[0].environment["RUN_EVAL"] == "true"
    assert bench.jobs(eval_only=True) == ()


def test_points_that_no_workflow_runs(bench_of: Callable[..., Bench]) -> None:
    sweep = SWEEP[: SWEEP.index("  multi:")]
    bench = bench_of(single() + multi(), {**FILES, ".github/workflows/sweep.yml": sweep})
    assert {job.point.key for job in bench.jobs()} == {"s"}
    assert [(problem.code, problem.key) for problem in bench.problems] == [("no-caller", "m")]


def test_expressions_that_github_refuses_are_unknown(bench_of: Callable[..., Bench]) -> None:
    template = SINGLE.replace("${{ inputs.tp }}\n  PP", "${{ inputs.tp +* }}\n  PP").replace("fromJson('[1,2]')", "fromJson('[1,')")
    job = bench_of(single(), {**FILES, ".github/workflows/single.yml": template}).jobs()[0]
    assert {"TP", "FILE"} <= job.unknown


@pytest.mark.parametrize(
    "text", ["", "[]", "jobs: 3", "on: push\njobs: {a: {uses: ./.github/workflows/single.yml, with: 3}}", "jobs: {a: {steps: 3}}", "{"]
)
def test_hostile_workflows_never_raise(bench_of: Callable[..., Bench], text: str) -> None:
    bench = bench_of(single(), {**FILES, ".github/workflows/bad.yml": text + "\n# runners/launch_ ./.github/workflows/"})
    assert bench.jobs()


def test_built_in_profile_without_workflows(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(single() + agentic() + multi())
    jobs = {job.point.key: job for job in bench.jobs()}
    assert jobs["s"].site.path == PROFILE_PATH
    assert {name: jobs["s"].environment[name] for name in ("TP", "CONC", "ISL", "MAX_MODEL_LEN", "DP_ATTENTION", "SCENARIO_SUBDIR")} == {
        "TP": "8",
        "CONC": "64",
        "ISL": "8192",
        "MAX_MODEL_LEN": "9472",
        "DP_ATTENTION": "true",
        "SCENARIO_SUBDIR": "fixed_seq_len/",
    }
    agent = jobs["a"].environment
    assert (agent["ISL"], agent["OSL"], agent["MAX_MODEL_LEN"], agent["IS_AGENTIC"], agent["RESULT_DIR"]) == (
        "0",
        "0",
        "0",
        "1",
        "/workspace/results",
    )
    assert jobs["m"].environment["CONC_LIST"] == "8 32" and "CONFIG_FILE=a b.yaml X=$Y Z=3" in jobs["m"].script
    evaluation = next(job for job in bench.jobs(eval_only=True) if job.point.key == "m")
    assert (evaluation.environment["EVAL_ONLY"], evaluation.environment["EVAL_CONC"]) == ("true", "32")
    assert "HF_TOKEN" in jobs["s"].unknown


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("bash ./runners/launch_${RUNNER_NAME%%_*}.sh", "runners/launch_alpha-one.sh"),
        ("bash runners/launch_${RUNNER_NAME%_*}.sh", "runners/launch_alpha-one.sh"),
        ("bash ./runners/launch_$RUNNER_NAME.sh", "runners/launch_alpha-one_00.sh"),
        ("bash './runners/launch_${RUNNER_NAME##*-}.sh' x", "runners/launch_one_00.sh"),
        ("bash ./sub/runners/launch_${RUNNER_NAME#*-}.sh; true", "sub/runners/launch_one_00.sh"),
        ("bash ./runners/launch_fixed.sh", "runners/launch_fixed.sh"),
    ],
)
def test_launcher_of_a_command(bench_of: Callable[..., Bench], command: str, launcher: str) -> None:
    template = SINGLE.replace("bash ./runners/launch_${RUNNER_NAME%%_*}.sh", command)
    assert bench_of(single(), {**FILES, ".github/workflows/single.yml": template}).jobs()[0].launcher == launcher
