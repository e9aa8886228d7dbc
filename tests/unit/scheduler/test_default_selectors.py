"""Default selectors of pods from services and owners (cases of spread_test.go)."""

from __future__ import annotations

from msgspec import structs

from podling.api.meta_v1 import OwnerReference
from podling.machinery.selectors import NOTHING, from_labels
from podling.scheduler.default_selectors import Workloads
from podling.scheduler.podfacts import PodFacts, facts_of
from tests.unit.scheduler.scheduling import facts

SET = ("ReplicaSet", "default", "web")


def owned(*, controller: bool = True, kind: str = "ReplicaSet", version: str = "apps/v1") -> PodFacts:
    pod = facts(labels={"app": "web"}).pod
    ref = OwnerReference(api_version=version, kind=kind, name="web", uid="r1", controller=controller)
    return facts_of(structs.replace(pod, metadata=structs.replace(pod.metadata, owner_references=(ref,))))


def test_selectors_of_services_and_owner_are_joined() -> None:
    workloads = Workloads()
    workloads.set_service("default", "web", {"app": "web"})
    workloads.set_service("default", "db", {"app": "db"})
    workloads.set_service("other", "web", {"never": "seen"})
    workloads.set_owner(SET, from_labels({"hash": "1"}))
    found = workloads.selector_for(owned())
    assert found is not None
    assert found.matches({"app": "web", "hash": "1"})
    assert not found.matches({"app": "web"})
    assert not found.matches({"hash": "1"})


def test_pod_without_service_and_owner_has_no_default_selector() -> None:
    workloads = Workloads()
    workloads.set_owner(SET, from_labels({"hash": "1"}))
    assert workloads.selector_for(facts(labels={"app": "web"})) is None
    assert workloads.selector_for(owned(controller=False)) is None
    assert workloads.selector_for(owned(kind="DaemonSet")) is None


def test_owner_of_another_group_is_not_taken_for_one_of_kubernetes() -> None:
    workloads = Workloads()
    workloads.set_owner(("StatefulSet", "default", "web"), from_labels({"hash": "1"}))
    workloads.set_owner(("ReplicationController", "default", "web"), from_labels({"hash": "2"}))
    assert workloads.selector_for(owned(kind="StatefulSet", version="apps.kruise.io/v1beta1")) is None
    assert workloads.selector_for(owned(kind="StatefulSet")) is not None
    assert workloads.selector_for(owned(kind="ReplicationController")) is None
    assert workloads.selector_for(owned(kind="ReplicationController", version="v1")) is not None


def test_removed_services_and_owners_select_nothing() -> None:
    workloads = Workloads()
    workloads.set_service("default", "web", {"app": "web"})
    workloads.set_service("default", "web", {})
    workloads.set_owner(SET, from_labels({"hash": "1"}))
    workloads.remove_owner(SET)
    assert workloads.selector_for(owned()) is None
    workloads.set_owner(SET, NOTHING)
    assert workloads.selector_for(owned()) is None
