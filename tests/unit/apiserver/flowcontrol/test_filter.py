"""Priority and fairness over real HTTP: rejections, limits, and requests that take no seats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.inflight_limits import InflightLimits
from podling.apiserver.flowcontrol.levels import Level
from podling.apiserver.flowcontrol.queues import Request, SchemaCounts
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of
from podling.store.memory import MemoryStore
from tests.support.served_here import TOKEN, ServedHere

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

ANN = {"Impersonate-User": "ann", "Impersonate-Group": "system:authenticated"}
TARGET = Target(resource_of(ConfigMap), "default")
MAPS = "/api/v1/namespaces/default/configmaps"


async def memory() -> MemoryStore:
    return MemoryStore()


@asynccontextmanager
async def limited() -> AsyncIterator[ServedHere]:
    """Serve with the default flow schemas; the user ``ann`` may do everything."""
    async with ServedHere(memory) as served:
        await ConfigurationProducer(served.api.client(), served.api.flows).reconcile()
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "ann"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
        }
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        async with served.session.post(served.url(path), json=binding) as answer:
            assert answer.status == 201
        yield served


def level_of(served: ServedHere, name: str) -> Level:
    return served.api.flows.levels.by_name[name]


def occupy(level: Level) -> list[Request]:
    """Take all seats of a level."""
    found = [
        level.queue_set.start(SchemaCounts(), ONE_SEAT, 7, asyncio.get_running_loop().time())
        for _ in range(level.queue_set.limit)
    ]
    return [each for each in found if isinstance(each, Request)]


async def test_level_without_queues_answers_429() -> None:
    async with limited() as served:
        level = level_of(served, "catch-all")
        occupy(level)
        await served.api.client().delete(FlowSchema, "global-default")
        async with served.session.get(served.url("/api/v1/pods"), headers=ANN) as answer:
            text, headers = await answer.text(), answer.headers
            assert answer.status == 429
        assert text == "Too many requests, please try again later.\n"
        assert headers["Retry-After"] == "1"
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Kubernetes-PF-PriorityLevel-UID"] == level.uid
        assert headers["X-Kubernetes-PF-FlowSchema-UID"]


async def test_full_level_keeps_its_users_waiting_and_no_others() -> None:
    async with limited() as served:
        level = level_of(served, "global-default")
        requests = occupy(level)
        waits = asyncio.ensure_future(_status(served, ANN))
        assert await _status(served, {}) == 200, "the exempt level is not limited"
        service_account = {
            "Impersonate-User": "system:serviceaccount:a:b",
            "Impersonate-Group": "system:serviceaccounts",
        }
        assert await _status(served, service_account) == 403, "another level has seats of its own"
        async with asyncio.timeout(5):
            while not level.queue_set.requests_waiting:
                await clock.sleep(0)
        assert not waits.done()
        now = asyncio.get_running_loop().time()
        level.queue_set.finish(requests[0], now, now)
        level.queue_set.dispatch(now)
        assert await waits == 200


async def _status(served: ServedHere, headers: dict[str, str]) -> int:
    async with served.session.get(served.url("/api/v1/namespaces/default"), headers=headers) as answer:
        await answer.read()
        return answer.status


async def test_connection_that_closes_leaves_the_queue() -> None:
    async with limited() as served:
        queue_set = level_of(served, "global-default").queue_set
        occupy(level_of(served, "global-default"))
        headers = {"Authorization": f"Bearer {TOKEN}", **ANN}
        async with aiohttp.ClientSession(headers=headers) as gone:
            waits = asyncio.ensure_future(gone.get(served.url("/api/v1/namespaces/default")))
            async with asyncio.timeout(5):
                while not queue_set.requests_waiting:
                    await clock.sleep(0)
            waits.cancel()
        async with asyncio.timeout(5):
            while queue_set.requests_waiting:
                await clock.sleep(0)
        assert queue_set.cancelled == 1


async def test_watch_takes_a_seat_only_until_it_has_begun() -> None:
    async with limited() as served:
        level = level_of(served, "global-default")
        for query in ("watch=1", "watch=1&resourceVersion=1"):
            path = served.url(f"{MAPS}?{query}")
            async with served.session.get(path, headers=ANN) as answer:
                assert answer.status == 200
                async with asyncio.timeout(5):
                    while level.queue_set.requests_executing:
                        await clock.sleep(0)
                watches = served.api.fairness.watches
                assert watches.interested(TARGET) == 1
            async with asyncio.timeout(5):
                while watches.interested(TARGET):
                    await clock.sleep(0)


async def test_wide_requests_of_one_user_run_few_at_once() -> None:
    async with limited() as served:
        level = level_of(served, "global-default")
        await served.api.client().create(ConfigMap(metadata=ObjectMeta(name="big", namespace="default")))
        most = 0

        async def patch(number: int) -> int:
            nonlocal most
            data = {"data": {f"key-{number}-{key}": "value" for key in range(20_000)}}
            async with served.session.patch(
                served.url(f"{MAPS}/big?dryRun=All"),
                json=data,
                headers={**ANN, "Content-Type": "application/merge-patch+json"},
            ) as answer:
                await answer.read()
                return answer.status

        async def watch_seats() -> None:
            nonlocal most
            while True:
                most = max(most, level.queue_set.wide_seats_in_use)
                await clock.sleep(0)

        watching = asyncio.ensure_future(watch_seats())
        assert await asyncio.gather(*(patch(number) for number in range(8))) == [200] * 8
        watching.cancel()
        assert 0 < most <= level.queue_set.limit // 2


async def test_changed_objects_count_at_once() -> None:
    async with limited() as served:
        client = served.api.client()
        before = level_of(served, "global-default").limits.nominal
        await client.patch(
            PriorityLevelConfiguration,
            "global-default",
            {"spec": {"limited": {"nominalConcurrencyShares": 200}}},
        )
        assert await _status(served, ANN) == 200
        assert level_of(served, "global-default").limits.nominal > 3 * before


async def test_requests_in_flight_are_limited_without_flow_schemas() -> None:
    async with ServedHere(memory) as served:
        assert not served.api.flows.following
        served.api.fairness.limits = InflightLimits(1, 1)
        place = served.api.fairness.limits.enter(User("ann"), changes=False, long_running=False)
        assert place is not None
        async with served.session.get(served.url("/api/v1/namespaces/default"), headers=ANN) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
        assert await _status(served, {}) == 200, "administrators always get an answer"
        place.close(None, 0.0, 0.0)
        assert await _status(served, ANN) == 403
        assert await _status(served, ANN) == 403
