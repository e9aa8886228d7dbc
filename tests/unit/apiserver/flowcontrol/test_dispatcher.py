"""Requests that wait for their turn, on virtual time (upstream: ``borrowing_test.go``, ``filters``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from podling import clock
from podling.api.flowcontrol_v1 import (
    FlowDistinguisherMethod,
    FlowSchema,
    FlowSchemaSpec,
    GroupSubject,
    LimitedPriorityLevelConfiguration,
    LimitResponse,
    NonResourcePolicyRule,
    PolicyRulesWithSubjects,
    PriorityLevelConfiguration,
    PriorityLevelConfigurationSpec,
    QueuingConfiguration,
    Subject,
    UserSubject,
)
from podling.api.flowcontrol_v1 import PriorityLevelConfigurationReference as Reference
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.dispatcher import (
    DELAY_SECONDS_MAX,
    Dispatcher,
    TooManyRequests,
    wait_seconds,
)
from podling.apiserver.flowcontrol.filter import ADJUSTMENT_SECONDS
from podling.apiserver.flowcontrol.flows import Flow, Flows
from podling.apiserver.flowcontrol.levels import TURN_REQUESTS
from podling.apiserver.flowcontrol.seat_demand import Integrator
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from podling.client.requests import User
from podling.supervisor import Supervisor
from podling.testing import memory_cluster

KNOWN = "system:authenticated"
PATH = Attributes("get", path="/foobar")


def level(
    name: str, shares: int, *, lends: int = 0, borrows: int | None = None, queues: int = 10, hand: int = 2
) -> PriorityLevelConfiguration:
    queuing = QueuingConfiguration(queues=queues, hand_size=hand, queue_length_limit=50)
    limited = LimitedPriorityLevelConfiguration(
        nominal_concurrency_shares=shares,
        lendable_percent=lends,
        borrowing_limit_percent=borrows,
        limit_response=LimitResponse(type="Queue", queuing=queuing),
    )
    spec = PriorityLevelConfigurationSpec(type="Limited", limited=limited)
    return PriorityLevelConfiguration(metadata=ObjectMeta(name=name), spec=spec)


def schema(name: str, level: str, subject: Subject) -> FlowSchema:
    paths = NonResourcePolicyRule(verbs=("*",), non_resource_urls=("*",))
    spec = FlowSchemaSpec(
        priority_level_configuration=Reference(name=level),
        matching_precedence=100,
        distinguisher_method=FlowDistinguisherMethod(type="ByUser"),
        rules=(PolicyRulesWithSubjects(subjects=(subject,), non_resource_rules=(paths,)),),
    )
    return FlowSchema(metadata=ObjectMeta(name=name), spec=spec)


def user(name: str) -> Subject:
    return Subject(kind="User", user=UserSubject(name=name))


EVERYONE = Subject(kind="Group", group=GroupSubject(name=KNOWN))


class Edge:
    """Requests as the HTTP edge serves them."""

    def __init__(self, flows: Flows) -> None:
        self.flows = flows
        self.dispatcher = Dispatcher(flows)

    def flow(self, name: str) -> Flow:
        self.flows.catch_up()
        return self.flows.of(User(name, (KNOWN,)), PATH)

    async def serve(self, name: str, seconds: float, seats: Integrator | None = None) -> None:
        """Serve one request; it takes so long when its turn has come."""
        flow, request, began = self.flow(name), object(), clock.monotonic()
        place = None
        try:
            if flow.queue_set.start_brief(request, flow):
                place = flow.brief_place
            else:
                place = self.dispatcher.start(flow, ONE_SEAT, began)
                if place.request and not place.request.is_executing:
                    await place.wait(15)
            await self._execute(seconds, seats)
        finally:
            if place is not None:
                place.close(request, began, clock.monotonic())

    async def _execute(self, seconds: float, seats: Integrator | None) -> None:
        if seats is None:
            await clock.sleep(seconds)
            return
        seats.add(1, clock.monotonic())
        try:
            await clock.sleep(seconds)
        finally:
            seats.add(-1, clock.monotonic())

    async def keep_adjusting(self) -> None:
        while True:
            await clock.sleep(ADJUSTMENT_SECONDS)
            self.dispatcher.adjust()

    async def keep_serving(self, name: str, seconds: float, seats: Integrator) -> None:
        while True:
            try:
                await self.serve(name, seconds, seats)
            except TooManyRequests as error:
                await clock.sleep(error.retry_after)


@asynccontextmanager
async def edge(server_seats: int, *objects: FlowSchema | PriorityLevelConfiguration) -> AsyncIterator[Edge]:
    async with memory_cluster() as cluster:
        for each in objects:
            await cluster.client.create(each)
        flows = Flows(cluster.store, server_seats)
        await flows.follow()
        yield Edge(flows)
        flows.close()


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("lendable limited", (50, 67), (33, 50)),
        ("borrowing limited", (50, 33), (67, 50)),
    ],
)
async def test_busy_level_borrows_seats(name: str, first: tuple[int, int], second: tuple[int, int]) -> None:
    objects: list[FlowSchema | PriorityLevelConfiguration] = []
    for number, (lends, borrows) in enumerate((first, second)):
        objects.append(level(f"pl{number}", 100, lends=lends, borrows=borrows))
        objects.append(schema(f"fs{number}", f"pl{number}", user(f"user{number}")))
    async with edge(24, *objects) as served, Supervisor() as tasks:
        tasks.keep_running("adjustments", served.keep_adjusting)
        seats = [Integrator(clock.monotonic()) for _ in range(2)]
        for number, clients in enumerate((24, 6)):
            for client in range(clients):
                tasks.run_once(
                    "client",
                    lambda number=number: served.keep_serving(f"user{number}", 0.25, seats[number]),  # type: ignore[misc]
                    str(client),
                )
        await clock.sleep(10.1)
        for each in seats:
            each.reset(clock.monotonic())
        await clock.sleep(15)
        averages = [each.reset(clock.monotonic()).average for each in seats]
        assert 15.5 <= averages[0] <= 16.1, (name, averages)
        assert 5.5 <= averages[1] <= 6.1, (name, averages)
        await tasks.close()


async def test_eager_user_leaves_the_others_their_shares() -> None:
    """Ten users, one of them with 100 times as many clients: no other gets less than 80 % of a share."""
    objects = level("all", 100, queues=128, hand=6), schema("all", "all", EVERYONE)
    async with edge(105, *objects) as served, Supervisor() as tasks:
        users = [f"user{number}" for number in range(10)]
        seats = {name: Integrator(clock.monotonic()) for name in users}
        for name in users:
            for client in range(2000 if name == "user0" else 20):
                tasks.run_once(
                    "client",
                    lambda name=name: served.keep_serving(name, 0.1, seats[name]),  # type: ignore[misc]
                    f"{name}/{client}",
                )
        await clock.sleep(2)
        for each in seats.values():
            each.reset(clock.monotonic())
        await clock.sleep(20)
        averages = {name: each.reset(clock.monotonic()).average for name, each in seats.items()}
        share = served.flow("user0").queue_set.limit / len(users)
        assert sum(averages.values()) == pytest.approx(share * len(users), rel=0.02)
        assert min(averages.values()) >= 0.8 * share, averages
        await tasks.close()


async def test_light_user_does_not_wait_behind_an_eager_one() -> None:
    objects = level("all", 100, queues=128, hand=6), schema("all", "all", EVERYONE)
    async with edge(10, *objects) as served, Supervisor() as tasks:
        seats = Integrator(clock.monotonic())
        for client in range(200):
            tasks.run_once("client", lambda: served.keep_serving("eager", 0.1, seats), str(client))
        await clock.sleep(3)
        for _ in range(20):
            began = clock.monotonic()
            await served.serve("light", 0.01)
            assert clock.monotonic() - began <= 0.4, "of 200 requests before it, few are served first"
        await tasks.close()


async def test_request_that_waits_too_long_is_rejected() -> None:
    async with edge(2, level("all", 1), schema("all", "all", EVERYONE)) as served:
        busy = [asyncio.ensure_future(served.serve("ann", 100)) for _ in range(3)]
        await clock.sleep(0)
        began = clock.monotonic()
        with pytest.raises(TooManyRequests, match=r"^Too many requests, please try again later\.$") as found:
            await served.serve("ann", 1)
        assert clock.monotonic() - began == pytest.approx(15)
        assert found.value.retry_after == 1
        queue_set = served.flow("ann").queue_set
        await clock.sleep(0.1)
        assert (queue_set.timed_out, queue_set.requests_waiting) == (len(busy) + 1 - queue_set.limit, 0)
        for each in busy:
            each.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def test_client_that_goes_away_leaves_the_queue_at_once() -> None:
    async with edge(2, level("all", 1), schema("all", "all", EVERYONE)) as served:
        queue_set = served.flow("ann").queue_set
        running = [asyncio.ensure_future(served.serve("ann", 10)) for _ in range(queue_set.limit)]
        await clock.sleep(0)
        gone, stays = (asyncio.ensure_future(served.serve("ann", 1)) for _ in range(2))
        await clock.sleep(1)
        assert queue_set.requests_waiting == 2
        gone.cancel()
        await clock.sleep(0)
        assert (queue_set.requests_waiting, queue_set.cancelled) == (1, 1)
        running[0].cancel()
        began = clock.monotonic()
        await stays
        assert clock.monotonic() - began == pytest.approx(1), "its seat went to the next request"
        await asyncio.gather(*running, return_exceptions=True)
        assert queue_set.is_idle


async def test_cancelled_request_that_was_just_dispatched_gives_its_seat_back() -> None:
    async with edge(2, level("all", 1), schema("all", "all", EVERYONE)) as served:
        queue_set = served.flow("ann").queue_set
        running = [asyncio.ensure_future(served.serve("ann", 1)) for _ in range(queue_set.limit)]
        await clock.sleep(0)
        waits = asyncio.ensure_future(served.serve("ann", 1))
        await clock.sleep(0)
        running[0].cancel()
        while queue_set.requests_waiting:
            await clock.sleep(0)
        waits.cancel()
        await asyncio.gather(waits, *running, return_exceptions=True)
        await clock.sleep(0.1)
        assert queue_set.is_idle
        assert not queue_set.occupied


async def test_additional_time_keeps_seats_occupied() -> None:
    async with edge(2, level("all", 1), schema("all", "all", EVERYONE)) as served:
        flow = served.flow("ann")
        turn = served.dispatcher.start(flow, WorkEstimate(1, flow.queue_set.limit, 0.5), clock.monotonic())
        turn.release()
        turn.close(None, 0.0, 0.0)
        began = clock.monotonic()
        await served.serve("ann", 0)
        assert clock.monotonic() - began == pytest.approx(0.5)


def test_wait_is_a_quarter_of_the_time_of_a_request() -> None:
    assert wait_seconds(160.0, 100.0) == 15.0
    assert wait_seconds(104.0, 100.0) == 1.0
    assert wait_seconds(1100.0, 100.0) == 60.0


async def test_rejections_are_held_back_when_there_are_many() -> None:
    async with edge(2, level("all", 1), schema("all", "all", EVERYONE)) as served:
        found = served.flow("ann").level
        assert [served.dispatcher.rejection(found).delay for _ in range(5)] == [0] * 5
        delays = []
        for _ in range(20):
            await clock.sleep(1)
            delays.append(served.dispatcher.rejection(found).delay)
            for _ in range(100):
                served.dispatcher.rejection(found)
        assert delays[0] >= 1
        assert delays[-1] == DELAY_SECONDS_MAX


async def test_each_turn_of_the_loop_starts_a_limited_number_of_requests() -> None:
    async with edge(500, level("all", 1), schema("all", "all", EVERYONE)) as served:
        queue_set = served.flow("ann").queue_set
        tasks = [asyncio.ensure_future(served.serve("ann", 5)) for _ in range(100)]
        await clock.sleep(0)
        assert (queue_set.started, queue_set.requests_waiting) == (TURN_REQUESTS, 100 - TURN_REQUESTS)
        await clock.sleep(0.001)
        assert queue_set.requests_waiting == 100 - queue_set.limit, "seats are what is waited for now"
        await asyncio.gather(*tasks)
        assert queue_set.is_idle
