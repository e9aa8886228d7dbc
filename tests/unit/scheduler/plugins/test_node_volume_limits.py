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


@pytest.mark.parametrize(("gone", "helps"), [(user("c1"), True), (pod(), False)])
def test_deleted_pod_helps_if_it_had_claims(gone: Any, helps: bool) -> None:
    change = PodChange(PodEvent.DELETED, facts_of(gone))
    assert PLUGIN.wakes_for_pod(facts_of(user("c0")), change, cache_of()) is helps
