"""What a benchmark repository declares, in the words of this project, whatever the format it is written in.

Adapters (one a format version) turn masters, runner lists, workflows and recipes into these classes; the rest of the code
knows no format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reviewbot.documents.nodes import Node
from reviewbot.documents.positions import Site


@dataclass(frozen=True, slots=True)
class Point:
    """One row of the expanded sweep matrix.

    ``row`` equals, field by field, the row that the repository's own generator makes. ``sites`` tells where a field was written:
    dotted names (``prefill.tp``, ``image``), the innermost place that decided it.
    """

    id: str  # key and what tells the point from its siblings; stable under reordering of the master
    key: str
    row: Mapping[str, Any]
    multinode: bool
    scenario: str  # "fixed-seq-len" or "agentic-coding"
    master: str
    site: Site  # the search-space row
    sites: Mapping[str, Site] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A point on one launcher: the script that the workflow step runs, and the environment it gets.

    ``script`` is the step's ``run:`` text with every ``${{ }}`` evaluated (an unknown one is a name of the form
    ``${{ secrets.X }}`` listed in ``unknown``); ``environment`` holds ``str`` values, ``unknown`` the names whose value cannot be
    known (secrets, runtime contexts). ``site`` is the first line of the script in the workflow file.
    """

    point: Point
    runner: str  # label
    node: str  # self-hosted runner that stands for all of its launcher
    launcher: str  # path that the step's command names, which may not exist
    script: str
    site: Site
    environment: Mapping[str, str]
    environment_sites: Mapping[str, Site]
    unknown: frozenset[str] = frozenset()
    eval_only: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a recipe with its place: ``node`` in the document it was written in, ``key`` the dotted path.

    ``operation`` tells which layer of the recipe decided it: ``""`` (plain file), ``base``, ``override_x``, ``zip_override_x[0]``,
    ``sweep[0]``, ``--set`` (then ``line`` is 1 and ``node`` is ``None``).
    """

    value: Any
    key: str
    line: int  # in the recipe's text, from 1
    column: int
    node: Node | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of server process of a recipe: ``prefill``, ``decode``, ``agg`` or any other name.

    ``nodes`` is ``None`` where not written, ``workers`` likewise; ``colocated`` where the role shares another role's nodes;
    ``gpus`` is GPUs a worker as written, ``gpus_per_worker`` what the tool makes of it (``None`` where it cannot be told).
    """

    name: str
    engine: str | None
    nodes: Value | None
    workers: Value | None
    gpus: Value | None
    colocated: bool
    args: Mapping[str, Value]
    env: Mapping[str, Value]
    gpus_per_worker: int | None = None
    container: Value | None = None  # schema 2: instead of the model's


@dataclass(frozen=True, slots=True)
class Recipe:
    """A srt-slurm recipe, schema 1 or 2, one variant (``variant``: ``""`` for a plain file, else ``override_x``, ``zip_override_x[0]``).

    ``settings`` gives every scalar and list leaf by dotted path as written in schema terms (``health_check.max_attempts``); the
    named fields are the normalised view. ``environment`` is the global block that wins over a role's ``env``.
    """

    schema: int
    variant: str
    settings: Mapping[str, Value]
    name: Value | None
    model_path: Value | None
    container: Value | None
    precision: Value | None
    engine: str | None
    gpu_type: Value | None
    gpus_per_node: Value | None
    roles: Mapping[str, Role]
    environment: Mapping[str, Value]
    frontend: Value | None
    benchmark_type: Value | None
    isl: Value | None
    osl: Value | None
    concurrencies: Value | None  # value: tuple[int, ...] where it can be read ("4x8" split), else as written
    benchmark_env: Mapping[str, Value]
    benchmark_command: Value | None
    health_attempts: Value | None
    health_interval: Value | None
    time_limit: Value | None  # value: seconds where it can be read, else as written
    total_nodes: int | None
    setup_script: Value | None = None
    container_mounts: Mapping[str, Value] = field(default_factory=dict)
    extra_mounts: Value | None = None
    srun_options: Mapping[str, Value] = field(default_factory=dict)
    identity: Mapping[str, Value] = field(default_factory=dict)  # ``model.repo``, ``container.image``, ``frameworks.vllm`` ...
    services: Mapping[str, Value] = field(default_factory=dict)  # by name; value: the plain block
    dedicated_nodes: int = 0  # part of ``total_nodes``
    frontend_env: Mapping[str, Value] = field(default_factory=dict)
    frontend_args: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecipeError:
    """Why a recipe variant does not load: what the tool would say, and where.

    ``kind``: ``variant`` (the file gives no such variant), ``schema`` (keys and types) or ``check`` (across fields).
    """

    variant: str
    message: str
    line: int
    column: int
    key: str = ""
    kind: str = "schema"
