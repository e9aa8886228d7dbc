"""Scores by storage: the cases of upstream's ``scorer_test.go`` and of ``TestVolumeBinding`` with scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec import structs

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import StorageClass
from podling.scheduler.binding.volume_binder import VolumeBinding
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.defaults import with_gates
from podling.scheduler.configuration.plugin_args import UtilizationShapePoint, VolumeBindingArgs
from podling.scheduler.plugins.resource_shares import broken_linear
from podling.scheduler.plugins.volume_scores import StorageUse
from podling.scheduler.profiles import default_configuration
from tests.unit.scheduler.plugins.test_volume_binding import (
    DISKS,
    LATER,
    MORE,
    NAMED,
    NO_ROOM,
    PROVISIONED,
    capacity,
    claim,
    named_volume,
    user,
)
from tests.unit.scheduler.scheduling import cache_of, node

Shape = Sequence[tuple[int, int]]
RISING: Shape = ((0, 0), (100, 10))
STEEP: Shape = ((50, 0), (80, 3), (100, 5))


def shape_of(points: Shape) -> tuple[UtilizationShapePoint, ...]:
    return tuple(UtilizationShapePoint(utilization=percent, score=score) for percent, score in points)


@pytest.mark.parametrize(
    ("points", "requested", "score"),
    [
        (RISING, [0], 0),
        (RISING, [30], 30),
        (RISING, [50], 50),
        (RISING, [100], 100),
        (RISING, [0, 0], 0),
        (RISING, [0, 30], 15),
        (RISING, [30, 30], 30),
        (RISING, [30, 60], 45),
        (RISING, [50, 50], 50),
        (RISING, [50, 100], 75),
        (RISING, [100, 100], 100),
        (STEEP, [0, 0], 0),
        (STEEP, [0, 30], 0),
        (STEEP, [30, 30], 0),
        (STEEP, [30, 60], 5),
        (STEEP, [50, 100], 25),
        (STEEP, [90, 90], 40),
        (STEEP, [100, 100], 50),
    ],
)
def test_score_is_the_mean_over_classes(points: Shape, requested: list[int], score: int) -> None:
    """The cases of upstream's ``TestScore``: classes of 100 each, of which claims request a part."""
    use = StorageUse(1)
    for number, amount in enumerate(requested):
        use.add(f"class {number}", amount, 100, np.ones(1, np.bool_), shared=False)
    assert use.scores(broken_linear(shape_of(points))).tolist() == [score]


@pytest.mark.parametrize(("requested", "held", "score"), [(1, 0, 100), (101, 100, 100), (1, 200, 0)])
def test_class_without_enough_storage_counts_as_full(requested: int, held: int, score: int) -> None:
    use = StorageUse(1)
    use.add("local", requested, held, np.ones(1, np.bool_), shared=True)
    assert use.scores(broken_linear(shape_of(RISING))).tolist() == [score]


def sized(name: str, size: str, storage_class: str = "local") -> PersistentVolumeClaim:
    return claim(
        name=name, spec={"storageClassName": storage_class, "resources": {"requests": {"storage": size}}}
    )


def disk(name: str, size: str, key: str, value: str, storage_class: str = "local") -> PersistentVolume:
    expression = {"key": key, "operator": "In", "values": [value]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec = {"capacity": {"storage": size}, "nodeAffinity": affinity, "storageClassName": storage_class}
    return named_volume(name, "Available", **spec)


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
HDD: StorageClass = structs.replace(LATER, metadata=structs.replace(LATER.metadata, name="hdd"))
LOCAL = (
    disk("a0", "200Gi", HOST, "a"),
    disk("a1", "200Gi", HOST, "a"),
    disk("b0", "100Gi", HOST, "b"),
    disk("b1", "100Gi", HOST, "b"),
)
LOCAL_HDD = tuple(
    disk(f"{name}-hdd", size, HOST, name, "hdd") for name, size in (("a", "200Gi"), ("b", "100Gi"))
)
ZONAL = tuple(
    disk(f"{zone}{number}", size, ZONE, zone)
    for zone, size in (("a", "200Gi"), ("b", "100Gi"))
    for number in range(2)
)


def cluster(*nodes: str, zoned: bool = False) -> Cache:
    """Return the cache of nodes, each in the zone of its first letter."""
    cache = cache_of(*(node(name, labels={ZONE: name[0]} if zoned else {}) for name in nodes))
    cache.storage_classes.update({"local": LATER, "hdd": HDD})
    return cache


def scores(cache: Cache, claims: Sequence[PersistentVolumeClaim], points: Shape) -> dict[str, int]:
    """Return the scores of the feasible nodes for a pod that uses all the claims."""
    for each in claims:
        cache.claims["default", each.metadata.name or ""] = each
    plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=600, shape=shape_of(points)))
    pod, rows = user(*(NAMED, MORE)[: len(claims)]), cache.rows
    for rejected in plugin.filter(pod, cache, rows):
        rows = rows[~rejected.where]
    found = plugin.score(pod, cache, rows)
    assert found is not None
    return dict(zip([cache.name_of(row) for row in rows.tolist()], found.tolist(), strict=True))


@pytest.mark.parametrize(
    ("claims", "volumes", "points", "expected"),
    [
        ([sized("data", "50Gi")], LOCAL, RISING, {"a": 25, "b": 50}),
        (
            [sized("data", "50Gi"), sized("more", "100Gi", "hdd")],
            LOCAL + LOCAL_HDD,
            RISING,
            {"a": 38, "b": 75},
        ),
        ([sized("data", "50Gi"), sized("more", "100Gi")], LOCAL, RISING, {"a": 37, "b": 75}),
    ],
    ids=["one claim", "claims of two classes", "claims of one class"],
)
def test_volumes_of_the_right_size_score_by_the_shape(
    claims: list[PersistentVolumeClaim],
    volumes: tuple[PersistentVolume, ...],
    points: Shape,
    expected: dict[str, int],
) -> None:
    cache = cluster("a", "b", "c")
    for each in volumes:
        cache.volumes[each.metadata.name or ""] = each
    assert scores(cache, claims, points) == expected


@pytest.mark.parametrize(("points", "low", "high"), [(RISING, 25, 50), (((0, 0), (50, 3), (100, 5)), 15, 30)])
def test_volumes_of_zones_score_on_all_their_nodes(points: Shape, low: int, high: int) -> None:
    cache = cluster("a0", "a1", "b0", "b1", "c0", "c1", zoned=True)
    for each in ZONAL:
        cache.volumes[each.metadata.name or ""] = each
    expected = {"a0": low, "a1": low, "b0": high, "b1": high}
    assert scores(cache, [sized("data", "50Gi")], points) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([sized("data", "25Gi")], {"a": 75, "b": 50, "c": 0}),
        ([sized("data", "10Gi"), sized("more", "15Gi")], {"a": 75, "b": 50, "c": 0}),
    ],
    ids=["one claim", "claims of one class share the capacity"],
)
def test_volumes_to_be_made_prefer_the_most_capacity(
    claims: list[PersistentVolumeClaim], expected: dict[str, int]
) -> None:
    """The default shape; the driver of ``c`` reports the largest volume only."""
    cache = cluster("a", "b", "c", "d")
    cache.storage_classes["local"], cache.csi_drivers[DISKS] = PROVISIONED, NO_ROOM
    reported = (capacity("100Gi", at="a"), capacity("50Gi", at="b"), capacity("", "40Gi", at="c"))
    cache.capacities.update({("default", each.metadata.name or ""): each for each in reported})
    assert scores(cache, claims, ((0, 10), (100, 0))) == expected


def test_existing_volume_decides_on_a_node_that_also_gets_a_new_one() -> None:
    cache = cluster("a", "b")
    cache.storage_classes["local"], cache.csi_drivers[DISKS] = PROVISIONED, NO_ROOM
    cache.volumes["a0"] = disk("a0", "20Gi", HOST, "a")
    cache.capacities["default", "all"] = capacity("100Gi")
    claims = [sized("data", "10Gi"), sized("more", "30Gi")]
    assert scores(cache, claims, RISING) == {"a": 50, "b": 40}


def test_driver_that_reports_nothing_scores_nothing() -> None:
    cache = cluster("a", "b")
    cache.storage_classes["local"] = PROVISIONED
    assert scores(cache, [sized("data", "10Gi")], ((0, 10), (100, 0))) == {"a": 0, "b": 0}


def test_nothing_is_scored_without_the_feature_gate() -> None:
    cache = cluster("a")
    assert VolumeBinding().score(user(), cache, cache.rows) is None
    (profile,) = with_gates(default_configuration(), {"StorageCapacityScoring": True}).profiles
    (args,) = (each.args for each in profile.plugin_config if each.name == "VolumeBinding")
    plugin = VolumeBinding(args)
    assert plugin.args.shape == shape_of(((0, 10), (100, 0)))
    assert plugin.score(user(), cache, cache.rows) is not None
    assert plugin.score(user({"name": "cache", "emptyDir": {}}), cache, cache.rows) is None
