"""Flags and variables by release: order, windows, status, images, and the extractor on small packages."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from reviewbot.catalog import extract, names
from reviewbot.catalog.images import tells_release, window_of_image
from reviewbot.catalog.names import Names, names_of, version_key
from reviewbot.catalog.srt_slurm import collected, releases_of
from reviewbot.catalog.trtllm import meant


def test_releases_are_in_order():
    versions = ["0.5.8", "0.5.8.post1", "0.5.9rc1", "0.5.9", "0.5.10", "1.0.0"]
    shuffled = [versions[index] for index in (3, 0, 5, 1, 4, 2)]
    assert sorted(shuffled, key=version_key) == versions


@pytest.mark.parametrize("engine", ["vllm", "sglang", "dynamo"])
def test_shipped_names_are_in_order(engine: str):
    found = names_of(engine)
    assert found is not None
    assert sorted(found.versions, key=version_key) == found.versions
    assert [date for date in found.dates if date] == sorted(date for date in found.dates if date)


def test_shipped_data_is_small():
    assert names.DATA.stat().st_size < 400_000


@pytest.fixture
def toy() -> Names:
    return Names(
        "toy",
        {
            "versions": [["0.1.0", "2026-01-10"], ["0.2.0", "2026-02-10"], ["0.2.0.post1", "2026-02-20"], ["0.3.0", "2026-03-10"]],
            "flags": {"max-seats": "-", "old-way": "0-1", "new-way": "2-3", "new-ways": "3"},
            "env": {"TOY_FAST": "-", "TOY_GONE": "0"},
            "read": {"TOY_GONE": "2"},
            "on": {"max-seats": "1-3"},
            "renamed": {"--old-way": ["--new-way", 1]},
            "requires": {},
        },
    )


def test_a_window_is_the_release_or_its_neighbours(toy: Names):
    assert toy.at("0.2.0") == names.Window("toy", 1, 1, True)
    assert toy.at("0.2.5") == names.Window("toy", 2, 3, False)
    assert toy.at("0.0.9") is None and toy.at("0.4.0") is None and toy.at("latest") is None


def test_a_day_is_between_releases(toy: Names):
    assert toy.on_date("2026-02-15") == names.Window("toy", 1, 3, False)  # what is merged may miss the next release
    assert toy.on_date("2026-01-20") == names.Window("toy", 0, 3, False)  # a post release is of the branch of its release
    assert toy.on_date("2025-12-31") is None and toy.on_date("2026-05-01") is None


def test_status_says_where_a_name_is(toy: Names):
    at = toy.at("0.3.0")
    assert at is not None
    assert toy.flag("max-seats", at).known
    assert toy.flag("old-way", at) == names.Status(False, False, "0.2.0", None)
    first = toy.at("0.1.0")
    assert first is not None
    assert toy.flag("new-way", first) == names.Status(False, False, None, "0.2.0.post1")
    assert not toy.flag("nothing", first).ever
    post = toy.at("0.2.0.post1")
    assert post is not None
    assert toy.env("TOY_GONE", post) == names.Status(True, False)  # mentioned is read


def test_abbreviations_defaults_and_successors(toy: Names):
    last, first = toy.at("0.3.0"), toy.at("0.1.0")
    assert last is not None and first is not None
    assert set(toy.abbreviates("new-wa", last)) == {"new-way", "new-ways"}
    assert toy.on_by_default("max-seats", last) and not toy.on_by_default("max-seats", first)
    assert toy.replacement("--old-way", last) == "--new-way" and toy.replacement("--old-way", first) is None
    assert toy.similar_flag("max-seat", last) == "max-seats"


@pytest.mark.parametrize(
    ("image", "engine", "described"),
    [
        ("vllm/vllm-openai:v0.21.0", "vllm", "vllm 0.21.0"),
        ("vllm/vllm-openai:v0.20.1-ubuntu2404", "vllm", "vllm 0.20.1"),
        ("docker.io#vllm/vllm-openai:v0.19.0-cu130", "vllm", "vllm 0.19.0"),
        ("lmsysorg/sglang:v0.5.14-cu130@sha256:" + "0" * 64, "sglang", "sglang 0.5.14"),
        ("lmsysorg/sglang:v0.5.12-rocm720-mi30x", "sglang", "sglang 0.5.12"),
        ("lmsysorg/sglang:v0.5.12-rocm720-mi35x-20260519", "sglang", "sglang 0.5.12 to 0.5.13.post1"),
        ("lmsysorg/sglang:nightly-dev-cu13-20260528-0abe6a85", "sglang", "sglang 0.5.12.post1 to 0.5.14"),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.1", "vllm", "vllm 0.22.0 to 0.24.0"),
    ],
)
def test_an_image_that_tells_its_release(image: str, engine: str, described: str):
    window, found = window_of_image(image, engine), names_of(engine)
    assert window is not None and found is not None
    assert found.describe(window) == described


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:nightly-4080263bb2c5d10deac17aaeb88e0823bc35bca9",
        "vllm/vllm-openai:nightly-dev-arm64-cu13.0.1-426e59f",
        "vllm/vllm-openai:vllm-x86_64-cu13-0.25.1-7a33ba9",
        "vllm/vllm-openai:kimi-k3",
        "vllm/vllm-openai:v0.21.0-private",
        "someone/vllm:v0.21.0",
        "lmsysorg/sglang:v0.5.14",
        "vllm/vllm-openai",
        "",
    ],
)
def test_an_image_that_does_not(image: str):
    assert window_of_image(image, "vllm") is None
    assert not tells_release(image, "vllm")


def test_a_release_that_was_not_read_is_told_all_the_same():
    assert window_of_image("vllm/vllm-openai:v0.8.0", "vllm") is None
    assert tells_release("vllm/vllm-openai:v0.8.0", "vllm")


# --- the extractor ---------------------------------------------------------------------------------------------------

VLLM = {
    "vllm/envs.py": 'environment_variables: dict = {\n    "VLLM_A": lambda: 1,\n    "VLLM_B": lambda: 2,\n}\n',
    "vllm/engine/arg_utils.py": 'def add(p):\n    p.add_argument("--max-num-seqs", "-mns", type=int)\n    p.add_argument("--on-switch")\n',
    "vllm/config/toy.py": "class Toy:\n    on_switch: bool = True\n    size: int = 3\n    late: bool = Field(default=True)\n",
    "vllm/entrypoints/openai/cli_args.py": "class BaseFrontendArgs:\n    chat_template: str | None = None\n    type Alias = int\n",
    "vllm/worker.py": 'import os\nos.environ["VLLM_READ_HERE"]\nprint("VLLM_OLD has been removed")\n',
}
SGLANG = {
    "sglang/srt/environ.py": (
        "class Envs:\n    SGLANG_A = EnvBool(False)\n    NOT_A_CALL = 3\n\n"
        "def _print_deprecated_env(old_name, new_name=None):\n    pass\n\n"
        '_print_deprecated_env("SGLANG_OLD", "SGLANG_A")\n_warn_deprecated_env_to_cli_flag("SGLANG_FLAG", "Use --some-flag instead.")\n'
        '_DEPRECATED_ENVS: dict = {"SGLANG_GONE": _DeprecatedEnv(), "SGLANG_MOVED": _DeprecatedEnv(replacement="SGLANG_A")}\n'
    ),
    "sglang/srt/server_args.py": (
        "class ServerArgs:\n    tp_size: A[int, Arg(help=\"x\", aliases=[\"--tensor-parallel-size\"])] = 1\n"
        "    hidden: A[int, Arg(no_cli=True)] = 0\n"
        '    plain: A[bool, "help"] = True\n    internal: int = 3\n\n'
        'def add(p):\n    p.add_argument("--older", action=DeprecatedStoreTrueAction, new_flag="--plain")\n'
        '    p.add_argument("--both", action=argparse.BooleanOptionalAction)\n'
    ),
}
DYNAMO = {
    "dynamo/vllm/backend_args.py": 'add_argument(g, flag_name="--dyn-toy", env_var="DYN_TOY", default=1)\n',
    "ai_dynamo-1.0.0.dist-info/METADATA": "Name: ai-dynamo\nRequires-Dist: vllm[flashinfer]==0.16.0; extra == 'vllm'\n",
}


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            info = zipfile.ZipInfo(file, (2026, 3, 4, 0, 0, 0))
            archive.writestr(info, text)
    return path


def test_vllm_package(tmp_path: Path):
    release = extract.read_release(wheel(tmp_path, "vllm-0.16.0", VLLM))
    assert (release.engine, release.version, release.date) == ("vllm", "0.16.0", "2026-03-04")
    assert release.flags == {"max-num-seqs", "mns", "on-switch", "chat-template"}
    assert release.env == {"VLLM_A", "VLLM_B"}
    assert release.read == {"VLLM_READ_HERE"}
    assert release.on == {"on-switch", "late"}


def test_sglang_package(tmp_path: Path):
    release = extract.read_release(wheel(tmp_path, "sglang-0.5.14.post2", SGLANG))
    assert release.flags == {"tp-size", "tensor-parallel-size", "plain", "older", "both", "no-both"}
    assert release.env == {"SGLANG_A"}
    assert release.on == {"plain"}
    assert release.renamed == {
        "SGLANG_OLD": "SGLANG_A",
        "SGLANG_FLAG": "--some-flag",
        "SGLANG_GONE": "",
        "SGLANG_MOVED": "SGLANG_A",
        "--older": "--plain",
    }


def test_dynamo_package(tmp_path: Path):
    release = extract.read_release(wheel(tmp_path, "ai_dynamo-1.0.0", DYNAMO))
    assert release.flags == {"dyn-toy"} and release.env == {"DYN_TOY"} and release.requires == {"vllm": "0.16.0"}


def test_an_unpacked_folder_reads_the_same(tmp_path: Path):
    folder = tmp_path / "vllm-0.16.0"
    for file, text in VLLM.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    assert extract.read_release(folder).flags == extract.read_release(wheel(tmp_path, "vllm-0.16.0", VLLM)).flags


def test_a_package_of_another_name_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"torch-2\.0\.0"):
        extract.read_release(wheel(tmp_path, "torch-2.0.0", {}))


def test_the_file_holds_ranges(tmp_path: Path):
    packages = [wheel(tmp_path, f"vllm-0.{minor}.0", VLLM) for minor in (16, 17)]
    packages.append(wheel(tmp_path, "vllm-0.18.0", {**VLLM, "vllm/engine/arg_utils.py": 'p.add_argument("--other")\n'}))
    output = tmp_path / "names.json"
    assert extract.main([*map(str, packages), "--output", str(output), "--jobs", "1"]) == 0
    data = json.loads(output.read_text("utf-8"))["vllm"]
    assert data["versions"] == [[f"0.{minor}.0", "2026-03-04"] for minor in (16, 17, 18)]
    assert data["flags"] == {"chat-template": "-", "max-num-seqs": "0-1", "mns": "0-1", "on-switch": "0-1", "other": "2"}


# --- srt-slurm -------------------------------------------------------------------------------------------------------


def test_commits_are_between_releases():
    assert releases_of("v1.0.44") == ("v1.0.44",)
    assert releases_of("c180328b98c3793ca84a1e24a030f90545eb7d5d") == ("v1.0.38",)
    assert releases_of("217f9438") == ("v1.0.53",)
    assert releases_of("main") == () and releases_of("0" * 40) == ()


def test_commits_are_collected_by_their_first_release():
    one, two, three = ("a" * 40, "b" * 40, "c" * 40)
    lines = [f"{three} (v1.0.10)", f"{two} (tags/v1.0.10~1)", f"{one} (tags/v1.0.9^0)", "d" * 40]
    assert collected(lines) == {"v1.0.9": "a" * 10, "v1.0.10": f"{'c' * 10} {'b' * 10}"}


def test_a_setting_of_trtllm_that_looks_misspelt():
    assert meant("max_batch_sizes") == "max_batch_size"
    assert meant("max_batch_size") is None and meant("toy_private_config") is None


def test_the_help_of_a_deprecated_flag_names_the_new_one(tmp_path: Path):
    told = (
        'p.add_argument("--old", help="[Deprecated] Use --new-way instead.")\n'
        'p.add_argument("--gone", help="DEPRECATED: nothing.", deprecated=True)\n'
    )
    release = extract.read_release(wheel(tmp_path, "vllm-0.16.0", {**VLLM, "vllm/engine/arg_utils.py": told}))
    assert release.renamed == {"--old": "--new-way", "--gone": ""}
