"""What commands do to files, which effects they leave, and how unknown text passes through them."""

from __future__ import annotations

import pytest

from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Checkout, Copy, Edit, EditCommand, Exec, OpaqueEdit, Submit
from reviewbot.trace.values import is_known
from tests.trace.shells import FakeShell
from tests.trace.test_filesystem import MemoryTree

FILES = {
    "recipes/a/one.yaml": "name: one\nhealth:\n  max_attempts: 10\n",
    "recipes/a/two.yaml": "name: two\n",
    "runners/helper.py": "pass\n",
    "bench/run.sh": "true\n",
}


@pytest.fixture
def shell() -> FakeShell:
    return FakeShell(MemoryTree(FILES))


def _job(shell: FakeShell) -> str:
    return shell.hole("job id", Site("x", 1), nonempty=True, numeric=True, witness="12345")


def test_sed_in_place_keeps_origins(shell: FakeShell) -> None:
    shell.call("cp", "-rT", "recipes/a", "clone/recipes")
    assert shell.call("mkdir", "-p", "clone").status == 0
    shell.call("cp", "-rT", "recipes/a", "clone/recipes")
    done = shell.call("sed", "-i", "-e", "s/^name:.*/name: new/", "-e", "/^health/a\\  extra: 1", "clone/recipes/one.yaml")
    assert done.status == 0
    assert shell.text("clone/recipes/one.yaml") == "name: new\nhealth:\n  extra: 1\n  max_attempts: 10\n"
    edits = [effect for effect in shell.effects if isinstance(effect, Edit)]
    assert [(edit.line, edit.before, edit.after, edit.origin) for edit in edits] == [
        (1, "name: one", "name: new", Site("recipes/a/one.yaml", 1)),
        (2, None, "  extra: 1", None),
    ]
    assert [effect.changed for effect in shell.effects if isinstance(effect, EditCommand)] == [(2,)]
    content = shell.files.read_text("/w/clone/recipes/one.yaml")
    assert content is not None
    assert content.origins[3].site == Site("recipes/a/one.yaml", 3)
    assert content.origins[0].by == ((Site("run.sh", 3), "name: one"),)
    assert shell.files.origin("/w/clone/recipes/one.yaml") == "recipes/a/one.yaml"
    assert shell.text("recipes/a/one.yaml") == FILES["recipes/a/one.yaml"]


def test_sed_that_changes_nothing_is_told(shell: FakeShell) -> None:
    shell.call("sed", "-i", "s/nothing/x/", "recipes/a/one.yaml", "recipes/a/two.yaml")
    (command,) = [effect for effect in shell.effects if isinstance(effect, EditCommand)]
    assert command.changed == (0, 0)
    assert shell.call("sed", "-i", "s/a/b/", "none.yaml").status == 2


def test_sed_program_that_is_not_known_makes_the_file_opaque(shell: FakeShell) -> None:
    assert shell.call("sed", "-i", "s/a/b/e", "recipes/a/one.yaml").status == 0
    assert shell.files.kind("/w/recipes/a/one.yaml") == "file"
    assert shell.text("recipes/a/one.yaml") is None
    assert any(isinstance(effect, OpaqueEdit) for effect in shell.effects)


def test_find_runs_commands(shell: FakeShell) -> None:
    done = shell.call("find", "recipes", "-name", "*.yaml", "-exec", "sed", "-i", "s/name/id/", "{}", "+")
    assert done.status == 0
    assert shell.ran == [("sed", "-i", "s/name/id/", "recipes/a/one.yaml", "recipes/a/two.yaml")]
    assert shell.text("recipes/a/two.yaml") == "id: two\n"
    assert shell.call("find", "recipes", "-maxdepth", "1", "-type", "d").stdout == "recipes\nrecipes/a\n"
    assert shell.call("find", "recipes", "-type", "f", "!", "-name", "one*").stdout == "recipes/a/two.yaml\n"
    assert shell.call("find", "/mnt/unknown", "-name", "x").status is None


@pytest.mark.parametrize(
    ("argv", "status", "there"),
    [
        (("cp", "recipes/a/one.yaml", "new.yaml"), 0, "new.yaml"),
        (("cp", "recipes/a/one.yaml", "bench"), 0, "bench/one.yaml"),
        (("cp", "recipes/a", "x"), 1, None),
        (("cp", "-r", "recipes/a", "bench"), 0, "bench/a/one.yaml"),
        (("cp", "-a", "recipes/a/.", "bench"), 0, "bench/one.yaml"),
        (("cp", "none", "x"), 1, None),
        (("cp", "recipes/a/one.yaml", "nowhere/x"), 1, None),
        (("mv", "recipes/a", "moved"), 0, "moved/two.yaml"),
        (("mkdir", "a/b"), 1, None),
        (("mkdir", "-p", "a/b"), 0, "a/b"),
        (("mkdir", "bench"), 1, None),
        (("rm", "none"), 1, None),
        (("rm", "-f", "none"), 0, None),
        (("rm", "bench"), 1, None),
        (("touch", "t"), 0, "t"),
        (("ls", "none"), 2, None),
    ],
)
def test_status_of_file_commands(shell: FakeShell, argv: tuple[str, ...], status: int, there: str | None) -> None:
    assert shell.call(*argv).status == status
    if there is not None:
        assert shell.files.kind(shell.absolute(there)) in ("file", "dir")
    if argv[0] == "cp" and status == 0:
        assert any(isinstance(effect, Copy) for effect in shell.effects)


def test_job_ids_pass_through_text_commands(shell: FakeShell) -> None:
    job = _job(shell)
    text = f"✅ Job {job} submitted!\n"
    assert shell.call("grep", "-oP", "Job \\K[0-9]+", stdin=text).stdout == f"{job}\n"
    assert shell.call("sed", "s/.*Job \\([0-9]*\\).*/\\1/", stdin=text).stdout == f"{job}\n"
    assert shell.call("awk", "{print $3}", stdin=text).stdout == f"{job}\n"
    assert shell.call("cut", "-d", " ", "-f3", stdin=text).stdout == f"{job}\n"
    assert shell.call("tr", "-d", "\n", stdin=text).stdout == text.strip()
    cut = shell.call("cut", "-c1-8", stdin=text)
    assert cut.status is None and not is_known(cut.stdout)


def test_other_holes_make_results_unknown(shell: FakeShell) -> None:
    hole = shell.hole("x", Site("x", 1))
    assert shell.call("grep", "-q", "a", stdin=f"{hole}\n").status is None
    assert shell.call("grep", "-q", "ab", stdin=f"{hole} ab\n").status == 0
    assert shell.call("grep", "-q", "^ab", stdin=f"x{hole}\n").status == 1
    assert shell.call("head", "-n1", stdin=f"{hole}\n").status is None
    assert shell.call("sort", stdin=f"{hole}\nb\n").status is None
    assert not is_known(shell.call("sha256sum", stdin=f"{hole}\n").stdout)


def test_clone_and_checkout(shell: FakeShell) -> None:
    url, pin = "https://example.com/srt.git", "a" * 40
    shell.upstreams[url, pin] = MemoryTree({"recipes/r.yaml": "x: 1\n"})
    assert shell.call("git", "clone", "--branch", "main", "--single-branch", url, "srt").status == 0
    assert shell.files.kind("/w/srt/recipes/r.yaml") == "unknown"
    shell.cwd = "/w/srt"
    assert shell.call("git", "checkout", pin).status == 0
    assert shell.text("recipes/r.yaml") == "x: 1\n"
    assert shell.call("git", "rev-parse", "HEAD").stdout == pin + "\n"
    assert shell.call("git", "-C", "/w/srt/recipes", "rev-parse", "--show-toplevel").stdout == "/w/srt\n"
    checkouts = [effect for effect in shell.effects if isinstance(effect, Checkout)]
    assert [(effect.ref, effect.available) for effect in checkouts] == [("main", False), (pin, True)]
    shell.cwd = "/w"
    assert shell.call("git", "clone", url, "srt").status == 128


def test_srtctl_submits(shell: FakeShell) -> None:
    shell.put("srtslurm.yaml", "a: 1\n")
    done = shell.call("srtctl", "apply", "--no-preflight", "-f", "recipes/a/one.yaml:zip_override_x[0]", "--tags", "t")
    (submit,) = [effect for effect in shell.effects if isinstance(effect, Submit)]
    assert (submit.recipe, submit.path) == ("recipes/a/one.yaml:zip_override_x[0]", "/w/recipes/a/one.yaml")
    assert submit.text is not None and submit.text.text == FILES["recipes/a/one.yaml"]
    assert submit.cluster is not None and submit.cluster.text == "a: 1\n"
    job = shell.call("grep", "-oP", "Job \\K[0-9]+", stdin=done.stdout).stdout.strip()
    assert shell.files.kind(f"/w/outputs/{job}/logs/sweep_{job}.log") == "file"


def test_sbatch_and_allocations(shell: FakeShell) -> None:
    out = shell.call("sbatch", "--parsable", "-N", "2", "--output=log-%j.out", "bench/run.sh", "x").stdout
    (submit,) = [effect for effect in shell.effects if isinstance(effect, Submit)]
    assert submit.path == "/w/bench/run.sh" and shell.files.kind(f"/w/log-{out.strip()}.out") == "file"
    granted = shell.call("salloc", "--nodes=2", "--no-shell", "--job-name=me").stderr
    job = shell.call("grep", "-oP", "job allocation \\K[0-9]+", stdin=granted).stdout.strip()
    assert shell.call("squeue", "--name=me", "-u", "u", "-h", "-o", "%A").stdout == f"{job}\n"
    nodes = shell.call("squeue", "-j", job, "-h", "-o", "%N").stdout.strip()
    assert shell.call("scontrol", "show", "hostnames", nodes).stdout.count("\n") == 2
    assert shell.call("squeue", "-j", "77").status is None


def test_srun_enters_scripts(shell: FakeShell) -> None:
    shell.call(
        "srun",
        "--jobid=5",
        "-N",
        "1",
        "--container-image=img",
        "--container-mounts=/w:/workspace,/hf:/hf:ro",
        "--no-container-mount-home",
        "--container-workdir=/workspace",
        "--export=ALL,PORT=8888",
        "bash",
        "-x",
        "bench/run.sh",
    )
    assert shell.entered == [
        {
            "path": "bench/run.sh",
            "by": "srun",
            "image": "img",
            "mounts": [("/w", "/workspace"), ("/hf", "/hf")],
            "environment": {"PORT": "8888"},
            "only": False,
            "cwd": "/workspace",
        }
    ]
    shell.call("srun", "-A", "acc", "-p", "part", "bash", "-c", "enroot import -o x docker://y")
    assert [effect.inside for effect in shell.effects if isinstance(effect, Exec)] == [("srun",)]


def test_docker_enters_scripts(shell: FakeShell) -> None:
    shell.variables["TOKEN"] = "t"
    shell.put("vars.env", "# no\nA=1\n")
    shell.call(
        "docker",
        "run",
        "--rm",
        "-it",
        "--gpus",
        "all",
        "-v",
        "/w:/workspace",
        "-w",
        "/workspace",
        "-e",
        "TOKEN",
        "-e",
        "B=2",
        "--env-file",
        "vars.env",
        "--entrypoint=/bin/bash",
        "image:1",
        "bench/run.sh",
    )
    assert shell.entered == [
        {
            "path": "bench/run.sh",
            "by": "docker",
            "image": "image:1",
            "mounts": [("/w", "/workspace")],
            "environment": {"TOKEN": "t", "B": "2", "A": "1"},
            "only": True,
            "cwd": "/workspace",
        }
    ]


def test_python_helpers_edit_opaquely() -> None:
    shell = FakeShell(MemoryTree(FILES), opaque=frozenset({"helper.py"}))
    shell.call("python3", "runners/helper.py", "recipes/a/one.yaml", "vllm")
    assert [effect.path for effect in shell.effects if isinstance(effect, OpaqueEdit)] == ["/w/recipes/a/one.yaml"]
    assert shell.text("recipes/a/one.yaml") == FILES["recipes/a/one.yaml"]
    shell.call("python3", "-m", "engine.server", "--port", "1")
    assert [effect.argv[2] for effect in shell.effects if isinstance(effect, Exec)] == ["engine.server"]


def test_virtual_environment_is_there(shell: FakeShell) -> None:
    shell.call("uv", "venv", "--seed", "--python", "/usr/bin/python3", "env")
    assert shell.text("env/bin/activate") == ""
    assert shell.files.executable("/w/env/bin/python") is True
    assert shell.files.kind("/w/env/bin/tool-of-a-package") == "unknown"


def test_wrappers_hand_on(shell: FakeShell) -> None:
    shell.call("timeout", "-k", "5", "10", "env", "A=1", "echo", "x")
    assert shell.ran == [("env", "A=1", "echo", "x"), ("echo", "x")]
    assert shell.call("xargs", "-n1", "echo", "p", stdin="a b\nc\n").stdout == "p a\np b\np c\n"
    assert shell.call("xargs", "-I{}", "echo", "<{}>", stdin="a b\nc\n").stdout == "<a b>\n<c>\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("cut", "--complement", "-f1"),
        ("sort", "--unheard"),
        ("grep", "-Z", "x"),
        ("tr", "a"),
        ("head", "-z"),
        ("awk", "function f(){}"),
        ("jq", "."),
    ],
)
def test_unknown_options_have_unknown_results(shell: FakeShell, argv: tuple[str, ...]) -> None:
    done = shell.call(*argv, stdin="a\n")
    assert done.status is None and not is_known(done.stdout)


@pytest.mark.parametrize(("words", "text", "expected"), [
    (["-sd,"], "1\n2\n3\n", "1,2,3\n"), (["-sd,", "-"], "a\n\nb", "a,,b\n"), (["-s"], "a\nb\n", "a\tb\n"),
    (["-s", "-d", ",;"], "a\nb\nc\nd\n", "a,b;c,d\n"),
    (["-sd,"], "", "\n"), (["-sd", ","], "one\n", "one\n"),
])
def test_paste_of_one_input(shell: FakeShell, words: list[str], text: str, expected: str) -> None:
    assert shell.call("paste", *words, stdin=text).stdout == expected


def test_paste_of_columns() -> None:
    assert FakeShell().call("paste", "-", "-", stdin="a\nb\nc\n").stdout == "a\tb\nc\t\n"
