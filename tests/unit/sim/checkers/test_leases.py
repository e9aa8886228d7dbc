"""Leases that change hands too early are found."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.meta_v1 import ObjectMeta
from podling.sim.checkers.leases import Leases
from tests.support.checked import BEGIN, History


def lease(holder: str) -> Lease:
    spec = LeaseSpec(holder_identity=holder, lease_duration_seconds=40, renew_time=BEGIN)
    return Lease(metadata=ObjectMeta(name="n", namespace="kube-node-lease", uid="u"), spec=spec)


@pytest.mark.parametrize(
    ("holder", "seconds", "is_found"), [("b", 30, True), ("b", 40, False), ("a", 10, False), ("", 10, False)]
)
def test_lease_is_taken_after_it_has_expired(holder: str, seconds: int, is_found: bool) -> None:
    history = History(Leases)
    history.write(lease("a"))
    history.at = BEGIN + timedelta(seconds=seconds)
    history.write(lease(holder))
    text = f"leases/kube-node-lease/n was held by a until 00:00:40; {holder} has taken it"
    assert history.texts == ([text] if is_found else [])


def test_lease_that_was_given_up_may_be_taken() -> None:
    history = History(Leases)
    for holder in ("a", "", "b"):
        history.write(lease(holder))
    assert not history.texts
