"""VolumeZone: volumes whose labels name zones and regions, of which a node must have each."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.framework import Hopeless, ObjectChange
from podling.scheduler.plugins.volume_zone import (
    BETA_REGION,
    BETA_ZONE,
    REASON,
    REGION,
    ZONE,
    VolumeZone,
    topologies_of,
)
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.plugins.volumes import cache_with, claim, storage_class, user, volume
from tests.unit.scheduler.scheduling import cache_of, node, rejections, unresolvable

PLUGIN = VolumeZone()


@pytest.mark.parametrize(
    ("of_volume", "of_node", "fits"),
    [
        ({ZONE: "1"}, {}, True),
        ({ZONE: "1"}, {ZONE: "1", "uselessLabel": "none"}, True),
        ({BETA_ZONE: "1"}, {BETA_ZONE: "1"}, True),
        ({BETA_ZONE: "1"}, {ZONE: "1"}, True),
        ({ZONE: "1"}, {BETA_ZONE: "1"}, False),
        ({ZONE: "1"}, {ZONE: "2"}, False),
        ({ZONE: "1__2"}, {ZONE: "2"}, True),
        ({ZONE: "1__2"}, {ZONE: "3"}, False),
        ({ZONE: "1__"}, {ZONE: "3"}, True),
        ({REGION: "r"}, {REGION: "r"}, True),
        ({REGION: "r"}, {REGION: "s"}, False),
        ({REGION: "r"}, {ZONE: "1"}, False),
        ({BETA_REGION: "r", BETA_ZONE: "1"}, {REGION: "r", ZONE: "1"}, True),
        ({REGION: "r", ZONE: "1"}, {REGION: "r", ZONE: "2"}, False),
        ({}, {ZONE: "1"}, True),
        ({"other": "1"}, {ZONE: "1"}, True),
    ],
)
def test_node_must_be_in_the_zones_of_the_volume(of_volume: Any, of_node: Any, fits: bool) -> None:
    cache = cache_with([node("n", labels=of_node)], claim("data", "pv"), volume("pv", labels=of_volume))
    one = facts_of(user("data"))
    assert rejections(PLUGIN, one, cache) == ({} if fits else {"n": [REASON]})
    assert unresolvable(PLUGIN, one, cache) == ([] if fits else ["n"])


@pytest.mark.parametrize(
    ("objects", "name", "text"),
    [
        ((), "data", 'persistentvolumeclaim "data" not found'),
        ((), "", "PersistentVolumeClaim had no name"),
        ((claim("data"),), "data", "PersistentVolumeClaim had no pv name and storageClass name"),
        ((claim("data", "pv"),), "data", 'persistentvolume "pv" not found'),
        ((claim("data", of_class="c"),), "data", 'storageclass.storage.k8s.io "c" not found'),
        (
            (claim("data", of_class="c"), storage_class("c", None)),
            "data",
            'VolumeBindingMode not set for StorageClass "c"',
        ),
        ((claim("data", of_class="c"), storage_class("c")), "data", "PersistentVolume had no name"),
    ],
)
def test_claim_without_a_volume_is_reported(objects: Any, name: str, text: str) -> None:
    with pytest.raises(Hopeless) as hopeless:
        PLUGIN.candidates(facts_of(user(name)), cache_with([node("n")], *objects))
    assert str(hopeless.value) == text


def test_claim_that_is_bound_later_has_no_zone_yet() -> None:
    late = storage_class("c", "WaitForFirstConsumer")
    cache = cache_with([node("n", labels={ZONE: "1"})], claim("data", of_class="c"), late)
    assert PLUGIN.candidates(facts_of(user("data")), cache) is None
    assert rejections(PLUGIN, facts_of(user("data")), cache) == {}


@pytest.mark.parametrize(
    ("kind", "new", "old", "helps"),
    [
        ("PersistentVolumeClaim", claim("data"), None, True),
        ("PersistentVolumeClaim", claim("other"), None, False),
        ("PersistentVolumeClaim", None, claim("data"), False),
        ("StorageClass", storage_class("c", "WaitForFirstConsumer"), None, True),
        ("StorageClass", storage_class("c"), None, False),
        ("PersistentVolume", volume("pv"), None, True),
        ("PersistentVolume", volume("pv", labels={ZONE: "2"}), volume("pv", labels={ZONE: "1"}), True),
        ("PersistentVolume", volume("pv", labels={"a": "b"}), volume("pv"), False),
    ],
)
def test_change_of_an_object_helps_if_it_changes_zones(kind: str, new: Any, old: Any, helps: bool) -> None:
    change = ObjectChange(kind, new, old)
    assert PLUGIN.wakes_for_object(facts_of(user("data")), change, cache_of()) is helps


def test_label_may_name_several_zones() -> None:
    assert list(topologies_of(volume("pv", labels={ZONE: "1__2", REGION: "__"}))) == [(ZONE, ("1", "2"))]
