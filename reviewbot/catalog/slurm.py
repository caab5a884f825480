"""Environment variables that Slurm's commands take as defaults of their options, as their manuals of release 24.11 list them."""

from __future__ import annotations

_COMMON = ["ACCOUNT", "ACCTG_FREQ", "BURST_BUFFER", "CLUSTERS", "CONSTRAINT", "CONTAINER", "CONTAINER_ID", "CORE_SPEC", "CPUS_PER_GPU", "DEBUG", "DELAY_BOOT", "EXCLUSIVE", "GPU_BIND", "GPU_FREQ", "GPUS", "GPUS_PER_NODE", "GPUS_PER_TASK", "GRES", "GRES_FLAGS", "HINT", "IMMEDIATE", "JOB_NAME", "MEM_BIND", "MEM_PER_CPU", "MEM_PER_GPU", "MEM_PER_NODE", "NETWORK", "NO_KILL", "OVERCOMMIT", "PARTITION", "POWER", "PROFILE", "QOS", "REQ_SWITCH", "RESERVATION", "SEGMENT_SIZE", "SIGNAL", "SPREAD_JOB", "STEPMGR", "THREAD_SPEC", "THREADS_PER_CORE", "TIMELIMIT", "TRES_BIND", "TRES_PER_TASK", "USE_MIN_NODES", "WAIT4SWITCH", "WAIT_ALL_NODES", "WCKEY"]
_OWN = {
    "SALLOC_": ["BELL", "KILL_CMD", "NO_BELL", "NO_SHELL"],
    "SBATCH_": ["ARRAY_INX", "BATCH", "COMMENT", "CPU_FREQ_REQ", "DISTRIBUTION", "ERROR", "EXPORT", "GET_USER_ENV", "IGNORE_PBS", "INPUT", "NO_REQUEUE", "OPEN_MODE", "OUTPUT", "QUIET", "REQUEUE", "WAIT", "CLUSTER"],
}


def reads(name: str) -> bool | None:
    """Whether ``salloc`` or ``sbatch`` reads a variable; ``None`` where the name is of neither."""
    for prefix, own in _OWN.items():
        if name.startswith(prefix):
            return name[len(prefix) :] in _COMMON or name[len(prefix) :] in own
    return None
