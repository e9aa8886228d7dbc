"""Dependents that the garbage collector deletes although their owner lives are found."""

from __future__ import annotations

import msgspec
import pytest

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.sim.checkers.living_owners import LivingOwners
from tests.support.checked import History

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": True}


def deployment() -> Deployment:
    return msgspec.convert(
        {"metadata": {"name": "web", "namespace": "default", "uid": "uid-web"}}, Deployment
    )


def replica_set(replicas: int) -> ReplicaSet:
    metadata = {"name": "rs", "namespace": "default", "uid": "uid-rs", "ownerReferences": [OWNER]}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": replicas}}, ReplicaSet)


@pytest.mark.parametrize(
    ("part", "replicas", "count"),
    [("controller-manager", 2, 1), ("controller-manager", 0, 0), ("administrator", 2, 0)],
)
def test_dependent_lives_as_its_owner_does(part: str, replicas: int, count: int) -> None:
    history = History(LivingOwners)
    history.write(deployment())
    history.write(replica_set(replicas))
    history.delete(replica_set(replicas))
    history.request("delete", replica_set(replicas), part=part)
    text = "replicasets/default/rs was deleted, although its owner Deployment web lives"
    assert history.texts == [text] * count


def test_dependent_of_a_deleted_owner_may_go() -> None:
    history = History(LivingOwners)
    history.write(deployment())
    history.write(replica_set(2))
    history.delete(deployment())
    history.delete(replica_set(2))
    history.request("delete", replica_set(2))
    assert not history.texts
