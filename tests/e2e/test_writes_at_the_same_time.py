"""Requests that overlap, over HTTP and a store on a disk: no number is allocated twice, and none is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.apiserver.admission.base import Plugin
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.registry.service_ip_allocator import ServiceAllocation
from podling.machinery.network_ranges import network_ranges
from podling.store.sqlite import SqliteStore
from tests.support.served_here import ServedHere

SERVICES = "/api/v1/namespaces/default/services"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedHere]:
    """A server whose pools are small: 14 addresses and 10 node ports."""

    async def opened() -> SqliteStore:
        return SqliteStore(tmp_path / "store.db")

    ranges = network_ranges(services="10.96.0.0/28", node_ports="30000-30009")
    small = ServiceAllocation(ranges)
    plugins: list[Plugin] = [
        small if isinstance(each, ServiceAllocation) else each for each in plugins_without_controllers()
    ]
    async with ServedHere(opened, plugins, ranges) as server:
        yield server


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def post(server: ServedHere, path: str, body: Any) -> tuple[int, Any]:
    async with server.session.post(server.url(path), json=body) as answer:
        return answer.status, await answer.json()


async def patch(server: ServedHere, path: str, body: Any) -> tuple[int, Any]:
    kind = {"Content-Type": "application/merge-patch+json"}
    async with server.session.patch(server.url(path), json=body, headers=kind) as answer:
        return answer.status, await answer.json()


NAMED = [
    ({"clusterIP": "10.96.0.9"}, 422, "provided IP is already allocated"),
    (
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30004}]},
        422,
        "provided port is already allocated",
    ),
    (
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30004,
         "allocateLoadBalancerNodePorts": False},
        500,
        "failed to allocate requested HealthCheck NodePort 30004: provided port is already allocated",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "why"), NAMED)
async def test_one_of_many_concurrent_creations_gets_the_number_they_name(
    served: ServedHere, spec: dict[str, Any], code: int, why: str
) -> None:
    bodies = [service(f"web-{number}", **spec) for number in range(8)]
    answers = await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    assert Counter(status for status, _ in answers) == {201: 1, code: 7}
    assert all(why in body["message"] for status, body in answers if status == code)


async def test_a_node_port_and_a_health_check_never_share_a_number(served: ServedHere) -> None:
    named = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30005}]}
    health = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30005}
    bodies = [service("named", **named), service("health", **health)]
    answers = await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    assert sorted(status for status, _ in answers) in ([201, 422], [201, 500])


async def test_concurrent_creations_use_up_the_pool_exactly(served: ServedHere) -> None:
    bodies = [service(f"web-{number}", type="NodePort") for number in range(16)]
    answers = await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    made = [body["spec"] for status, body in answers if status == 201]
    assert len(made) == 10, "one Service for each node port"
    assert len({spec["clusterIP"] for spec in made}) == 10
    assert {spec["ports"][0]["nodePort"] for spec in made} == set(range(30000, 30010))
    full = {body["message"] for status, body in answers if status != 201}
    assert full == {"Internal error occurred: failed to allocate a nodePort: range is full"}


async def test_health_check_port_of_a_full_pool_is_named(served: ServedHere) -> None:
    bodies = [service(f"web-{number}", type="NodePort") for number in range(10)]
    await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    balancer = {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "allocateLoadBalancerNodePorts": False,
    }
    status, body = await post(served, SERVICES, service("late", **balancer))
    assert (status, body["message"]) == (
        500,
        "Internal error occurred: failed to allocate a HealthCheck NodePort 0: range is full",
    )


async def test_requests_that_fail_or_only_try_keep_no_number(served: ServedHere) -> None:
    invalid = service("Not-A-Name", type="NodePort")
    refused = service("web", type="NodePort", sessionAffinity="Sometimes")
    for _ in range(15):
        assert (await post(served, SERVICES, invalid))[0] == 422
        assert (await post(served, SERVICES, refused))[0] == 422
        tried = await post(served, f"{SERVICES}?dryRun=All", service("web", type="NodePort"))
        assert tried[0] == 201
        assert tried[1]["spec"]["ports"][0]["nodePort"] in range(30000, 30010)
    assert (await post(served, SERVICES, service("web", type="NodePort")))[0] == 201
    for _ in range(15):
        assert (await post(served, SERVICES, service("web", type="NodePort")))[0] == 409


async def test_a_number_that_is_let_go_can_be_had_at_once(served: ServedHere) -> None:
    body = service("web", clusterIP="10.96.0.9", type="NodePort", ports=[{"port": 80, "nodePort": 30004}])
    for _ in range(3):
        assert (await post(served, SERVICES, body))[0] == 201
        async with served.session.delete(served.url(f"{SERVICES}/web")) as answer:
            assert answer.status == 200


async def test_one_of_many_concurrent_updates_gets_the_node_port_they_name(served: ServedHere) -> None:
    for number in range(6):
        assert (await post(served, SERVICES, service(f"web-{number}")))[0] == 201
    change = {"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30004}]}}
    answers = await asyncio.gather(
        *(patch(served, f"{SERVICES}/web-{number}", change) for number in range(6))
    )
    assert Counter(status for status, _ in answers) == {200: 1, 422: 5}


async def test_concurrent_updates_stay_within_the_quota(served: ServedHere) -> None:
    for number in range(6):
        assert (await post(served, SERVICES, service(f"web-{number}")))[0] == 201
    quota = {"metadata": {"name": "two"}, "spec": {"hard": {"services.nodeports": "2"}}}
    assert (await post(served, QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota}))[0] == 201
    answers = await asyncio.gather(
        *(patch(served, f"{SERVICES}/web-{number}", {"spec": {"type": "NodePort"}}) for number in range(6))
    )
    assert Counter(status for status, _ in answers) == {200: 2, 403: 4}
    back = await patch(served, f"{SERVICES}/web-0", {"spec": {"type": "ClusterIP"}})
    assert back[0] == 200


async def test_concurrent_updates_of_one_service_keep_one_set_of_ports(served: ServedHere) -> None:
    assert (await post(served, SERVICES, service("web")))[0] == 201
    change = {"spec": {"type": "NodePort"}}
    answers = await asyncio.gather(*(patch(served, f"{SERVICES}/web", change) for _ in range(8)))
    assert {status for status, _ in answers} == {200}
    assert len({body["spec"]["ports"][0]["nodePort"] for _, body in answers}) == 1
    others = [service(f"web-{number}", type="NodePort") for number in range(9)]
    made = await asyncio.gather(*(post(served, SERVICES, body) for body in others))
    assert {status for status, _ in made} == {201}, "no other port is held"
