"""Pods of the API and leases of addresses become pods of the policies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.network.leases import Lease, LeasedPod
from podling.network.policy.pod_records import local_pod, pod_record, remote_pod
from podling.network.policy.values import NamedPort, PolicyPod

PORTS = [
    {"name": "web", "containerPort": 80},
    {"containerPort": 81},
    {"name": "dns", "containerPort": 53, "protocol": "UDP"},
]


def stored(metadata: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: Any) -> Pod:
    body = {
        "metadata": {"name": "p", "namespace": "x", "uid": "u", "labels": {"a": "b"}, **(metadata or {})},
        "spec": {"nodeName": "other", "containers": [{"name": "c", "ports": PORTS}], **(spec or {})},
        "status": {"phase": "Running", "podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.2"}], **status},
    }
    return msgspec.convert(body, Pod)


def test_pod_of_another_node_is_a_peer_with_its_named_ports() -> None:
    assert remote_pod(pod_record(stored())) == PolicyPod(
        key="x/p",
        namespace="x",
        labels={"a": "b"},
        addresses=("10.0.0.2",),
        ports=(NamedPort("web", "TCP", 80), NamedPort("dns", "UDP", 53)),
    )


def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not() -> None:
    side = {"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 1}]}
    init = {"name": "i", "ports": [{"name": "init", "containerPort": 2}]}
    record = pod_record(stored(spec={"initContainers": [side, init], "containers": []}))
    assert [port.name for port in record.ports] == ["side"]


@pytest.mark.parametrize(
    "pod",
    [
        stored(phase="Succeeded"),
        stored(phase="Failed"),
        stored(podIP="", podIPs=[]),
        stored(spec={"hostNetwork": True}),
    ],
)
def test_pod_without_an_address_of_its_own_is_no_peer(pod: Pod) -> None:
    assert remote_pod(pod_record(pod)) is None


LEASE = Lease(
    sandbox_id="s",
    address="10.0.0.2",
    second="fd00::2",
    pod=LeasedPod(
        namespace="x",
        name="p",
        uid="u",
        labels=(("a", "old"), ("io.kubernetes.pod.name", "p")),
    ),
)


def test_pod_of_this_node_has_the_labels_of_its_object() -> None:
    found = local_pod(LEASE, pod_record(stored()))
    assert (found.key, found.labels, found.local) == ("sandbox s", {"a": "b"}, True)
    assert found.addresses == ("10.0.0.2", "fd00::2")
    assert found.ports


def test_pod_of_this_node_keeps_the_labels_of_its_start_without_its_object() -> None:
    for record in (None, pod_record(stored({"uid": "next"}))):
        found = local_pod(LEASE, record)
        assert (found.labels, found.ports, found.ended) == ({"a": "old"}, (), False)


def test_mirror_of_a_static_pod_is_its_object() -> None:
    mirror = {"uid": "mirror", "annotations": {"kubernetes.io/config.mirror": "hash"}}
    assert local_pod(LEASE, pod_record(stored(mirror))).labels == {"a": "b"}


def test_ended_pod_of_this_node_is_no_peer_any_more() -> None:
    assert local_pod(LEASE, pod_record(stored(phase="Failed"))).ended
