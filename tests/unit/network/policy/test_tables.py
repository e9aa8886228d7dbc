"""Recorded changes of tables: nothing more than the difference between two writes."""

from __future__ import annotations

from podling.network.policy.chains import Chain
from podling.network.policy.tables import Changes, RecordedTables

CHAIN = Chain(direction="ingress", matches=())


def test_undone_changes_are_no_change() -> None:
    tables = RecordedTables((4,))
    tables.add_set("pods_1_4")
    tables.put("pods_1_4", "10.0.0.1")
    tables.add_chain(CHAIN)
    assert tables.has_changes
    tables.remove_chain(CHAIN.name)
    tables.remove_set("pods_1_4")
    assert not tables.take()
    assert not tables.has_changes


def test_set_that_comes_back_keeps_its_equal_elements() -> None:
    tables = RecordedTables((4,))
    tables.add_set("pods_1_4")
    for address in ("10.0.0.1", "10.0.0.2"):
        tables.put("pods_1_4", address)
    assert tables.take() == Changes(
        new_sets=("pods_1_4",), added={"pods_1_4": {"10.0.0.1": "", "10.0.0.2": ""}}
    )
    tables.remove_set("pods_1_4")
    tables.add_set("pods_1_4")
    for address in ("10.0.0.2", "10.0.0.3"):
        tables.put("pods_1_4", address)
    assert tables.take() == Changes(removed={"pods_1_4": ("10.0.0.1",)}, added={"pods_1_4": {"10.0.0.3": ""}})


def test_changed_verdict_is_removed_and_added() -> None:
    tables = RecordedTables((4,))
    tables.put("ingress_4", "10.0.0.1", "one")
    tables.take()
    tables.put("ingress_4", "10.0.0.1", "two")
    assert tables.take() == Changes(
        removed={"ingress_4": ("10.0.0.1",)}, added={"ingress_4": {"10.0.0.1": "two"}}
    )


def test_snapshot_does_not_follow_later_changes() -> None:
    tables = RecordedTables((4,))
    before = tables.tables()
    tables.put("ingress_4", "10.0.0.1", "one")
    assert before.sets["ingress_4"] == {}
