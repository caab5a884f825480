from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweep.cluster import Cluster, missing
from tests.sweep.support import ROOT


@pytest.fixture(scope="session")
def _cluster() -> Iterator[Cluster]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    # Not below pytest's folder, which nobody else may enter: munge has to get to its socket.
    with tempfile.TemporaryDirectory(prefix="reviewbot-slurm-", ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


@pytest.fixture
def cluster(_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A running Slurm cluster that the Slurm client of this test uses."""
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    for name, value in _cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield _cluster
    monkeypatch.undo()
    _cluster.clear()


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A copy of the demo of a sweep."""
    return Path(shutil.copytree(ROOT / "fixtures" / "demo-sweep", tmp_path / "demo"))
