"""Usage of objects against quotas, and the scopes of quotas."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim, Pod, ResourceQuotaSpec, Secret, Service
from podling.api.resource_v1 import ResourceClaim
from podling.machinery.encoding import codec
from podling.machinery.quantity import parse
from podling.machinery.quotas import exceeded, in_scope, total, unspecified, usage

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(metadata: dict[str, Any] | None = None, status: str = "Running", **spec: Any) -> Pod:
    plain = {"metadata": metadata or {}, "spec": {"containers": [], **spec}, "status": {"phase": status}}
    return codec.from_plain(plain, Pod)


def container(name: str = "a", limits: dict[str, str] | None = None, **requests: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests, "limits": limits or {}}}


def used(obj: Any, plural: str, group: str = "", now: datetime = NOW) -> dict[str, str]:
    return {name: str(amount) for name, amount in usage(obj, plural, group, now).items()}


@pytest.mark.parametrize(
    ("spec", "resources"),
    [
        ({}, {}),
        (
            {"initContainers": [container(cpu="1m", limits={"cpu": "2m"})]},
            {"cpu": "1m", "requests.cpu": "1m", "limits.cpu": "2m"},
        ),
        (
            {"containers": [container(memory="1Mi"), container("b", memory="2Mi", limits={"memory": "5Mi"})]},
            {"memory": "3Mi", "requests.memory": "3Mi", "limits.memory": "5Mi"},
        ),
        (
            {
                "initContainers": [container(cpu="200m"), container("b", cpu="100m")],
                "containers": [container("c", cpu="90m"), container("d", cpu="20m")],
            },
            {"cpu": "200m", "requests.cpu": "200m"},
        ),
        (
            {"containers": [container(**{"hugepages-2Mi": "4Mi"}, limits={"hugepages-2Mi": "4Mi"})]},
            {"hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
        ),
        (
            {"containers": [container(**{"example.com/gpu": "3"}, limits={"example.com/gpu": "3"})]},
            {"requests.example.com/gpu": "3"},
        ),
        (
            {"containers": [container(limits=None, **{"deviceclass.resource.kubernetes.io/dongle": "3"})]},
            {"requests.deviceclass.resource.kubernetes.io/dongle": "3"},
        ),
        (
            {"containers": [container(cpu="1")], "overhead": {"cpu": "1"}},
            {"cpu": "2", "requests.cpu": "2"},
        ),
        (
            {"containers": [container(cpu="1", limits={"cpu": "2"})], "overhead": {"cpu": "1"}},
            {"cpu": "2", "requests.cpu": "2", "limits.cpu": "3"},
        ),
        (
            {
                "initContainers": [
                    container("a", cpu="4", memory="100M", limits={"cpu": "8", "memory": "200M"}),
                    container("b", cpu="1", memory="50M", limits={"cpu": "2", "memory": "100M"}),
                ],
                "containers": [
                    container("c", cpu="1", memory="50M", limits={"cpu": "2", "memory": "100M"}),
                    container("d", cpu="2", memory="25M", limits={"cpu": "5", "memory": "50M"}),
                ],
            },
            {
                "cpu": "4",
                "requests.cpu": "4",
                "limits.cpu": "8",
                "memory": "100M",
                "requests.memory": "100M",
                "limits.memory": "200M",
            },
        ),
        (
            {"initContainers": [container(limits=None, **{"ephemeral-storage": "32Mi"})]},
            {"ephemeral-storage": "32Mi", "requests.ephemeral-storage": "32Mi"},
        ),
        (
            {"resources": {"requests": {"cpu": "1m"}, "limits": {"cpu": "2m"}}},
            {"cpu": "1m", "requests.cpu": "1m", "limits.cpu": "2m"},
        ),
        (
            {
                "resources": {"requests": {"memory": "1Mi"}, "limits": {"memory": "2Mi"}},
                "containers": [container(limits=None, **{"ephemeral-storage": "3Mi"})],
            },
            {
                "ephemeral-storage": "3Mi",
                "requests.ephemeral-storage": "3Mi",
                "memory": "1Mi",
                "requests.memory": "1Mi",
                "limits.memory": "2Mi",
            },
        ),
    ],
)
def test_pod_counts_under_every_name_of_its_resources(
    spec: dict[str, Any], resources: dict[str, str]
) -> None:
    assert used(pod(**spec), "pods") == {"count/pods": "1", "pods": "1", **resources}


def resized(
    spec: dict[str, Any], actual: dict[str, Any] | None, allocated: dict[str, str], reason: str = ""
) -> Pod:
    """Return a pod on a node, with one container that has been resized to ``spec``."""
    status: dict[str, Any] = {"phase": "Running"}
    if reason:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    own: dict[str, Any] = {"name": "a", "allocatedResources": allocated}
    if actual is not None:
        own["resources"] = actual
    status["containerStatuses"] = [own]
    held = {"nodeName": "n1", "containers": [{"name": "a", "resources": spec}]}
    return codec.from_plain({"metadata": {}, "spec": held, "status": status}, Pod)


# the container's resources in the specification, its actual and allocated ones, the reason of a pending
# resize, and what counts
RESIZES: list[tuple[dict[str, Any], dict[str, Any] | None, dict[str, str], str, dict[str, str]]] = [
    (
        {"requests": {"memory": "200Mi"}},
        {"requests": {"memory": "150Mi"}},
        {},
        "",
        {"requests.memory": "200Mi"},
    ),
    (
        {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}},
        {"requests": {"cpu": "150m"}},
        {},
        "",
        {"requests.cpu": "150m", "limits.cpu": "200m"},
    ),
    (
        {"requests": {"cpu": "100m", "memory": "200Mi"}},
        {"requests": {"cpu": "150m", "memory": "250Mi"}},
        {},
        "",
        {"requests.cpu": "150m", "requests.memory": "250Mi"},
    ),
    ({"requests": {"cpu": "100m"}}, None, {"cpu": "150m"}, "", {"requests.cpu": "100m"}),
    ({"requests": {"cpu": "100m"}}, {}, {"cpu": "150m"}, "", {"requests.cpu": "150m"}),
    ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, {}, "Infeasible", {"requests.cpu": "1"}),
    ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, {}, "Deferred", {"requests.cpu": "2"}),
    (
        {"limits": {"cpu": "2"}},
        {"limits": {"cpu": "3"}},
        {},
        "",
        {"limits.cpu": "3"},
    ),
    ({"limits": {"cpu": "2"}}, {"limits": {"cpu": "1"}}, {}, "Infeasible", {"limits.cpu": "1"}),
]


@pytest.mark.parametrize(("spec", "actual", "allocated", "reason", "counted"), RESIZES)
def test_pod_counts_what_its_containers_hold_during_a_resize(
    spec: dict[str, Any],
    actual: dict[str, Any] | None,
    allocated: dict[str, str],
    reason: str,
    counted: dict[str, str],
) -> None:
    found = used(resized(spec, actual, allocated, reason), "pods")
    assert {name: amount for name, amount in found.items() if "." in name} == counted


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_terminal_pod_counts_only_as_object(phase: str) -> None:
    assert used(pod(status=phase, containers=[container(cpu="1")]), "pods") == {"count/pods": "1"}


@pytest.mark.parametrize(("after", "counts"), [(0, True), (30, True), (31, False)])
def test_deleted_pod_stops_counting_after_its_grace_period(after: int, counts: bool) -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    found = used(pod(metadata=deleted), "pods", now=NOW + timedelta(seconds=after))
    assert found == {"count/pods": "1", **({"pods": "1"} if counts else {})}


@pytest.mark.parametrize(
    ("spec", "resources"),
    [
        ({"type": "ClusterIP", "ports": [{"port": 1}]}, {}),
        ({"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}, {"services.nodeports": "2"}),
        (
            {"type": "LoadBalancer", "ports": [{"port": 1}]},
            {"services.nodeports": "1", "services.loadbalancers": "1"},
        ),
        ({"type": "LoadBalancer"}, {"services.nodeports": "0", "services.loadbalancers": "1"}),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 1}]},
            {"services.nodeports": "0", "services.loadbalancers": "1"},
        ),
        (
            {
                "type": "LoadBalancer",
                "allocateLoadBalancerNodePorts": False,
                "ports": [{"port": 1, "nodePort": 30001}, {"port": 2}],
            },
            {"services.nodeports": "1", "services.loadbalancers": "1"},
        ),
    ],
)
def test_service_counts_its_node_ports_and_load_balancer(
    spec: dict[str, Any], resources: dict[str, str]
) -> None:
    service = codec.from_plain({"spec": spec}, Service)
    assert used(service, "services") == {"count/services": "1", "services": "1", **resources}


def claim(spec: dict[str, Any], status: dict[str, Any] | None = None) -> PersistentVolumeClaim:
    return codec.from_plain({"spec": spec, "status": status or {}}, PersistentVolumeClaim)


STORAGE = {"resources": {"requests": {"storage": "10Gi"}}}


def test_claim_counts_also_under_its_storage_class() -> None:
    plain = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "10Gi"}
    assert used(claim(STORAGE), "persistentvolumeclaims") == plain
    own = {
        f"gold.storageclass.storage.k8s.io/{name}": plain[name]
        for name in ("persistentvolumeclaims", "requests.storage")
    }
    assert used(claim({**STORAGE, "storageClassName": "gold"}), "persistentvolumeclaims") == {**plain, **own}


def exactly(count: int = 1, mode: str = "ExactCount", **more: Any) -> dict[str, Any]:
    return {"exactly": {"deviceClassName": "gpu", "allocationMode": mode, "count": count, **more}}


def one_of(*each: tuple[str, int]) -> dict[str, Any]:
    """Return a request for the first of several classes that is available; a count of 0 is for all."""
    alternatives = [
        {"deviceClassName": name, "allocationMode": "ExactCount" if count else "All", "count": count}
        for name, count in each
    ]
    return {"firstAvailable": alternatives}


@pytest.mark.parametrize(
    ("requests", "devices"),
    [
        ([exactly()], {"gpu": "1"}),
        ([exactly()] * 5, {"gpu": "5"}),
        ([exactly(5)], {"gpu": "5"}),
        ([exactly(0, "All")], {"gpu": "32"}),
        ([exactly(1, "future-mode")], {"gpu": "0"}),
        ([exactly(adminAccess=True)], {"gpu": "1"}),
        ([one_of(("gpu", 1))], {"gpu": "1"}),
        ([one_of(("gpu", 2), ("gpu", 1))], {"gpu": "2"}),
        ([one_of(("gpu", 1), ("gpu", 0))], {"gpu": "32"}),
        ([one_of(("gpu", 1), ("tpu", 0))], {"gpu": "1", "tpu": "32"}),
        ([one_of(("gpu", 1), ("tpu", 3)), exactly(2)], {"gpu": "3", "tpu": "3"}),
        ([], {}),
    ],
)
def test_resource_claim_counts_devices_by_their_class(
    requests: list[dict[str, Any]], devices: dict[str, str]
) -> None:
    """Cases of TestResourceClaimEvaluatorUsage in resource_claims_test.go."""
    obj = codec.from_plain({"spec": {"devices": {"requests": requests}}}, ResourceClaim)
    assert used(obj, "resourceclaims", "resource.k8s.io") == {
        "count/resourceclaims.resource.k8s.io": "1",
        **{f"{name}.deviceclass.resource.k8s.io/devices": count for name, count in devices.items()},
    }


def test_claim_counts_whole_bytes() -> None:
    found = used(claim({"resources": {"requests": {"storage": "1001m"}}}), "persistentvolumeclaims")
    assert found["requests.storage"] == "2"


@pytest.mark.parametrize(("allocated", "counted"), [("5Gi", "10Gi"), ("20Gi", "20Gi")])
def test_claim_counts_the_larger_of_request_and_allocation(allocated: str, counted: str) -> None:
    found = used(claim(STORAGE, {"allocatedResources": {"storage": allocated}}), "persistentvolumeclaims")
    assert found["requests.storage"] == counted


@pytest.mark.parametrize(
    ("plural", "group", "found"),
    [
        ("secrets", "", {"count/secrets": "1", "secrets": "1"}),
        ("endpoints", "", {"count/endpoints": "1"}),
        ("deployments", "apps", {"count/deployments.apps": "1"}),
        ("secrets", "example.com", {"count/secrets.example.com": "1"}),
        ("events", "", {}),
        ("events", "events.k8s.io", {}),
    ],
)
def test_other_objects_count_by_their_resource(plural: str, group: str, found: dict[str, str]) -> None:
    assert used(Secret(), plural, group) == found


def scoped(*scopes: str, **expression: Any) -> ResourceQuotaSpec:
    plain: dict[str, Any] = {"scopes": list(scopes)}
    if expression:
        plain["scopeSelector"] = {"matchExpressions": [expression]}
    return codec.from_plain(plain, ResourceQuotaSpec)


def of_class(operator: str, *values: str) -> ResourceQuotaSpec:
    return scoped(scopeName="PriorityClass", operator=operator, values=list(values))


HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
BEST_EFFORT = pod(containers=[{"name": "a"}])
BURSTABLE = pod(containers=[container(cpu="1")], activeDeadlineSeconds=5, priorityClassName="high")
TERM = {"topologyKey": "zone", "labelSelector": {}}


def anti_affine(term: dict[str, Any]) -> Pod:
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    return pod(affinity={"podAntiAffinity": terms})


def of_attributes(operator: str, *values: str) -> ResourceQuotaSpec:
    one = {"scopeName": "VolumeAttributesClass", "operator": operator, "values": list(values)}
    return codec.from_plain({"scopeSelector": {"matchExpressions": [one]}}, ResourceQuotaSpec)


MODIFIED = claim(
    {"volumeAttributesClassName": "a"},
    {"currentVolumeAttributesClassName": "b", "modifyVolumeStatus": {"targetVolumeAttributesClassName": "c"}},
)


@pytest.mark.parametrize(
    ("spec", "obj", "concerned"),
    [
        (scoped(), Secret(), True),
        (scoped("BestEffort"), Secret(), False),
        (scoped("BestEffort"), BEST_EFFORT, True),
        (scoped("NotBestEffort"), BEST_EFFORT, False),
        (scoped("NotBestEffort"), BURSTABLE, True),
        (scoped("Terminating"), BURSTABLE, True),
        (scoped("Terminating"), BEST_EFFORT, False),
        (scoped("NotTerminating"), BEST_EFFORT, True),
        (scoped("Terminating", "BestEffort"), BURSTABLE, False),
        (scoped("PriorityClass"), BURSTABLE, True),
        (scoped("PriorityClass"), BEST_EFFORT, False),
        (of_class("In", "high"), BURSTABLE, True),
        (of_class("In", "low"), BURSTABLE, False),
        (of_class("NotIn", "low"), BURSTABLE, True),
        (of_class("DoesNotExist"), BEST_EFFORT, True),
        (scoped("PriorityClass", **HIGH), BURSTABLE, True),
        (scoped("PriorityClass", **HIGH), BEST_EFFORT, False),
        (scoped("PriorityClass", "BestEffort", **HIGH), BURSTABLE, False),
        (scoped("CrossNamespacePodAffinity"), BEST_EFFORT, False),
        (scoped("CrossNamespacePodAffinity"), anti_affine(TERM), False),
        (scoped("CrossNamespacePodAffinity"), anti_affine({**TERM, "namespaces": ["b"]}), True),
        (scoped("CrossNamespacePodAffinity"), anti_affine({**TERM, "namespaceSelector": {}}), True),
        (scoped("BestEffort"), claim(STORAGE), False),
        (scoped("VolumeAttributesClass"), claim(STORAGE), False),
        (scoped("VolumeAttributesClass"), claim({"volumeAttributesClassName": "fast"}), True),
        (of_attributes("DoesNotExist"), claim({}), True),
        (of_attributes("Exists"), claim({}), False),
        (of_attributes("NotIn", "d"), claim({}), True),
        (of_attributes("In", "a"), claim({}), False),
        (of_attributes("DoesNotExist"), MODIFIED, False),
        (of_attributes("In", "a"), MODIFIED, True),
        (of_attributes("In", "b"), MODIFIED, True),
        (of_attributes("In", "c"), MODIFIED, True),
        (of_attributes("In", "a", "b", "c", "d"), MODIFIED, True),
        (of_attributes("In", "d"), MODIFIED, False),
        (of_attributes("NotIn", "d"), MODIFIED, True),
    ],
)
def test_scopes_select_objects(spec: ResourceQuotaSpec, obj: Any, concerned: bool) -> None:
    assert in_scope(spec, obj) is concerned


def test_unspecified_names_containers_without_limited_resources() -> None:
    obj = pod(
        containers=[container("a", cpu="1"), container("b", limits={"cpu": "1"})],
        initContainers=[container("c")],
    )
    assert unspecified(obj, ["requests.cpu", "limits.cpu", "pods"]) == {
        "limits.cpu": ["a", "c"],
        "requests.cpu": ["b", "c"],
    }
    assert unspecified(obj, ["pods", "requests.ephemeral-storage"]) == {}


def test_unspecified_resources_are_named_by_side_of_init_containers_too() -> None:
    obj = pod(containers=[container("foo"), container("bar")])
    assert unspecified(obj, ["memory", "cpu"]) == {"cpu": ["foo", "bar"], "memory": ["foo", "bar"]}
    only_init = pod(initContainers=[container("dummy", cpu="1m", limits={"cpu": "2m"})])
    assert unspecified(only_init, ["memory"]) == {"memory": ["dummy"]}


def test_resources_of_the_pod_make_those_of_containers_optional() -> None:
    obj = pod(containers=[{"name": "a"}], resources={"requests": {"cpu": "1"}})
    assert unspecified(obj, ["cpu", "memory"]) == {}


def test_total_adds_the_named_resources_only() -> None:
    each = [{"cpu": parse("100m"), "pods": parse("1")}, {"cpu": parse("1"), "memory": parse("1Mi")}]
    assert total(each, ["cpu", "pods", "services"]) == {
        "cpu": parse("1100m"),
        "pods": parse("1"),
        "services": parse("0"),
    }


@pytest.mark.parametrize(
    ("held", "more", "names"),
    [
        ("1", "1", []),
        ("1", "1001m", ["cpu"]),
        ("5", "0", []),
        ("5", "1m", ["cpu"]),
    ],
)
def test_limit_is_exceeded_by_additions_only(held: str, more: str, names: list[str]) -> None:
    hard = {"cpu": parse("2"), "pods": parse("0")}
    assert exceeded(hard, {"cpu": parse(held)}, {"cpu": parse(more), "memory": parse("9")}) == names
