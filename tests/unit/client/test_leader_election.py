"""Who may write the lease, as a table over what was seen and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from podling.api.coordination_v1 import LeaseSpec
from podling.client.leader import Sighting, Timing, Wait, Write, decide, released, sight

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(seconds=100)
TIMING = Timing()


def held_by(holder: str, transitions: int = 3) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=15,
        acquire_time=EARLIER,
        renew_time=EARLIER,
        lease_transitions=transitions,
    )


def test_without_a_lease_the_first_to_come_takes_it() -> None:
    decision = decide("a", None, TIMING, NOW, 50.0)
    assert decision == Write(
        LeaseSpec(
            holder_identity="a",
            lease_duration_seconds=15,
            acquire_time=NOW,
            renew_time=NOW,
            lease_transitions=0,
        )
    )


def test_the_holder_renews_and_keeps_its_start() -> None:
    decision = decide("a", Sighting(held_by("a"), 0.0), TIMING, NOW, 50.0)
    assert isinstance(decision, Write)
    assert decision.record.acquire_time == EARLIER
    assert decision.record.renew_time == NOW
    assert decision.record.lease_transitions == 3


def test_another_waits_for_fifteen_seconds_since_it_saw_the_record_change() -> None:
    """The record's own times do not count: they come from another machine's clock."""
    seen = Sighting(held_by("a"), 50.0)
    assert decide("b", seen, TIMING, NOW, 64.9) == Wait("a")
    taken = decide("b", seen, TIMING, NOW, 65.0)
    assert isinstance(taken, Write)
    assert (taken.record.holder_identity, taken.record.lease_transitions) == ("b", 4)
    assert taken.record.acquire_time == NOW


def test_a_changed_record_starts_the_wait_again() -> None:
    first = sight(None, held_by("a"), 50.0)
    assert sight(first, held_by("a"), 60.0) == first
    assert sight(first, held_by("a", transitions=4), 60.0).at == 60.0


def test_a_released_lease_is_free_at_once() -> None:
    seen = Sighting(released(held_by("a"), NOW), 50.0)
    assert isinstance(decide("b", seen, TIMING, NOW, 50.0), Write)
