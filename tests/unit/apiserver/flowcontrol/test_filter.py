"""Priority and fairness over real HTTP: rejections, limits, and requests that take no seats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.debug_pages import LEVEL_COLUMNS, NEVER, PREFIX
from podling.apiserver.flowcontrol.flows import Flow
from podling.apiserver.flowcontrol.inflight_limits import InflightLimits
from podling.apiserver.flowcontrol.levels import Level
from podling.apiserver.flowcontrol.queues import Request
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT
from podling.apiserver.kinds.flowcontrol.defaults import flow_schemas
from podling.client.requests import Target, User
from podling.machinery.resource import Resource
from podling.machinery.scheme import resource_of
from podling.store.memory import MemoryStore
from tests.support.served_here import TOKEN, ServedHere

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

ANN = {"Impersonate-User": "ann", "Impersonate-Group": "system:authenticated"}
BOB = {"Impersonate-User": "bob", "Impersonate-Group": "system:authenticated"}
TARGET = Target(resource_of(ConfigMap), "default")
MAPS = "/api/v1/namespaces/default/configmaps"


async def memory() -> MemoryStore:
    return MemoryStore()


@asynccontextmanager
async def limited(*plugins: Plugin) -> AsyncIterator[ServedHere]:
    """Serve with the default flow schemas; the user ``ann`` may do everything."""
    async with ServedHere(memory, plugins) as served:
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


def occupy(served: ServedHere, name: str) -> list[Request]:
    """Take all seats of a level."""
    now, flows = clock.monotonic(), served.api.flows
    level = flows.levels.by_name[name]
    level.queue_set.end_turn(now)
    schema = next(each for each in flow_schemas() if each.metadata.name == name)
    flow = Flow(schema, level, "eve", lambda flow: None)
    turns = [served.api.fairness.dispatcher.start(flow, ONE_SEAT, now) for _ in range(level.queue_set.limit)]
    return [each.request for each in turns if each.request is not None]


async def test_level_without_queues_answers_429() -> None:
    async with limited() as served:
        level = level_of(served, "catch-all")
        await served.api.client().delete(FlowSchema, "global-default")
        assert await _status(served, ANN) == 200
        occupy(served, "catch-all")
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
        requests = occupy(served, "global-default")
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
        occupy(served, "global-default")
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


class Slow(Plugin):
    """Lets every creation in the namespace ``default`` wait until the test ends."""

    name = "Slow"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return operation is Operation.CREATE and resource.kind == "ConfigMap"

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.namespace == "default":
            await asyncio.get_running_loop().create_future()


BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}


async def test_request_is_answered_when_its_clients_time_is_over() -> None:
    async with (
        limited(Slow()) as served,
        served.session.post(served.url(f"{MAPS}?timeout=100ms"), json=BODY, headers=ANN) as answer,
    ):
        status = await answer.json()
        assert (answer.status, status["reason"]) == (504, "Timeout")
        assert status["message"] == "Timeout: request did not complete within the allotted timeout"
        assert await _status(served, ANN) == 200, "the connection goes on"
        assert level_of(served, "global-default").queue_set.is_idle


@pytest.mark.parametrize("headers", [ANN, {}])
async def test_request_is_answered_when_60_seconds_are_over(headers: dict[str, str]) -> None:
    async with limited(Slow()) as served:
        posts = asyncio.ensure_future(served.session.post(served.url(MAPS), json=BODY, headers=headers))
        queue_sets = [each.queue_set for each in served.api.flows.levels.by_name.values()]
        async with asyncio.timeout(5):
            while not any(each.brief for each in queue_sets):
                await clock.sleep(0)
        served.api.fairness.end_late(clock.monotonic() + 59)
        await clock.sleep(0.05)
        assert not posts.done()
        served.api.fairness.end_late(clock.monotonic() + 61)
        answer = await posts
        assert answer.status == 504
        answer.close()


async def test_waiting_request_whose_time_is_over_leaves_its_queue() -> None:
    async with limited() as served:
        queue_set = level_of(served, "global-default").queue_set
        occupy(served, "global-default")
        url = served.url("/api/v1/namespaces/default?timeout=200ms")
        async with served.session.get(url, headers=ANN) as answer:
            assert answer.status == 429, "it waits for a quarter of its time"
        assert not queue_set.requests_waiting


async def test_debug_pages_show_levels_queues_and_requests() -> None:
    async with limited() as served:
        level = level_of(served, "global-default")
        occupy(served, "global-default")
        waits = asyncio.ensure_future(_status(served, ANN))
        async with asyncio.timeout(5):
            while not level.queue_set.requests_waiting:
                await clock.sleep(0)
        lines = (await _page(served, "dump_priority_levels")).splitlines()
        assert lines[0].split() == [*(f"{each}," for each in LEVEL_COLUMNS[:-1]), LEVEL_COLUMNS[-1]]
        rows = {line.split(",")[0]: [cell.strip() for cell in line.split(",")] for line in lines[1:]}
        assert list(rows) == sorted(rows)
        assert rows["global-default"][1:6] == ["1", "false", "false", "1", str(level.queue_set.limit)]
        queues = (await _page(served, "dump_queues")).splitlines()
        assert sum(line.startswith("global-default,") for line in queues) == 128
        requests = await _page(served, "dump_requests?includeRequestDetails=1")
        (waiting,) = [
            [cell.strip() for cell in line.split(",")] for line in requests.splitlines() if "ann" in line
        ]
        assert waiting[:2] == ["global-default", "global-default"]
        assert (waiting[3], waiting[4], waiting[9]) == ("0", "ann", NEVER)
        assert waiting[10:] == [
            "ann",
            "get",
            "/api/v1/namespaces/default",
            "default",
            "default",
            "v1",
            "namespaces",
            "",
        ]
        own = [line for line in requests.splitlines() if "dump_requests" in line]
        assert len(own) == 1, "the request for the page is one, too"
        waits.cancel()
        async with served.session.get(served.url(PREFIX + "nothing")) as answer:
            assert answer.status == 404


async def test_debug_pages_need_permission() -> None:
    async with (
        limited() as served,
        served.session.get(served.url(PREFIX + "dump_queues"), headers=BOB) as answer,
    ):
        assert answer.status == 403


async def _page(served: ServedHere, name: str) -> str:
    async with served.session.get(served.url(PREFIX + name)) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        return await answer.text()


async def test_metrics_count_dispatches_waits_and_rejections() -> None:
    async with limited() as served:
        for _ in range(3):
            assert await _status(served, ANN) == 200
        occupied = occupy(served, "global-default")
        url = served.url("/api/v1/namespaces/default?timeout=40ms")
        async with served.session.get(url, headers=ANN) as answer:
            assert answer.status == 429
        async with served.session.get(served.url("/metrics")) as answer:
            found = {
                (
                    sample.name.removeprefix("apiserver_flowcontrol_"),
                    tuple(sorted(sample.labels.items())),
                ): sample.value
                for family in text_string_to_metric_families(await answer.text())
                for sample in family.samples
                if sample.name.startswith("apiserver_flowcontrol_")
            }

        def value(name: str, **labels: str) -> float:
            return found[name, tuple(sorted({"priority_level": "global-default", **labels}.items()))]

        own = {"flow_schema": "global-default"}
        assert value("dispatched_requests_total", **own) == 3 + len(occupied)
        assert value("rejected_requests_total", **own, reason="time-out") == 1
        assert value("current_inqueue_requests", **own) == 0
        assert value("request_execution_seconds_count", **own, type="regular") == 3
        assert value("request_wait_duration_seconds_count", **own, execute="true") == 4 + len(occupied)
        assert value("request_queue_length_after_enqueue_count", **own) == 4 + len(occupied)
        assert value("work_estimated_seats_bucket", **own, le="1") == 4 + len(occupied)
        assert value("current_limit_seats") == len(occupied)
        assert value("nominal_limit_seats", priority_level="workload-low") == 100
        assert value("next_s_bounds", bound="min") <= value("next_s_bounds", bound="max")


async def _send_head(served: ServedHere, size: int) -> asyncio.StreamWriter:
    """Send the head of a POST whose body of ``size`` bytes does not come."""
    _, writer = await asyncio.open_connection("127.0.0.1", served.http.port)
    user = "".join(f"{name}: {value}\r\n" for name, value in ANN.items())
    writer.write(
        f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{user}"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n{{".encode()
    )
    await writer.drain()
    return writer


async def test_slow_small_bodies_occupy_no_seats() -> None:
    async with limited() as served:
        queue_set = level_of(served, "global-default").queue_set
        writers = [await _send_head(served, 5000) for _ in range(2 * queue_set.limit)]
        assert await _status(served, ANN) == 200
        assert not queue_set.brief
        for writer in writers:
            writer.close()


async def test_slow_large_bodies_do_not_keep_others_waiting_for_long() -> None:
    async with limited() as served:
        queue_set = level_of(served, "global-default").queue_set
        writers = [await _send_head(served, 1_000_000) for _ in range(3)]
        async with asyncio.timeout(5):
            while queue_set.requests_waiting != 1:
                await clock.sleep(0)
        assert await _status(served, ANN) == 200, "they leave seats for others"
        served.api.fairness.end_late(clock.monotonic() + 9)
        await clock.sleep(0.05)
        assert queue_set.requests_waiting == 1
        served.api.fairness.end_late(clock.monotonic() + 11)
        async with asyncio.timeout(5):
            while queue_set.requests_waiting:
                await clock.sleep(0)
        for writer in writers:
            writer.close()
