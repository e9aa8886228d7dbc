"""A namespace that is deleted empties itself, pods first, and says what it waits for."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from msgspec import structs

from podling.api.apiregistration_v1 import APIService, APIServiceSpec, ServiceReference
from podling.api.core_v1 import (
    ConfigMap,
    Namespace,
    NamespaceCondition,
    NamespaceSpec,
    Pod,
    PodSpec,
    PodStatus,
    Service,
)
from podling.api.meta_v1 import ObjectMeta
from podling.client.local import LocalClient
from podling.controllers.namespace import (
    NamespaceController,
    Remains,
    conditions_after,
    termination_estimate,
)
from podling.machinery.conditions import find
from podling.machinery.errors import ApiError, no_such_resource
from podling.machinery.scheme import resource_of
from podling.sim.connection import Connection, RequestFault
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running


async def make_namespace(cluster: ControlPlane) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))


async def exists(cluster: ControlPlane) -> bool:
    return any(each.metadata.name == "team" for each in (await cluster.client.list(Namespace)).items)


async def condition(cluster: ControlPlane, type_: str) -> NamespaceCondition:
    found = find((await cluster.client.get(Namespace, "team")).status.conditions, type_)
    assert found is not None
    return found


async def hold(cluster: ControlPlane) -> None:
    """Create an object in the namespace that a foreign finalizer holds."""
    held = ObjectMeta(name="held", namespace="team", finalizers=("example.com/hold",))
    await cluster.client.create(ConfigMap(metadata=held))


async def test_it_takes_everything_in_it_along(cluster: ControlPlane) -> None:
    await make_namespace(cluster)
    for name in ("a", "b"):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="team")))
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=1)
        assert not await exists(cluster)
        assert (await cluster.client.list(ConfigMap, "team")).items == ()


async def test_pods_go_before_everything_else(cluster: ControlPlane) -> None:
    await make_namespace(cluster)
    await cluster.client.create(pod("busy", "team", node="n1", termination_grace_period_seconds=30))
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="settings", namespace="team")))
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=20)
        assert (await cluster.client.get(Pod, "busy", "team")).metadata.deletion_timestamp is not None
        await cluster.client.get(ConfigMap, "settings", "team")
        remaining = await condition(cluster, "NamespaceContentRemaining")
        assert remaining.message == "Some resources are remaining: pods. has 1 resource instances"
        # The kubelet is done: the namespace notices at once.
        await cluster.client.delete(Pod, "busy", "team", grace_seconds=0)
        await cluster.advance(seconds=0.1)
        assert not await exists(cluster)


async def test_it_waits_for_other_peoples_finalizers_and_names_them(cluster: ControlPlane) -> None:
    await make_namespace(cluster)
    await hold(cluster)
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(minutes=10)
        finalizers = await condition(cluster, "NamespaceFinalizersRemaining")
        assert (finalizers.status, finalizers.reason) == ("True", "SomeFinalizersRemain")
        assert finalizers.message == (
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        )
        await cluster.client.patch(ConfigMap, "held", {"metadata": {"finalizers": None}}, "team")
        await cluster.advance(seconds=8)
        assert not await exists(cluster)


async def test_another_finalizer_of_its_spec_keeps_it(cluster: ControlPlane) -> None:
    """Case of TestFinalizeNamespaceFunc in namespaced_resources_deleter_test.go."""
    await make_namespace(cluster)
    found = await cluster.client.get(Namespace, "team")
    spec = NamespaceSpec(finalizers=("kubernetes", "example.com/other"))
    await cluster.client.update(structs.replace(found, spec=spec), subresource="finalize")
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=8)
        left = await cluster.client.get(Namespace, "team")
        assert (left.spec.finalizers, left.status.phase) == (("example.com/other",), "Terminating")
        await cluster.client.update(structs.replace(left, spec=NamespaceSpec()), subresource="finalize")
        assert not await exists(cluster)


async def test_resource_that_is_not_served_any_more_does_not_keep_it(cluster: ControlPlane) -> None:
    """Case of TestDeleteEncounters404: its definition was deleted after it had been looked up."""
    await make_namespace(cluster)
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="team")))
    connection = Connection(lambda: cluster.backend, "controller")
    gone = RequestFault(verb="list", resource="jobs", error=no_such_resource)
    connection.faults.append(gone)
    async with running(LocalClient(connection), NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=1)
        assert gone.met == 1
        assert not await exists(cluster)


async def test_nothing_new_can_be_made_in_it(cluster: ControlPlane) -> None:
    await make_namespace(cluster)
    await hold(cluster)
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=1)
        with pytest.raises(ApiError, match="because it is being terminated"):
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="new", namespace="team")))


async def test_a_namespace_of_the_same_name_can_follow(cluster: ControlPlane) -> None:
    async with running(cluster.client, NamespaceController):
        for _ in range(3):
            await make_namespace(cluster)
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="team")))
            await cluster.client.delete(Namespace, "team")
            await cluster.advance(seconds=1)
            assert not await exists(cluster)


def test_conditions_of_a_pass_that_left_nothing() -> None:
    conditions = conditions_after((), Remains(), EPOCH)
    assert [(each.type, each.status, each.reason) for each in conditions] == [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "False", "ContentRemoved"),
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"),
    ]
    assert conditions_after(conditions, Remains(), EPOCH) is conditions


DISCOVERY, PARSING = "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure"
LATER = ["NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining"]


@pytest.mark.parametrize(
    ("before", "types"),
    [
        ({"unknown": "True"}, ["unknown", DISCOVERY, PARSING, *LATER]),
        ({DISCOVERY: "True"}, [DISCOVERY, PARSING, *LATER]),
        ({PARSING: "True", DISCOVERY: "True"}, [PARSING, DISCOVERY, *LATER]),
        ({PARSING: "False", DISCOVERY: "True"}, [PARSING, DISCOVERY, *LATER]),
    ],
)
def test_conditions_keep_their_places_and_those_of_others_their_status(
    before: dict[str, str], types: list[str]
) -> None:
    """Cases of TestUpdateConditions in status_condition_utils_test.go."""
    present = tuple(NamespaceCondition(type=type_, status=status) for type_, status in before.items())
    conditions = conditions_after(present, Remains(), EPOCH)
    assert [each.type for each in conditions] == types
    assert {each.type for each in conditions if each.status != "False"} == {"unknown"} & set(types)


def test_conditions_count_what_remains_in_the_order_of_names() -> None:
    """Case of TestProcessContentTotals."""
    numbers = {"deployments.apps.k8s.io": 5, "daemonsets.apps.k8s.io": 5}
    remains = Remains(numbers=numbers, finalizers={"service-catalog": 6, "kubedb": 5})
    messages = {each.type: each.message for each in conditions_after((), remains, EPOCH)}
    assert messages["NamespaceContentRemaining"] == (
        "Some resources are remaining: daemonsets.apps.k8s.io has 5 resource instances, "
        "deployments.apps.k8s.io has 5 resource instances"
    )
    assert messages["NamespaceFinalizersRemaining"] == (
        "Some content in the namespace has finalizers remaining: kubedb in 5 resource instances, "
        "service-catalog in 6 resource instances"
    )


def test_conditions_name_what_could_not_be_deleted() -> None:
    failed = find(
        conditions_after((), Remains(errors=["no", "never"]), EPOCH), "NamespaceDeletionContentFailure"
    )
    assert failed is not None
    assert failed.message == "Failed to delete all resource types, 2 remaining: never, no"
    assert (failed.status, failed.reason) == ("True", "ContentDeletionFailed")


def test_services_count_as_content() -> None:
    from podling.controllers.namespace import deletable_resources

    pods, others = deletable_resources()
    assert [resource.type for resource in pods] == [Pod]
    assert Service in [resource.type for resource in others]
    assert Pod not in [resource.type for resource in others]


async def test_namespace_waits_while_aggregated_server_is_unreachable(cluster: ControlPlane) -> None:
    spec = APIServiceSpec(
        group="metrics.example.com",
        version="v1",
        group_priority_minimum=100,
        version_priority=100,
        service=ServiceReference(name="metrics", namespace="default"),
        insecure_skip_tls_verify=True,
    )
    metadata = ObjectMeta(name="v1.metrics.example.com")
    await cluster.client.create(APIService(metadata=metadata, spec=spec))
    await make_namespace(cluster)
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="team")))
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=5)
        assert (await cluster.client.list(ConfigMap, "team")).items == (), "what can be deleted is"
        found = await condition(cluster, "NamespaceDeletionDiscoveryFailure")
        assert (found.status, found.reason, found.message) == (
            "True",
            "DiscoveryFailed",
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server "
            "APIs: metrics.example.com/v1: stale GroupVersion discovery: metrics.example.com/v1",
        )
        await cluster.client.delete(APIService, "v1.metrics.example.com")
        await cluster.advance(minutes=1)
        assert not await exists(cluster)


async def test_namespace_goes_within_a_minute_after_a_long_hindrance(
    cluster: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await make_namespace(cluster)
    spec = APIServiceSpec(
        group="metrics.example.com",
        version="v1",
        group_priority_minimum=100,
        version_priority=100,
        service=ServiceReference(name="metrics", namespace="default"),
        insecure_skip_tls_verify=True,
    )
    broken = ObjectMeta(name="v1.metrics.example.com")
    await cluster.client.create(APIService(metadata=broken, spec=spec))
    async with running(cluster.client, NamespaceController):
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(minutes=90)
        assert await exists(cluster)
        await cluster.client.delete(APIService, "v1.metrics.example.com")
        await cluster.advance(minutes=1)
        assert not await exists(cluster)
    told = [each for each in caplog.records if "emptying namespace team" in each.getMessage()]
    assert 90 <= len(told) <= 110, "once a minute, after a few quick tries"
    assert all(each.exc_info is None and each.levelno == logging.INFO for each in told)


@pytest.mark.parametrize(
    ("graces", "passed", "wanted"),
    [((), 0, 0), ((30, 60), 0, 60), ((30, 60), 59, 60), ((30, 60), 60, 0), ((0,), 0, 0)],
)
def test_estimate_is_the_longest_grace_period_of_pods_until_it_is_over(
    graces: tuple[int, ...], passed: int, wanted: int
) -> None:
    pods = [Pod(spec=PodSpec(termination_grace_period_seconds=grace)) for grace in graces]
    pods.append(Pod(spec=PodSpec(termination_grace_period_seconds=900), status=PodStatus(phase="Failed")))
    assert termination_estimate(pods, EPOCH, EPOCH + timedelta(seconds=passed)) == wanted


def left_over(*finalizers: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="m", finalizers=finalizers))


@pytest.mark.parametrize(
    ("left", "estimate", "finalizers", "seconds", "errors"),
    [
        ([], 0, {}, 0, []),
        ([left_over("a", "b"), left_over("a")], 0, {"a": 2, "b": 1}, 15, []),
        ([left_over("a"), left_over()], 0, {"a": 1}, 15, []),
        ([left_over("a")], 60, {"a": 1}, 60, []),
        ([left_over()], 60, {}, 60, []),
        (
            [left_over()],
            0,
            {},
            0,
            ["unexpected items still remain in namespace: team for gvr: /v1, Resource=configmaps"],
        ),
    ],
)
def test_objects_that_nothing_holds_are_an_error_when_no_time_is_left(
    left: list[ConfigMap], estimate: int, finalizers: dict[str, int], seconds: int, errors: list[str]
) -> None:
    remains = Remains()
    remains.count("team", resource_of(ConfigMap), left, estimate)
    assert (remains.finalizers, remains.estimate_seconds, remains.errors) == (finalizers, seconds, errors)
    assert remains.numbers == ({"configmaps.": len(left)} if left else {})


async def test_pods_that_stay_beyond_their_grace_period_are_reported(cluster: ControlPlane) -> None:
    """Their node is lost, so no kubelet removes them."""
    async with running(cluster.client, NamespaceController):
        await make_namespace(cluster)
        await cluster.client.create(pod("stuck", "team", node="lost", termination_grace_period_seconds=30))
        await cluster.client.delete(Namespace, "team")
        await cluster.advance(seconds=10)
        assert (await condition(cluster, "NamespaceDeletionContentFailure")).status == "False"
        await cluster.advance(minutes=2)
        failure = await condition(cluster, "NamespaceDeletionContentFailure")
        assert (failure.status, failure.reason) == ("True", "ContentDeletionFailed")
        assert failure.message == (
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: "
            "team for gvr: /v1, Resource=pods"
        )
        await cluster.client.delete(Pod, "stuck", "team", grace_seconds=0)
        await cluster.advance(seconds=5)
        assert not await exists(cluster)
