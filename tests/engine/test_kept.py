from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site, Span
from reviewbot.engine import kept
from reviewbot.engine.kept import Kept, cache_folder, key_of, program_digest
from reviewbot.engine.model import Fix, Level, Related, Replacement
from reviewbot.engine.packed import Unpackable, from_bytes, outside_paths, pack_findings, to_bytes, unpack_findings
from tests.support import finding


def test_values_live_in_memory_and_in_the_file(tmp_path: Path):
    one = Kept(tmp_path)
    one.put({"a": b"1", "b": b"2"})
    assert one.get(["a", "c"]) == {"a": b"1"}
    assert Kept(tmp_path).get(["a"]) == {}
    one.save()
    assert Kept(tmp_path).get(["b", "a", "c"]) == {"a": b"1", "b": b"2"}
    memory = Kept()
    memory.put({"a": b"1"})
    memory.save()
    assert memory.get(["a"]) == {"a": b"1"}


def test_a_changed_value_is_not_there(tmp_path: Path):
    one = Kept(tmp_path)
    one.put({"a": b"good", "b": b"good"})
    one.save()
    one.close()
    with sqlite3.connect(tmp_path / "kept.sqlite") as database:
        database.execute("UPDATE kept SET value = CAST(value || x'00' AS BLOB) WHERE key = 'a'")
    database.close()
    assert Kept(tmp_path).get(["a", "b"]) == {"b": b"good"}


def test_two_writers_and_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "_PATIENCE", 0.01)
    one, two = Kept(tmp_path), Kept(tmp_path)
    for number, writer in enumerate((one, two)):
        writer.put({f"k{number}": b"v"})
        writer.save()
    lock = sqlite3.connect(tmp_path / "kept.sqlite", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    one.put({"late": b"v"})
    one.save()  # left alone
    lock.execute("ROLLBACK")
    lock.close()
    assert Kept(tmp_path).get(["k0", "k1", "late"]) == {"k0": b"v", "k1": b"v"}


def test_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "MAX_BYTES", 10_000)
    one = Kept(tmp_path)
    for number in range(30):
        one.put({f"k{number:02}": b"x" * 1000})
        one.save()
    left = Kept(tmp_path).get(f"k{number:02}" for number in range(30))
    assert 5 <= len(left) <= 10
    assert "k29" in left


def test_a_link_to_elsewhere_is_not_followed(tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kept.sqlite").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("precious", "utf-8")
    one = Kept(tmp_path / "cache")
    one.put({"a": b"1"})
    one.save()
    assert (tmp_path / "precious").read_text("utf-8") == "precious"


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("REVIEWBOT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "reviewbot"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "reviewbot"
    monkeypatch.setenv("REVIEWBOT_CACHE", os.fspath(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_keys():
    assert key_of("a", 1) == key_of("a", 1) != key_of("a", "1")
    assert key_of("ab", "c") != key_of("a", "bc")
    assert program_digest() == program_digest()


def place(**sites: int) -> Point:
    return Point(
        "k/c8", "k", {}, True, "fixed", "m.yaml", Site("m.yaml", sites.pop("row")), {n: Site("m.yaml", s) for n, s in sites.items()}
    )


def span(site: Site) -> Span:
    return Span(site.line, 3, site.line, 9)


def test_findings_move_with_the_row():
    fix = Fix("mend", (Replacement("r.yaml", 1, 2, 1, 4, "x"),), True)
    at_row = finding(path="m.yaml", line=7, column=3, end_line=7, end_column=9, level=Level.NOTE, points=("k/c8",), fix=fix,
                     related=(Related(Site("m.yaml", 5), "row"), Related(Site("l.sh", 5), "launcher")))  # fmt: skip
    then, now = place(row=5, tp=7), place(row=25, tp=27)
    packed = from_bytes(to_bytes(pack_findings({"some-rule": [at_row]}, then, span)))
    assert unpack_findings(packed, then, span) == {"some-rule": [at_row]}
    [moved] = unpack_findings(packed, now, span)["some-rule"]
    assert (moved.line, moved.related[0].site, moved.related[1].site) == (27, Site("m.yaml", 25), Site("l.sh", 5))
    assert outside_paths(at_row, then, span) == {"l.sh", "r.yaml"}


def test_a_line_that_became_two_is_not_taken():
    at_row = finding(path="m.yaml", line=5, column=3, end_line=5, end_column=9)
    packed = pack_findings({"some-rule": [at_row]}, place(row=5, tp=5), span)
    with pytest.raises(Unpackable):
        unpack_findings(packed, place(row=5, tp=6), span)


@pytest.mark.parametrize(
    "fields",
    [{"path": "m.yaml", "line": 5, "column": 4, "end_line": 5}, {"path": "m.yaml", "line": 99}, {"message": "as m.yaml:7 says"}],
)
def test_what_does_not_move_depends_on_the_file(fields: dict[str, object]):
    assert "m.yaml" in outside_paths(finding(**fields), place(row=5, tp=7), span)
