"""What is installed is complete, however it is installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("setuptools", "wheel")


def run(*argv: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(arg) for arg in argv], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is in the checkout, links kept, so that builds leave nothing behind."""
    target = tmp_path_factory.mktemp("source") / "reviewbot"
    names = ["pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "reviewbot", "rules", "schemas"]
    target.mkdir()
    run("cp", "-a", *[ROOT / name for name in names], target)
    return target


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with setuptools and wheel that sees the packages of this one, but not reviewbot."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    interpreter = folder / "bin" / "python"
    site = run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    own = run(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # A plain path: .pth files of the other environment, so an editable reviewbot there, do not count.
    Path(site, "packages-of-the-tests.pth").write_text(own + "\n")
    for name in NEEDED:
        if subprocess.run([interpreter, "-c", f"import {name}"], capture_output=True).returncode != 0:
            pytest.skip(f"{name} is not installed")
    return interpreter


def build(python: Path, source: Path, kind: str, folder: Path) -> Path:
    code = f"from setuptools import build_meta as b; print(b.build_{kind}({str(folder)!r}))"
    return folder / run(python, "-W", "ignore", "-c", code, cwd=source).strip().splitlines()[-1]


def wanted() -> set[str]:
    files = [path for folder in ("rules", "schemas") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".json")]
    workflows = (ROOT / "reviewbot" / "review" / "workflows").glob("*.yml")
    return {f"reviewbot/{path.relative_to(ROOT).as_posix()}" for path in files} | {path.relative_to(ROOT).as_posix() for path in workflows}


def test_links_are_relative():
    for name in ("rules", "schemas"):
        assert (ROOT / "reviewbot" / name).readlink() == Path("..") / name


def test_wheel(python: Path, source: Path, tmp_path: Path):
    with zipfile.ZipFile(build(python, source, "wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())
    assert wanted() <= names
    assert "reviewbot/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"reviewbot"}


def test_sdist_builds_the_same_wheel(python: Path, source: Path, tmp_path: Path):
    sdist = build(python, source, "sdist", tmp_path)
    with tarfile.open(sdist) as archive:
        trusted = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path / "unpacked", **trusted)
    [unpacked] = (tmp_path / "unpacked").iterdir()
    with zipfile.ZipFile(build(python, unpacked, "wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())
    assert wanted() <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"reviewbot"}


@pytest.mark.parametrize("editable", [False, True], ids=["installed", "editable"])
def test_install(python: Path, source: Path, editable: bool, tmp_path: Path):
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check", "--force-reinstall"]
    run(python, "-m", "pip", "install", *options, *(["-e"] if editable else []), source, cwd=tmp_path)
    program = python.parent / "reviewbot"
    assert run(program, "--version", cwd=tmp_path) == "reviewbot 0.1.0\n"
    assert "unparsable-file" in run(program, "rules", cwd=tmp_path)
    checked = run(program, "-C", ROOT / "fixtures" / "demo", "check", "--no-cache", "--fail-on", "never", cwd=tmp_path)
    assert checked == (ROOT / "fixtures" / "demo" / "expected.txt").read_text("utf-8")
    assert "TP" in run(program, "fit", "kimi-k3", "--gpu", "b300", "--engine", "vllm", cwd=tmp_path)
    code = "import reviewbot.rules, reviewbot.settings as s; s.settings_schema(); print(reviewbot.__file__)"
    where = run(python, "-c", code, cwd=tmp_path)
    assert where.startswith(str(source)) is editable
