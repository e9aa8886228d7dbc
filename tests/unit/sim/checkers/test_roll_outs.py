"""Roll-outs that exceed their surge or take too many pods are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.sim.checkers.roll_outs import Bounds, RollOuts, bounds_of
from tests.support.checked import History


def deployment(replicas: int | None = 4, **strategy: Any) -> Deployment:
    metadata = {"name": "web", "namespace": "default", "uid": "uid-web"}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"replicas": replicas, "strategy": strategy}}, Deployment
    )


def replica_set(name: str, replicas: int) -> ReplicaSet:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": "uid-web",
        "controller": True,
    }
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": [owner]}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": replicas}}, ReplicaSet)


@pytest.mark.parametrize(
    ("replicas", "rolling", "bounds"),
    [
        (4, {}, Bounds(3, 5)),
        (10, {}, Bounds(8, 13)),
        (1, {}, Bounds(1, 2)),
        (None, {}, Bounds(1, 2)),
        (4, {"maxSurge": 0, "maxUnavailable": "10%"}, Bounds(3, 4)),
        (4, {"maxSurge": "100%", "maxUnavailable": 0}, Bounds(4, 8)),
    ],
)
def test_bounds_are_rounded_as_kubernetes_does(
    replicas: int, rolling: dict[str, Any], bounds: Bounds
) -> None:
    assert bounds_of(deployment(replicas, rollingUpdate=rolling)) == bounds


def test_recreation_has_no_bounds() -> None:
    assert bounds_of(deployment(type="Recreate")) is None


@pytest.mark.parametrize(
    ("name", "replicas", "text"),
    [
        ("new", 1, ""),
        ("new", 2, "replicasets/default/new grows to 2: 6 replicas, where 5 are allowed"),
        ("old", 3, ""),
        ("old", 2, "replicasets/default/old shrinks to 2: 2 replicas, where 3 must be left"),
    ],
)
def test_replica_sets_keep_to_the_bounds(name: str, replicas: int, text: str) -> None:
    history = History(RollOuts)
    history.write(deployment())
    history.write(replica_set("old", 4))
    history.wait(70)
    history.write(replica_set(name, replicas))
    assert history.texts == ([text] if text else [])


def test_earlier_bounds_count_for_a_minute() -> None:
    history = History(RollOuts)
    history.write(deployment(8))
    history.write(replica_set("old", 6))
    history.write(deployment(4))
    history.write(replica_set("old", 8))
    assert not history.texts
    history.wait(70)
    history.write(replica_set("old", 9))
    assert len(history.texts) == 1
