"""What names of recipes say."""

from __future__ import annotations

import pytest

from reviewbot.documents.claims import NameClaims, name_claims


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("disagg-b200-1p2d-tp4-dep8-c16", NameClaims((1, 2), ((("tp", 4),), (("dep", 8),)), (16,))),
        ("agg-b200-tp8pp2-c16-conc32", NameClaims(None, ((("tp", 8), ("pp", 2)),), (16, 32))),
        ("ctx1dep2_gen13tp4_mtp0_c78", NameClaims((1, 13), ((("dep", 2),), (("tp", 4),)), (78,))),
        ("ctx1dep2_c78", NameClaims(None, (), (78,))),
        ("tp8-tpot-c", NameClaims(None, ((("tp", 8),),), ())),
        ("low-latency", NameClaims(None, (), ())),
    ],
)
def test_name_claims(name: str, claims: NameClaims):
    assert name_claims(name) == claims
