"""The launch contract that holds where a repository has no workflow that launches points: data alone.

It is the contract of InferenceX's reusable workflows in August 2026, written as the expressions that make each value.
"""

from __future__ import annotations

from reviewbot.bench.templates import compile_template
from reviewbot.bench.workflows import Caller, Contract, LaunchTemplate
from reviewbot.documents.positions import Site

PROFILE_PATH = "<profile>"
_SITE = Site(PROFILE_PATH, 1)

_COMMON = {
    "EXP_NAME": "matrix.config.exp-name",
    "MODEL": "matrix.config.model",
    "MODEL_PREFIX": "matrix.config.model-prefix",
    "PRECISION": "matrix.config.precision",
    "FRAMEWORK": "matrix.config.framework",
    "IMAGE": "matrix.config.image",
    "ISL": "matrix.config.isl || '0'",
    "OSL": "matrix.config.osl || '0'",
    "MAX_MODEL_LEN": "matrix.config.max-model-len || '0'",
    "SPEC_DECODING": "matrix.config.spec-decoding",
    "DISAGG": "matrix.config.disagg || 'false'",
    "RUN_EVAL": "matrix.config.run-eval || 'false'",
    "EVAL_ONLY": "matrix.config.eval-only || 'false'",
    "EVAL_LIMIT": "''",
    "SCENARIO_TYPE": "matrix.config.scenario-type || 'fixed-seq-len'",
    "SCENARIO_SUBDIR": "matrix.config.scenario-type == 'agentic-coding' && 'agentic/' || 'fixed_seq_len/'",
    "IS_AGENTIC": "matrix.config.scenario-type == 'agentic-coding' && '1' || '0'",
    "KV_OFFLOADING": "matrix.config.kv-offloading",
    "KV_OFFLOAD_BACKEND": "matrix.config.kv-offload-backend.name",
    "KV_OFFLOAD_BACKEND_METADATA": "matrix.config.kv-offload-backend && toJson(matrix.config.kv-offload-backend) || ''",
    "ROUTER_METADATA": "matrix.config.router && toJson(matrix.config.router) || ''",
    "KV_P2P_TRANSFER": "matrix.config.kv-p2p-transfer",
    "TOTAL_CPU_DRAM_GB": "matrix.config.total-cpu-dram-gb || '0'",
    "DURATION": "matrix.config.duration || '3600'",
    "RANDOM_RANGE_RATIO": "'0.8'",
    "REQUIRE_POWER": "'0'",
    "AIPERF_EXPERIMENTAL_FAST": "'0'",
    "SWEBENCH_USE_MODAL": "'true'",
    "RECIPE_FINGERPRINT": "''",
    "HF_TOKEN": "secrets.HF_TOKEN",
    "PYTHONDONTWRITEBYTECODE": "'1'",
    "RUNNER_NAME": "runner.name",
    "RUNNER_TYPE": "matrix.config.runner",
}
_SINGLE = {
    "HF_HUB_CACHE": "'/mnt/hf_hub_cache/'",
    "TP": "matrix.config.tp",
    "PP_SIZE": "matrix.config.pp || '1'",
    "DCP_SIZE": "matrix.config.dcp-size || '1'",
    "PCP_SIZE": "matrix.config.pcp-size || '1'",
    "EP_SIZE": "matrix.config.ep",
    "DP_ATTENTION": "matrix.config.dp-attn",
    "CONC": "matrix.config.conc",
    "RESULT_DIR": "'/workspace/results'",
    "AIPERF_FAILED_REQUEST_THRESHOLD": "'0.10'",
    "RESULT_FILENAME": "format('{0}_{1}_{2}_tp{3}_conc{4}_{5}', matrix.config.exp-name, matrix.config.precision, "
    "matrix.config.framework, matrix.config.tp, matrix.config.conc, runner.name)",
}
_WORKER = {
    "NUM_WORKERS": "num-worker",
    "TP": "tp",
    "PP_SIZE": "pp",
    "DCP_SIZE": "dcp-size",
    "PCP_SIZE": "pcp-size",
    "EP": "ep",
    "DP_ATTN": "dp-attn",
    "HARDWARE": "hardware",
}
_MULTI = {
    "CONC_LIST": "join(matrix.config.conc, ' ')",
    "CONC": "matrix.config.scenario-type == 'agentic-coding' && matrix.config.conc[0] || ''",
    "EVAL_CONC": "matrix.config.eval-only && matrix.config.eval-conc || ''",
    **{f"{role.upper()}_{name}": f"matrix.config.{role}.{field}" for role in ("prefill", "decode") for name, field in _WORKER.items()},
    "RESULT_FILENAME": "format('{0}_{1}_{2}_conc{3}_{4}', matrix.config.exp-name, matrix.config.precision, matrix.config.framework, "
    "join(matrix.config.conc, 'x'), runner.name)",
}
_SINGLE_SCRIPT = "export GPU_COUNT=$((TP * PP_SIZE * PCP_SIZE))\nbash ./runners/launch_${RUNNER_NAME%%_*}.sh\n"
_MULTI_SCRIPT = (
    "export ${{ join(matrix.config.prefill.additional-settings, ' ') }} ${{ join(matrix.config.decode.additional-settings, ' ') }}\n"
    "export IS_MULTINODE=true\n"
    "bash ./runners/launch_${RUNNER_NAME%%_*}.sh\n"
)


def _template(names: dict[str, str], script: str) -> LaunchTemplate:
    environment = tuple((name, compile_template(f"${{{{ {expression} }}}}"), _SITE) for name, expression in names.items())
    return LaunchTemplate(PROFILE_PATH, {}, environment, compile_template(script), _SITE)


def _callers() -> tuple[Caller, ...]:
    return tuple(
        Caller(PROFILE_PATH, name, _SITE, name, "config", "", multinode, agentic, eval_only, True, {})
        for name, multinode in (("single-node", False), ("multi-node", True))
        for agentic in (False, True)
        for eval_only in (False, True)
    )


PROFILE = Contract(
    _callers(),
    {"single-node": _template({**_COMMON, **_SINGLE}, _SINGLE_SCRIPT), "multi-node": _template({**_COMMON, **_MULTI}, _MULTI_SCRIPT)},
)
