from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.documents.nodes import plain
from reviewbot.documents.positions import Site
from reviewbot.documents.workflow import RunText, Workflow, parse_workflow

TEXT = """\
name: Bench
on:
  workflow_call:
    inputs:
      tp:
        required: true
        type: string
      fast: {type: boolean, default: false}
      ratio:
        type: number
        default: 0.80
      version:
        default: 3.10
      plain:
  workflow_dispatch:
    inputs:
      mode:
        type: choice
        options: [a, b]
        default: a
env:
  RATIO: 0.80
  ON: on
  FLAG: true
  EMPTY:
  NUMBER: 010
defaults:
  run: {shell: bash}
jobs:
  plan:
    runs-on: ubuntu-latest
    outputs:
      rows: ${{ steps.x.outputs.rows }}
    steps:
      - id: x
        run: echo one
  sweep:
    needs: [plan]
    if: always() && needs.plan.result == 'success'
    strategy:
      fail-fast: false
      matrix:
        config: ${{ fromJSON(needs.plan.outputs.rows) }}
    uses: ./.github/workflows/template.yml
    with:
      tp: ${{ matrix.config.tp }}
    secrets: inherit
  last:
    needs: sweep
    runs-on: [self-hosted, "${{ inputs.runner }}"]
    env:
      JOB: "1"
    defaults: {run: {working-directory: sub}}
    steps:
      - uses: actions/checkout@v4
        with:
          ref: main
      - name: Run
        env:
          STEP: x  # comment
        shell: sh
        working-directory: dir
        continue-on-error: true
        run: |

          set -e
            indented

          last
"""


def runs(workflow: Workflow) -> list[RunText]:
    return [step.run for job in workflow.jobs.values() for step in job.steps if step.run is not None]


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(TEXT.split("\n"), 1) if line.strip().startswith(text))


def test_a_workflow() -> None:
    workflow = parse_workflow(TEXT.encode(), "w.yml")
    assert workflow.problems == ()
    assert workflow.name == "Bench" and workflow.triggers == ("workflow_call", "workflow_dispatch") and workflow.shell == "bash"
    assert {
        name: (one.type, one.required, one.has_default, one.default, one.value_without_argument) for name, one in workflow.inputs.items()
    } == {
        "tp": ("string", True, False, None, ""),
        "fast": ("boolean", False, True, False, False),
        "ratio": ("number", False, True, 0.8, 0.8),
        "version": ("string", False, True, "3.1", "3.1"),
        "plain": ("string", False, False, None, ""),
    }
    assert workflow.inputs["tp"].site == Site("w.yml", line_of("tp:"))
    assert workflow.dispatch_inputs["mode"].options == ("a", "b")
    assert {name: setting.text for name, setting in workflow.env.items()} == {
        "RATIO": "0.8",
        "ON": "on",
        "FLAG": "true",
        "EMPTY": "",
        "NUMBER": "10",
    }
    assert workflow.env["FLAG"].site.line == line_of("FLAG:")
    plan, sweep, last = workflow.jobs.values()
    assert plan.outputs["rows"].text == "${{ steps.x.outputs.rows }}" and plan.steps[0].id == "x" and plan.needs == ()
    assert sweep.needs == ("plan",) and last.needs == ("sweep",)
    assert sweep.condition == "always() && needs.plan.result == 'success'"
    assert plain(sweep.matrix) == {"config": "${{ fromJSON(needs.plan.outputs.rows) }}"}
    assert sweep.uses == "./.github/workflows/template.yml" and sweep.arguments["tp"].text == "${{ matrix.config.tp }}"
    assert plain(sweep.secrets) == "inherit" and sweep.steps == ()
    assert (
        last.working_directory == "sub" and last.env["JOB"].text == "1" and plain(last.runs_on) == ["self-hosted", "${{ inputs.runner }}"]
    )
    checkout, run = last.steps
    assert checkout.uses == "actions/checkout@v4" and checkout.run is None and checkout.arguments["ref"].text == "main"
    assert (run.name, run.shell, run.working_directory, run.continue_on_error) == ("Run", "sh", "dir", "true")
    assert run.env["STEP"].text == "x" and run.site == Site("w.yml", line_of("- name: Run"))


def test_every_line_of_a_literal_script_knows_its_place() -> None:
    workflow = parse_workflow(TEXT.encode(), "w.yml")
    run = runs(workflow)[-1]
    assert run.text == "\nset -e\n  indented\n\nlast\n"
    first = line_of("set -e")
    assert run.lines == (first - 1, first, first + 1, first + 2, first + 3)
    assert run.columns == (1, 11, 11, 1, 11)
    lines = TEXT.split("\n")
    for number, (line, column, text) in enumerate(zip(run.lines, run.columns, run.text.split("\n")), 1):
        assert lines[line - 1][column - 1 :] == text
        assert run.line(number) == line
    assert run.line(99) == first + 3 and run.line(0) == first - 1


def test_scripts_in_other_styles() -> None:
    text = (
        "on: push\njobs:\n  a:\n    steps:\n      - run: echo one\n      - run: >-\n          first\n          joined\n\n          second\n"
        "            more\n          third\n      - run: 'it''s\n          folded\n\n          next'\n      - run: \"x \\\n          y\"\n"
        "      - run: plain\n          goes on\n      - run: |2-\n            deep\n      - run: 5\n      - run: ''\n      - run: [no]\n"
    )
    got = [(run.text, run.lines) for run in runs(parse_workflow(text.encode()))]
    assert got == [
        ("echo one", (5,)),
        ("first joined\nsecond\n  more\nthird", (7, 10, 11, 12)),
        ("it's folded\nnext", (13, 16)),
        ("x y", (17,)),
        ("plain goes on", (19,)),
        ("  deep", (22,)),
        ("5", (23,)),
        ("", ()),
    ]


def test_carriage_returns() -> None:
    text = "on: push\r\njobs:\r\n  a:\r\n    steps:\r\n    - run: |\r\n        one\r\n        two\r\n"
    (run,) = runs(parse_workflow(text.encode()))
    assert (run.text, run.lines, run.columns) == ("one\ntwo\n", (6, 7), (9, 9))


def test_shapes_that_are_no_workflow() -> None:
    for text, count in (
        ("", 1),
        ("- a\n", 1),
        ("jobs: [a]\n", 1),
        ("jobs:\n  a: 1\n  b:\n    steps: [x, {run: y}]\n", 2),
        ("on: [push]\njobs: {a: {steps: 1}}\n", 0),
    ):
        workflow = parse_workflow(text.encode())
        assert [problem.code for problem in workflow.problems] == ["workflow-shape"] * count, text
    assert parse_workflow(b"a: 'x").problems[0].code == "yaml-syntax"
    assert parse_workflow(b"on: push\n").triggers == ("push",)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 30), st.text(":-[]{}'\"|>\n #!&*ab", max_size=5))
def test_mutated_workflows_never_raise(start: int, length: int, inserted: str) -> None:
    workflow = parse_workflow((TEXT[:start] + inserted + TEXT[start + length :]).encode())
    for run in runs(workflow):
        assert len(run.lines) == len(run.columns)
        assert all(1 <= line <= len(workflow.document.lines) for line in run.lines)
