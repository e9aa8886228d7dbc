"""Leases of simulated nodes that are renewed together, as kubelets renew them one by one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.admissionregistration_v1 import (
    RuleWithOperations,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from podling.api.coordination_v1 import Lease
from podling.client.informer import Informer
from podling.kubelet.config import KubeletConfig
from podling.machinery.encoding import codec
from podling.machinery.errors import service_unavailable
from podling.machinery.scheme import resource_of
from podling.sim.connection import RequestFault
from podling.sim.faulty_store import FaultyStore, StoreFault
from podling.sim.idle.lease_renewals import is_about_renewals
from podling.sim.servers.scripted_handler import ScriptedHandler
from podling.sim.servers.server_scripts import Server
from podling.sim.simulated_cluster import SimulatedCluster, simulated_cluster
from podling.sim.simulated_node import NodeSettings
from podling.supervisor import Supervisor

NAMESPACE = "kube-node-lease"
RENEWALS = {
    "apiGroups": ["coordination.k8s.io"],
    "apiVersions": ["v1"],
    "resources": ["leases"],
    "operations": ["UPDATE"],
}
REQUEST_SECONDS = 10.4
"""The longest time between two renewals by requests."""


async def lease(cluster: SimulatedCluster, name: str = "node-1") -> Lease:
    return await cluster.client.get(Lease, name, NAMESPACE)


async def age(cluster: SimulatedCluster, name: str = "node-1") -> float:
    """Return the seconds since the last renewal."""
    renewed = (await lease(cluster, name)).spec.renew_time
    assert renewed is not None
    return (clock.now() - renewed) / timedelta(seconds=1)


async def test_leases_are_never_older_than_those_of_requests() -> None:
    async with simulated_cluster(nodes=3) as cluster:
        for _ in range(100):
            await cluster.advance(seconds=1.3)
            for name in cluster.nodes:
                assert await age(cluster, name) <= REQUEST_SECONDS


async def test_lease_is_that_of_requests_but_for_its_times() -> None:
    async def plain(skips: bool) -> Any:
        settings = NodeSettings(name="node-1", config=KubeletConfig(skip_idle_rounds=skips))
        async with simulated_cluster([settings]) as cluster:
            await cluster.advance(seconds=65)
            found = codec.to_plain(await lease(cluster))
        for field in ("uid", "resourceVersion", "creationTimestamp"):
            assert found["metadata"].pop(field)
        assert found["metadata"]["ownerReferences"][0].pop("uid")
        assert found["spec"].pop("renewTime")
        return found

    assert await plain(True) == await plain(False)


async def test_stored_bytes_are_those_of_the_object() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.advance(minutes=1)
        entry = cluster.store.peek(resource_of(Lease).key(NAMESPACE, "node-1"))
        assert entry is not None
        assert codec.decode(entry.value, Lease) == entry.memo.object == await lease(cluster)
        assert entry.value == codec.encode(entry.memo.object)
        assert entry.memo.object.metadata.resource_version == str(entry.revision)


async def test_watch_shows_each_renewal_with_a_revision_of_its_own() -> None:
    seen: list[tuple[str, int]] = []

    def note(old: Lease, new: Lease) -> None:
        seen.append((new.metadata.name or "", int(new.metadata.resource_version or 0)))

    async with simulated_cluster(nodes=2) as cluster, Supervisor() as tasks:
        informer: Informer[Lease] = Informer(cluster.client, Lease, NAMESPACE)
        informer.add_handler(on_update=note)
        tasks.keep_running("leases", informer.run)
        await cluster.advance(seconds=20)
        seen.clear()
        await cluster.advance(seconds=100)
        assert sorted(name for name, _ in seen) == ["node-1"] * 10 + ["node-2"] * 10
        revisions = [revision for _, revision in seen]
        assert revisions == sorted(set(revisions))
        await tasks.close()


async def test_faults_of_the_connection_meet_requests() -> None:
    async with simulated_cluster(nodes=2) as cluster:
        await cluster.advance(seconds=30)
        fault = RequestFault(verb="update", resource="leases", error=partial(service_unavailable, "away"))
        faults = cluster.nodes["node-1"].connection.faults
        faults.append(fault)
        await cluster.advance(seconds=60)
        assert fault.met > 0
        assert await age(cluster) > 45
        assert await age(cluster, "node-2") <= REQUEST_SECONDS
        faults.remove(fault)
        await cluster.advance(seconds=20)
        assert await age(cluster) <= REQUEST_SECONDS


async def test_faults_of_the_store_meet_requests() -> None:
    store = FaultyStore()
    async with simulated_cluster(nodes=1, store=store) as cluster:
        await cluster.advance(seconds=30)
        store.faults.append(StoreFault(fails=True))
        await cluster.advance(seconds=35)
        assert await age(cluster) > 25
        store.faults.clear()
        await cluster.advance(seconds=20)
        assert await age(cluster) <= REQUEST_SECONDS


@pytest.mark.parametrize("cut", [True, False])
async def test_kubelet_without_a_server_renews_nothing(cut: bool) -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.advance(seconds=30)
        if cut:
            await cluster.nodes["node-1"].connection.cut()
        else:
            await cluster.nodes["node-1"].stop()
        await cluster.advance(seconds=35)
        assert await age(cluster) >= 35
        cluster.nodes["node-1"].connection.mend()
        await cluster.nodes["node-1"].start()
        await cluster.advance(seconds=30)
        assert await age(cluster) <= REQUEST_SECONDS


async def test_lease_that_others_write_is_renewed_by_a_request_first() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.advance(seconds=30)
        labels = {"metadata": {"labels": {"seen": "yes"}}}
        await cluster.client.patch(Lease, "node-1", labels, NAMESPACE)
        await cluster.advance(seconds=60)
        assert await age(cluster) <= REQUEST_SECONDS
        assert (await lease(cluster)).metadata.labels == {"seen": "yes"}
        await cluster.client.delete(Lease, "node-1", NAMESPACE)
        await cluster.advance(seconds=30)
        assert await age(cluster) <= REQUEST_SECONDS


@pytest.mark.parametrize(
    ("changes", "is_meant"),
    [
        ({}, True),
        ({"operations": ["CREATE"]}, False),
        ({"operations": ["*"]}, True),
        ({"apiGroups": [""]}, False),
        ({"apiGroups": ["*"]}, True),
        ({"apiVersions": ["v1beta1"]}, True),
        ({"resources": ["pods"]}, False),
        ({"resources": ["*"]}, True),
        ({"resources": ["*/*"]}, True),
        ({"scope": "Cluster"}, False),
        ({"scope": "Namespaced"}, True),
    ],
)
def test_rule_of_a_webhook_is_about_renewals(changes: dict[str, Any], is_meant: bool) -> None:
    assert is_about_renewals(msgspec.convert({**RENEWALS, **changes}, RuleWithOperations)) == is_meant


async def test_webhook_for_leases_refuses_renewals() -> None:
    review = {"where": "object.metadata.name == 'node-1'", "allowed": False, "message": "no"}
    handler = ScriptedHandler(msgspec.convert({"service": "default/hook", "reviews": [review]}, Server))
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "rules": [RENEWALS],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    plain = {"metadata": {"name": "frozen"}, "webhooks": [webhook]}
    async with simulated_cluster(nodes=2) as cluster:
        cluster.servers.serve("default/hook", handler, needs_endpoint=False)
        await cluster.advance(seconds=30)
        await cluster.client.create(msgspec.convert(plain, ValidatingWebhookConfiguration))
        await cluster.advance(seconds=60)
        assert await age(cluster) > 40
        assert await age(cluster, "node-2") <= REQUEST_SECONDS
        await cluster.client.delete(ValidatingWebhookConfiguration, "frozen")
        await cluster.advance(seconds=15)
        assert await age(cluster) <= REQUEST_SECONDS


async def test_admission_policy_refuses_renewals() -> None:
    policy = {
        "metadata": {"name": "frozen"},
        "spec": {
            "matchConstraints": {"resourceRules": [RENEWALS]},
            "validations": [{"expression": "object.metadata.name != 'node-1'"}],
        },
    }
    binding = {
        "metadata": {"name": "frozen"},
        "spec": {"policyName": "frozen", "validationActions": ["Deny"]},
    }
    async with simulated_cluster(nodes=2) as cluster:
        await cluster.advance(seconds=30)
        await cluster.client.create(msgspec.convert(policy, ValidatingAdmissionPolicy))
        await cluster.client.create(msgspec.convert(binding, ValidatingAdmissionPolicyBinding))
        await cluster.advance(seconds=60)
        assert await age(cluster) > 40
        assert await age(cluster, "node-2") <= REQUEST_SECONDS
