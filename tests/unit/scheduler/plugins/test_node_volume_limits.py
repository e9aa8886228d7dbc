"""NodeVolumeLimits: the number of volumes of a CSI driver that a node takes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.framework import ObjectChange, PodChange, PodEvent
from podling.scheduler.plugins.node_volume_limits import REASON, NodeVolumeLimits
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.plugins.volumes import (
    DRIVER,
    attachment,
    cache_with,
    claim,
    csi_node,
    storage_class,
    user,
    volume,
)
from tests.unit.scheduler.scheduling import cache_of, node, pod, rejections, unresolvable

PLUGIN = NodeVolumeLimits()
BOUND = [
    *(claim(f"c{number}", f"pv{number}") for number in range(5)),
    *(volume(f"pv{number}", driver=DRIVER) for number in range(5)),
]


@pytest.mark.parametrize(
    ("wanted", "there", "more", "full"),
    [
        (["c0"], [], [csi_node("n", 1)], False),
        (["c0"], ["c1"], [csi_node("n", 1)], True),
        (["c0"], ["c1"], [csi_node("n", 2)], False),
        (["c0", "c1"], ["c2"], [csi_node("n", 2)], True),
        (["c0"], ["c0"], [csi_node("n", 1)], False),
        (["c0"], ["c1", "c2"], [csi_node("n", None)], False),
        (["c0"], ["c1", "c2"], [], False),
        (["c0"], ["c1"], [csi_node("n", 1, "other.example.com")], False),
        (["c0"], [], [csi_node("n", 0)], True),
        (["c0"], [], [csi_node("n", 1), attachment("pv1", "n")], True),
        (["c0"], ["c1"], [csi_node("n", 2), attachment("pv1", "n")], False),
        (["c0"], [], [csi_node("n", 1), attachment("pv1", "m")], False),
        (["missing"], ["c1"], [csi_node("n", 1)], False),
        ([], ["c1", "c2"], [csi_node("n", 1)], False),
    ],
)
def test_node_takes_as_many_volumes_as_its_limit(
    wanted: list[str], there: list[str], more: list[Any], full: bool
) -> None:
    cache = cache_with([node("n"), node("free")], *BOUND, *more, pods={"n": [user(each) for each in there]})
    one = facts_of(user(*wanted))
    assert rejections(PLUGIN, one, cache) == ({"n": [REASON]} if full else {})
    assert unresolvable(PLUGIN, one, cache) == []


OTHER = "other.example.com"
MANY = [
    *BOUND,
    *(claim(f"o{number}", f"other{number}") for number in range(2)),
    *(volume(f"other{number}", driver=OTHER) for number in range(2)),
    *(claim("plain", "plain"), volume("plain")),
    *(claim(name, of_class="c") for name in ("late", "later")),
    claim("lost", "gone", of_class="c"),
    *(claim("no-class"), claim("lost-without-class", "gone")),
    storage_class("c"),
]


@pytest.mark.parametrize(
    ("wanted", "there", "more", "full"),
    [
        (["c0"], [["c3"], ["c1", "c2"]], [csi_node("n", 4)], False),
        (["c0"], [["c3"], ["c1", "c2"]], [csi_node("n", 2)], True),
        (["c0"], [["late"], ["c1", "c2"]], [csi_node("n", 3)], True),
        (["c0"], [["late"], ["late"], ["c1", "c2"]], [csi_node("n", 4)], False),
        (["c0"], [["lost"], ["c1"]], [csi_node("n", 2)], True),
        (["c0"], [["no-class"], ["c1"]], [csi_node("n", 2)], False),
        (["c0"], [["lost-without-class"], ["c1"]], [csi_node("n", 2)], False),
        (["c0"], [["o0", "o1"], ["c1", "c2"]], [csi_node("n", 2)], True),
        (["o0", "o1"], [["c1", "c2"], ["c3"]], [csi_node("n", 2, OTHER)], False),
        (["plain"], [["c1", "c2"]], [csi_node("n", 2)], False),
        (["c0"], [["plain"], ["c1"]], [csi_node("n", 2)], False),
        (["later"], [["c1", "c2"]], [csi_node("n", 2)], True),
        (["c0"], [], [csi_node("n", 2), attachment("pv0", "n"), attachment("pv1", "n")], True),
        (["c0"], [], [csi_node("n", 2), attachment("pv0", "n")], False),
        (["c0"], [["c0"]], [csi_node("n", 1), attachment("pv0", "n")], False),
    ],
    ids=[
        "below the limit",
        "above the limit",
        "unbound claim counts",
        "unbound claim counts once",
        "claim of a missing volume counts by its class",
        "claim without a class does not count",
        "claim of a missing volume without a class does not count",
        "limit is for one driver",
        "volumes of another driver do not count",
        "volume without a driver is not limited",
        "volume without a driver does not count",
        "unbound claim is limited",
        "attached volumes count without pods",
        "attached volumes below the limit",
        "attached volume of a pod there counts once",
    ],
)
def test_volumes_count_by_driver(
    wanted: list[str], there: list[list[str]], more: list[Any], full: bool
) -> None:
    """The cases of upstream's ``TestCSILimits``, but for volumes of drivers in the tree."""
    cache = cache_with([node("n")], *MANY, *more, pods={"n": [user(*each) for each in there]})
    assert rejections(PLUGIN, facts_of(user(*wanted)), cache) == ({"n": [REASON]} if full else {})


def test_claim_without_volume_counts_for_the_driver_of_its_class() -> None:
    late = [claim("late", of_class="c"), claim("later", of_class="c"), storage_class("c")]
    cache = cache_with([node("n")], *late, csi_node("n", 1), pods={"n": [user("late")]})
    assert rejections(PLUGIN, facts_of(user("later")), cache) == {"n": [REASON]}
    assert rejections(PLUGIN, facts_of(user("late")), cache) == {}


@pytest.mark.parametrize(
    ("kind", "new", "old", "helps"),
    [
        ("CSINode", csi_node("n", 1), None, True),
        ("CSINode", csi_node("n", 2), csi_node("n", 1), True),
        ("CSINode", csi_node("n", 1), csi_node("n", 2), False),
        ("CSINode", csi_node("n", 1), csi_node("n", 1), False),
        ("CSINode", None, csi_node("n", 2), False),
        ("VolumeAttachment", None, attachment("pv1", "n"), True),
        ("VolumeAttachment", attachment("pv1", "n"), None, False),
        ("PersistentVolumeClaim", claim("c0"), None, True),
        ("PersistentVolumeClaim", claim("c1"), None, False),
    ],
)
def test_change_of_an_object_helps_if_it_frees_a_place(kind: str, new: Any, old: Any, helps: bool) -> None:
    change = ObjectChange(kind, new, old)
    assert PLUGIN.wakes_for_object(facts_of(user("c0")), change, cache_of()) is helps


def test_detached_volume_does_not_help_a_pod_without_claims() -> None:
    change = ObjectChange("VolumeAttachment", None, attachment("pv1", "n"))
    assert not PLUGIN.wakes_for_object(facts_of(pod()), change, cache_of())


@pytest.mark.parametrize(("gone", "helps"), [(user("c1"), True), (pod(), False)])
def test_deleted_pod_helps_if_it_had_claims(gone: Any, helps: bool) -> None:
    change = PodChange(PodEvent.DELETED, facts_of(gone))
    assert PLUGIN.wakes_for_pod(facts_of(user("c0")), change, cache_of()) is helps
