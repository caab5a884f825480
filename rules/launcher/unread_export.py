"""A variable is given to a job and read by nothing

What
A workflow or a launcher sets an environment variable to a constant, and nothing in the repository reads it. One that begins with `SALLOC_`
or `SBATCH_` and is none of the variables that these commands read is a warning; of other names a tool outside the repository may know, so
they are notes. Names that belong to engines and common tools are left alone.

Why
The setting looks as if it had an effect: nodes that were to be left out are not.

Example
    env:
      SALLOC_EXCLUDE: "node-5,node-6"

Instead
    # launcher
    salloc --exclude="$SALLOC_EXCLUDE" ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.catalog import slurm
from reviewbot.documents.positions import Site
from reviewbot.documents.workflow import read_workflow
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import facts_of

RULE = Rule("unread-export", Level.WARNING, frozenset({"documents"}))

_FOREIGN = re.compile(
    r"(?:SLURM|SBATCH|SALLOC|SRUN|SQUEUE|PMIX?|OMPI|ENROOT|PYXIS|DOCKER|NVIDIA|CUDA|NCCL|RCCL|UCX|NVSHMEM|GLOO|TORCH|PYTORCH|TRITON|VLLM|SGLANG|"
    r"SGL|TRTLLM|TLLM|DYN|DYNAMO|FLASHINFER|LMCACHE|MOONCAKE|MC|ATOM|AITER|HSA|HIP|ROCR|ROCM|AMD|MORI|HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|UV|"
    r"PIP|PYTHON\w*|PYTEST|CONDA|VIRTUAL|GIT|GH|GITHUB|ACTIONS|RUNNER|NODE|NPM|BASH|LD|LC|XDG|OMP|MKL|AIPERF|SRT|SRTCTL|ETCD|NATS|MSWEA|MODAL|AWS|"
    r"AZURE|GOOGLE|ANTHROPIC|OPENAI|CLAUDE|DISABLE|WANDB|DEBIAN|CARGO|RUST\w*|SSL|CURL|HTTPS?|OTEL|NEXT|VERCEL|DATABASE)_|"
    r"(?:PATH|HOME|USER|SHELL|TERM|LANG|TZ|TMPDIR|TMP|TEMP|CI|EDITOR|LOG_?LEVEL|NO_COLOR|FORCE_COLOR|CFLAGS|CXXFLAGS|LDFLAGS|MAX_JOBS|PS\d)\Z"
)


def check(context: Context) -> Iterator[Finding]:
    given: dict[str, list[Site]] = {}
    for kind in ("workflow", "launcher"):
        for _, (of, path, name, line) in context.surveyed(RULE):
            if of == kind:
                given.setdefault(name, []).append(Site(path, line))
    names = {name for name in given if re.match(r"[A-Z][A-Z0-9_]*\Z", name)}
    unread = _unread(context, {name for name in names if slurm.reads(name) is False or not _FOREIGN.match(name)}, given)
    for name in sorted(unread):
        site, *others = dict.fromkeys(given[name])
        known = slurm.reads(name) is False
        command = name.partition("_")[0].lower()
        yield context.finding(
            RULE,
            f"`{name}` is set here and nothing in the repository reads it" + (f", nor does `{command}`" if known else ""),
            site,
            help=f"pass it to `{command}` as an option, or take it out" if known else "take it out, or read it",
            related=[(other, "set here too") for other in others[:3]],
            structure=name,
            subject=name,
            level=None if known else Level.NOTE,
        )


def survey(context: Context) -> Iterator[object]:
    """What a workflow or a launcher gives to programs: the kind of document, path, name, line."""
    for path in context.documents.paths("workflow"):
        workflow = read_workflow(context.documents.yaml(path))
        jobs = workflow.jobs.values()
        for settings in (workflow.env, *(job.env for job in jobs), *(step.env for job in jobs for step in job.steps)):
            for name, setting in settings.items():
                if "${{" not in setting.text:  # what is handed on is for whoever wants it
                    yield ["workflow", setting.site.path, name, setting.site.line]
    for path in context.documents.paths("launcher"):
        for one in facts_of(context.documents.shell(path)).assigned:
            if one.exported:
                yield ["launcher", path, one.name, one.line]


def _unread(context: Context, names: set[str], given: dict[str, list[Site]]) -> set[str]:
    """The names of which the repository's files hold no other word than where they are set."""
    if not names:
        return set()
    places = {name: {(site.path, site.line) for site in sites} for name, sites in given.items()}
    left = {name: name.encode() for name in sorted(names)}
    for path in context.tree.paths():
        if left and not path.endswith((".md", ".png", ".svg", ".csv", ".lock", ".ipynb", ".parquet")) and not context.tree.is_link(path):
            data = context.data(path)
            for name in [name for name, word in left.items() if word in data]:
                if _mentions(context, path, name, places[name]):
                    del left[name]
    return set(left)


def _mentions(context: Context, path: str, name: str, places: set[tuple[str, int]]) -> bool:
    word = re.compile(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])")
    for number, line in enumerate(context.lines(path), 1):
        rest = line if (path, number) not in places else line.replace(name, "", 1)
        if name in rest and word.search(rest) and not rest.lstrip().startswith("#"):
            return True
    return False
