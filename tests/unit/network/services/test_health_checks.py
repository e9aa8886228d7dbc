"""The answers to load balancers' health checks. Cases: ``pkg/proxy/healthcheck/healthcheck_test.go``."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Sequence

import pytest

from podling.api.core_v1 import Event
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.events import EventRecorder
from podling.network.services.endpoint_slices import EndpointRecord, SlicePort, SliceRecord
from podling.network.services.health_checks import HealthCheck, HealthChecks, answer, check_of
from podling.network.services.service_ports import record_of
from podling.testing import ControlPlane
from tests.support.service_packets import service

KEY = Key("ns", "svc")
ONE, TWO, THREE = Key("default", "b"), Key("default", "d"), Key("default", "f")
PORTS = range(20_000, 30_000)
"""Ports that no kernel gives to a socket by itself."""


def test_answer_is_that_of_kube_proxy() -> None:
    head, _, body = answer(KEY, 2, healthy=True).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body.decode() == (
        '{\n\t"service": {\n\t\t"namespace": "ns",\n\t\t"name": "svc"\n\t},\n'
        '\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}'
    )
    assert b"X-Load-Balancing-Endpoint-Weight: 2\r\n" in head
    assert b"X-Content-Type-Options: nosniff\r\n" in head
    assert answer(KEY, 0, healthy=True).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert answer(KEY, 1, healthy=False).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


def listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        found.bind(("::", port))
        found.listen()
    except OSError:
        found.close()
        raise
    return found


def taken_ports(count: int) -> list[socket.socket]:
    """Return listening sockets, so that other tests on the machine choose other ports."""
    taken: list[socket.socket] = []
    for number in range(len(PORTS)):
        if len(taken) == count:
            break
        try:
            taken.append(listening(PORTS[(os.getpid() * 7 + number) % len(PORTS)]))
        except OSError:
            continue
    assert len(taken) == count
    return taken


def free_ports(count: int) -> list[int]:
    taken = taken_ports(count)
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


async def asked(port: int) -> tuple[int, str, int, bool]:
    """Return status, Service, endpoints and health of the answer on a port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    found = json.loads(body)
    name = f"{found['service']['namespace']}/{found['service']['name']}"
    return int(head.split()[1]), name, found["localEndpoints"], found["serviceProxyHealthy"]


@pytest.fixture
def recorder(cluster: ControlPlane) -> EventRecorder:
    return EventRecorder(cluster.client, "kube-proxy", "node")


@pytest.mark.asyncio(loop_factories=["real"])
async def test_each_service_is_answered_for_on_its_port(recorder: EventRecorder) -> None:
    healthy = True
    checks = HealthChecks("node", recorder, lambda: healthy)
    first, second, third, fourth = free_ports(4)
    await checks.put({})
    await checks.put({KEY: None})
    await checks.put({ONE: HealthCheck(first, 0), TWO: HealthCheck(second, 3), THREE: HealthCheck(third, 7)})
    assert await asked(first) == (503, "default/b", 0, True)
    assert await asked(second) == (200, "default/d", 3, True)
    await checks.put({ONE: HealthCheck(first, 18)})
    assert await asked(first) == (200, "default/b", 18, True)
    await checks.put({ONE: None, THREE: HealthCheck(fourth, 7)})
    for gone in (first, third):
        with pytest.raises(ConnectionRefusedError):
            await asked(gone)
    assert await asked(fourth) == (200, "default/f", 7, True)
    healthy = False
    assert await asked(second) == (503, "default/d", 3, False)
    checks.close()
    with pytest.raises(ConnectionRefusedError):
        await asked(second)


@pytest.mark.asyncio(loop_factories=["real"])
async def test_port_goes_from_one_service_to_another(cluster: ControlPlane, recorder: EventRecorder) -> None:
    checks = HealthChecks("node", recorder, lambda: True)
    first, second = free_ports(2)
    await checks.put({TWO: HealthCheck(first, 2)})
    await checks.put({ONE: HealthCheck(first, 1), TWO: None})
    assert await asked(first) == (200, "default/b", 1, True)
    await checks.put({TWO: HealthCheck(second, 2)})
    await checks.put({ONE: HealthCheck(second, 1), TWO: HealthCheck(first, 2)})
    assert await asked(first) == (200, "default/d", 2, True)
    assert await asked(second) == (200, "default/b", 1, True)
    checks.close()
    assert not await events(cluster, recorder)


@pytest.mark.asyncio(loop_factories=["real"])
async def test_taken_port_is_reported_once_and_tried_again(
    cluster: ControlPlane, recorder: EventRecorder
) -> None:
    checks = HealthChecks("node", recorder, lambda: True)
    (taken,) = taken_ports(1)
    port = taken.getsockname()[1]
    await checks.put({ONE: HealthCheck(port, 1)})
    await checks.put({})
    taken.close()
    await checks.put({})
    assert await asked(port) == (200, "default/b", 1, True)
    checks.close()
    (event,) = await events(cluster, recorder)
    assert event.reason == "FailedToStartServiceHealthcheck"
    assert event.message.startswith(f'node node failed to start healthcheck "default/b" on port {port}: ')


async def events(cluster: ControlPlane, recorder: EventRecorder) -> Sequence[Event]:
    running = asyncio.create_task(recorder.run())
    await recorder.close()
    await running
    return (await cluster.client.list(Event)).items


def local_slice(*states: tuple[str, bool]) -> SliceRecord:
    """Return a slice with endpoints: the node of each, and whether it is ready."""
    endpoints = tuple(
        EndpointRecord(bytes((10, 0, 0, number)), ready=ready, serving=True, terminating=not ready, node=node)
        for number, (node, ready) in enumerate(states)
    )
    return SliceRecord(ObjectMeta(), "svc", "ip", (SlicePort("", "TCP", 80),), endpoints)


def test_ready_endpoints_of_the_node_count_once() -> None:
    record = record_of(
        service(type="LoadBalancer", external_traffic_policy="Local", health_check_node_port=30200)
    )
    slices = [local_slice(("here", True), ("here", False), ("there", True)), local_slice(("here", True))]
    assert check_of(record, slices, "here") == HealthCheck(30200, 1)
    assert check_of(record, [], "here") == HealthCheck(30200, 0)
    assert check_of(None, slices, "here") is None
    for other in (
        service(type="LoadBalancer", external_traffic_policy="Cluster", health_check_node_port=30200),
        service(type="NodePort", external_traffic_policy="Local", health_check_node_port=30200),
    ):
        assert check_of(record_of(other), slices, "here") is None
