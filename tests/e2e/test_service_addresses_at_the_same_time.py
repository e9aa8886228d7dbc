"""Overlapping requests for addresses of both families, over HTTP and a store on a disk."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random  # noqa: TID251 (seeded)
from typing import Any

import pytest

from podling import clock
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.machinery.network_ranges import network_ranges
from podling.store.sqlite import SqliteStore
from tests.support.served_here import ServedHere

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
SERVICE_CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
RANGES = network_ranges(services="10.96.0.0/28,fd00:96::/124")
FREE = 13
"""Addresses of the smaller range: 16 without the network's, the broadcast and the one of ``kubernetes``."""


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedHere]:
    """A server with 13 free addresses of IPv4 and 15 of IPv6."""

    async def opened() -> SqliteStore:
        return SqliteStore(tmp_path / "store.db")

    async with ServedHere(opened, plugins_without_controllers(RANGES), RANGES) as server:
        yield server


def service(name: str, policy: str = "RequireDualStack", **spec: Any) -> dict[str, Any]:
    spec = {"ports": [{"port": 80}], "ipFamilyPolicy": policy, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def post(server: ServedHere, path: str, body: Any) -> tuple[int, Any]:
    async with server.session.post(server.url(path), json=body) as answer:
        return answer.status, await answer.json()


async def patch(server: ServedHere, path: str, body: Any) -> tuple[int, Any]:
    kind = {"Content-Type": "application/merge-patch+json"}
    async with server.session.patch(server.url(path), json=body, headers=kind) as answer:
        return answer.status, await answer.json()


async def delete(server: ServedHere, name: str) -> int:
    async with server.session.delete(server.url(f"{SERVICES}/{name}")) as answer:
        return answer.status


async def get(server: ServedHere, path: str) -> list[dict[str, Any]]:
    async with server.session.get(server.url(path)) as answer:
        found: list[dict[str, Any]] = (await answer.json())["items"]
        return found


async def held(server: ServedHere) -> list[str]:
    """Return the addresses of all Services; the IPAddresses must come to agree with them."""
    services = await get(server, SERVICES)
    own = sorted(address for each in services for address in each["spec"].get("clusterIPs", ()))
    async with asyncio.timeout(10):
        while sorted(each["metadata"]["name"] for each in await get(server, ADDRESSES)) != own:
            await clock.sleep(0.01)
    return own


async def test_concurrent_creations_use_up_the_smaller_range_exactly(served: ServedHere) -> None:
    bodies = [service(f"web-{number}") for number in range(20)]
    answers = await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    assert Counter(status for status, _ in answers) == {201: FREE, 500: 20 - FREE}
    addresses = await held(served)
    assert len(addresses) == len(set(addresses)) == 2 * FREE + 1
    full = {body["message"] for status, body in answers if status != 201}
    assert full == {"Internal error occurred: failed to allocate a serviceIP: range is full"}
    six = [service(f"six-{number}", "SingleStack", ipFamilies=["IPv6"]) for number in range(3)]
    made = await asyncio.gather(*(post(served, SERVICES, body) for body in six))
    assert Counter(status for status, _ in made) == {201: 2, 500: 1}, "refused requests have kept no address"


async def test_range_that_is_added_is_used_at_once(served: ServedHere) -> None:
    bodies = [service(f"web-{number}", "SingleStack") for number in range(FREE)]
    await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
    assert (await post(served, SERVICES, service("late", "SingleStack")))[0] == 500
    more = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
    assert (await post(served, SERVICE_CIDRS, {**more, "spec": {"cidrs": ["10.97.0.0/28"]}}))[0] == 201
    status, made = await post(served, SERVICES, service("late", "SingleStack"))
    assert (status, made["spec"]["clusterIP"].startswith("10.97.0.")) == (201, True)


async def test_one_of_many_concurrent_upgrades_gets_the_second_address(served: ServedHere) -> None:
    made = [await post(served, SERVICES, service(f"web-{number}", "SingleStack")) for number in range(8)]
    answers = await asyncio.gather(
        *(
            patch(served, f"{SERVICES}/{body['metadata']['name']}", {"spec": {
                "ipFamilyPolicy": "RequireDualStack",
                "clusterIPs": [body["spec"]["clusterIP"], "fd00:96::7"]}})
            for _, body in made
        )
    )  # fmt: skip
    assert Counter(status for status, _ in answers) == {200: 1, 422: 7}
    assert "fd00:96::7" in await held(served)


def gateway_address(address: str) -> dict[str, Any]:
    parent = {"group": "example.com", "resource": "gateways", "namespace": "default", "name": "g"}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": address},
        "spec": {"parentRef": parent},
    }


async def test_an_address_has_one_owner_of_any_kind(served: ServedHere) -> None:
    for number in range(2, 12):
        address = f"fd00:96::{number:x}"
        wanted = service(f"web-{number}", "SingleStack", clusterIP=address)
        answers = await asyncio.gather(
            post(served, SERVICES, wanted),
            post(served, ADDRESSES, gateway_address(address)),
        )
        assert sorted(status for status, _ in answers) in ([201, 409], [201, 422])


async def test_deleted_services_leave_every_address_free(served: ServedHere) -> None:
    for _ in range(3):
        bodies = [service(f"web-{number}") for number in range(FREE)]
        made = await asyncio.gather(*(post(served, SERVICES, body) for body in bodies))
        assert {status for status, _ in made} == {201}
        gone = await asyncio.gather(*(delete(served, f"web-{number}") for number in range(FREE)))
        assert set(gone) == {200}
    assert await held(served) == ["10.96.0.1"]


@pytest.mark.parametrize("seed", range(3))
async def test_random_changes_give_no_address_twice(served: ServedHere, seed: int) -> None:
    """Also through restarts of the server, which find the same addresses in use."""
    random = Random(seed)
    policies = ("SingleStack", "PreferDualStack", "RequireDualStack")

    async def change(name: str) -> None:
        step = random.choice(("create", "delete", "policy", "name", "address"))
        if step == "create":
            await post(served, SERVICES, service(name, random.choice(policies)))
        elif step == "delete":
            await delete(served, name)
        elif step == "policy":
            spec = {"type": "ClusterIP", "externalName": None, "ipFamilyPolicy": random.choice(policies)}
            await patch(served, f"{SERVICES}/{name}", {"spec": spec})
        elif step == "name":
            spec = {"type": "ExternalName", "externalName": "example.com"}
            await patch(served, f"{SERVICES}/{name}", {"spec": spec})
        else:
            address = f"10.96.0.{random.randrange(2, 15)}"
            await post(served, SERVICES, service(name, "PreferDualStack", clusterIP=address))

    for phase in range(3):
        for _ in range(12):
            names = random.sample([f"web-{number}" for number in range(18)], 8)
            await asyncio.gather(*map(change, names))
        addresses = await held(served)
        assert len(addresses) == len(set(addresses))
        if phase < 2:
            await served.restart(reopen=bool(phase))
