"""Impact on the demo: what changes, in which value, because of which line."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.change.conftest import H100, MASTER, RECIPE, Repository, keys, value

SCHEMA = Path(__file__).parents[2] / "schemas" / "impact-report.schema.json"
SGLANG = "toy-fp8-h100-dynamo-sglang"


def test_nothing_changes(repository: Repository):
    repository.append(H100, "\n# a remark\n")
    repository.append("README.md", "more\n")
    report = repository.impact()
    assert (report["added"], report["removed"], report["changed"]) == ([], [], [])
    assert report["unchanged"] > 10
    assert repository.run("impact", "--base", repository.base).startswith("No point changes: all ")


def test_a_restructured_condition_changes_nothing(repository: Repository):
    repository.replace(
        H100, 'if [[ "${IS_MULTINODE:-false}" == "true" ]]; then', 'multi=${IS_MULTINODE:-false}\nif [ "$multi" = true ]; then'
    )
    report = repository.impact()
    assert report["changed"] == []


def test_a_narrowed_condition_refuses_one_key(repository: Repository):
    repository.replace(H100, "        dynamo-sglang | dynamo-vllm) ;;", "        dynamo-sglang) ;;")
    report = repository.impact()
    assert keys(report) == {"toy-fp8-h100-dynamo-vllm"}
    outcome = value(report, "outcome")
    assert (outcome["base"], outcome["head"], outcome["proven"]) == ("submit", "refused", True)
    assert value(report, "message")["head"] == "h100-lab cannot run dynamo-vllm"
    assert {one["name"] for point in report["changed"] for one in point["values"]} == {"outcome", "message"}


def test_a_checkout_changes_for_one_framework_only(repository: Repository):
    repository.replace(
        H100,
        "    git checkout v1.0.68\n",
        "    if [[ $FRAMEWORK == dynamo-vllm ]]; then\n        git checkout v1.0.67\n    else\n        git checkout v1.0.68\n    fi\n",
    )
    report = repository.impact()
    assert keys(report) == {"toy-fp8-h100-dynamo-vllm"}
    checkout = value(report, "checkout.1")
    assert checkout["head"].endswith("@v1.0.67")
    assert checkout["because"] == {"path": H100, "line": repository.line(H100, "v1.0.67"), "side": "head"}


def test_the_condition_is_the_cause_where_the_value_was_there_before(repository: Repository):
    old = "    if [[ $FRAMEWORK == dynamo-vllm ]]; then\n        git checkout v1.0.67\n    else\n        git checkout v1.0.68\n    fi\n"
    repository.replace(H100, "    git checkout v1.0.68\n", old)
    repository.base = repository.commit("two versions")
    repository.replace(H100, "if [[ $FRAMEWORK == dynamo-vllm ]]", "if [[ $FRAMEWORK == dynamo-v1 ]]")
    report = repository.impact()
    assert keys(report) == {"toy-fp8-h100-dynamo-vllm"}
    assert value(report, "checkout.1")["because"]["line"] == repository.line(H100, "dynamo-v1 ]]")


def test_a_recipe_value_changes_with_its_line(repository: Repository):
    old = "disaggregation-mode: prefill\n      mem-fraction-static: 0.85"
    repository.replace(RECIPE, old, old.replace("0.85", "0.9"))
    report = repository.impact()
    assert keys(report) == {SGLANG}
    assert len(report["changed"]) == 1
    flag = value(report, "prefill.flag.mem-fraction-static")
    assert (flag["base"], flag["head"]) == ("0.85", "0.9")
    assert flag["because"] == {"path": RECIPE, "line": repository.line(RECIPE, "static: 0.9"), "side": "head"}


def test_a_comment_in_a_recipe_changes_nothing(repository: Repository):
    text = (repository.root / RECIPE).read_text("utf-8")
    (repository.root / RECIPE).write_text("# a remark\n" + text, "utf-8")
    assert repository.impact()["changed"] == []


def test_a_deleted_edit_is_caused_by_the_deletion(repository: Repository):
    gone = r'''    sed -i "s/^\( *max_attempts:\).*/\1 120/" "$CONFIG_FILE"''' + "\n"
    repository.replace(H100, gone, "")
    report = repository.impact()
    attempts = value(report, "recipe.health_check.max_attempts")
    assert attempts["base"] == "120"
    assert attempts["because"]["side"] == "base"
    assert attempts["because"]["path"] == H100


def test_an_image_of_a_master_changes(repository: Repository):
    repository.replace(
        MASTER,
        "toy-fp8-h100-dynamo-vllm:\n  image: vllm/vllm-openai:v0.11.0",
        "toy-fp8-h100-dynamo-vllm:\n  image: vllm/vllm-openai:v0.12.0",
    )
    report = repository.impact()
    assert keys(report) == {"toy-fp8-h100-dynamo-vllm"}
    because = value(report, "cluster.containers.vllm/vllm-openai:v0.12.0")["because"]
    assert because["path"] == MASTER
    assert because["line"] == repository.line(MASTER, "v0.12.0")


def test_flags_of_a_bench_script(repository: Repository):
    script = "benchmarks/single_node/fixed_seq_len/toy_fp8_h100_vllm.sh"
    repository.replace(script, "--max-model-len", "--enforce-eager --max-model-len")
    report = repository.impact()
    assert keys(report) == {"toy-fp8-h100-vllm"}
    flag = value(report, "agg.flag.enforce-eager")
    assert (flag["base"], flag["head"]) == (None, "true")
    assert flag["because"]["path"] == script


def test_points_come_and_go(repository: Repository):
    repository.replace(MASTER, "      - { tp: 2, conc-list: [32, 64] }", "      - { tp: 2, conc-list: [64, 128] }")
    report = repository.impact()
    assert [name.split("[")[0] for name in report["added"]] == ["toy-fp8-h100-vllm"]
    assert "conc128" in report["added"][0]
    assert "conc32" in report["removed"][0]
    assert report["changed"] == []


def test_a_renamed_key_moves_its_points(repository: Repository):
    repository.replace(MASTER, "\nmini-fp8-h200-sglang:\n", "\nmini-fp8-h200-sglang-first:\n")
    report = repository.impact()
    assert (report["added"], report["removed"]) == ([], [])
    assert {one["head"].split("[")[0] for one in report["moved"]} == {"mini-fp8-h200-sglang-first"}


def test_what_is_not_evaluated_cannot_be_proven_equal(repository: Repository):
    helper = "benchmarks/setup_node.sh"
    (repository.root / helper).write_text("echo one\n", "utf-8")
    text = (repository.root / RECIPE).read_text("utf-8")
    (repository.root / RECIPE).write_text(text + "setup_script: setup_node.sh\n", "utf-8")
    repository.base = repository.commit("a setup script")
    (repository.root / helper).write_text("echo two\n", "utf-8")
    report = repository.impact()
    assert [point["proven"] for point in report["changed"]] == [False]
    unseen = value(report, f"file.{helper}")
    assert unseen["proven"] is False
    assert unseen["because"] == {"path": helper, "line": 1, "side": "head"}
    assert "cannot be proven equal" in repository.run("impact", "--base", repository.base)


def test_keys_narrow_the_comparison(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    report = repository.impact("toy-fp8-h100-dynamo-vllm")
    assert keys(report) == {"toy-fp8-h100-dynamo-vllm"}
    assert "the nearest is toy-fp8-h100-dynamo-vllm" in repository.run(
        "impact", "toy-fp8-h100-dynamo-vlm", "--base", repository.base, status=2
    )


def test_commits_are_compared_like_the_working_tree(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    in_the_tree = repository.impact()
    head = repository.commit()
    assert repository.impact("--head", head) == in_the_tree


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_formats_name_key_value_and_cause(repository: Repository, form: str):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    out = repository.run("impact", "--base", repository.base, "--format", form)
    place = f"{H100}:{repository.line(H100, 'v1.0.67')}"
    assert SGLANG in out
    assert place in out
    assert "checkout.1" in out


def test_json_fits_its_schema(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    repository.replace(MASTER, "      - { tp: 2, conc-list: [32, 64] }", "      - { tp: 2, conc-list: [64, 128] }")
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(repository.impact("--hunks"))


def test_hunks_tell_who_reaches_them(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    hunks = repository.impact("--hunks")["hunks"]
    assert len(hunks) == 1
    assert {name.split("[")[0] for name in hunks[0]["head"]} == {SGLANG, "toy-fp8-h100-dynamo-vllm"}
    assert hunks[0]["base"] == hunks[0]["head"]


def test_the_summary_of_a_review_has_the_table(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    repository.commit()
    out = repository.run("review", "--dry-run", "--base", repository.base, "--format", "json", "--fail-on", "never")
    summary = json.loads(out)["summary"]
    assert "#### Impact" in summary
    assert "| `checkout.1` |" in summary
    assert f"{H100}:" in summary


def test_the_summary_of_a_review_is_silent_where_nothing_changes(repository: Repository):
    repository.append("README.md", "more\n")
    repository.commit()
    out = repository.run("review", "--dry-run", "--base", repository.base, "--format", "json", "--fail-on", "never")
    assert "Impact" not in json.loads(out)["summary"]
