"""Cached lists: each is valid until the next write to the store, and made once for all that wait for it."""

from __future__ import annotations

import asyncio

from podling import clock
from podling.api.core_v1 import ConfigMap, Pod
from podling.apiserver.http.list_cache import MAX_KEPT, KeptLists
from podling.client.requests import Target
from podling.machinery.scheme import resource_of
from podling.sim.loop import run

PODS, CONFIG_MAPS = Target(resource_of(Pod)), Target(resource_of(ConfigMap))


def test_list_is_found_until_the_next_revision() -> None:
    lists = KeptLists()
    lists.keep(PODS, 5, b"pods")
    assert lists.kept(PODS, 5) == b"pods"
    assert lists.kept(CONFIG_MAPS, 5) is None
    assert lists.kept(PODS, 6) is None


def test_later_list_answers_earlier_requests() -> None:
    lists = KeptLists()
    lists.keep(PODS, 5, b"pods")
    assert lists.kept(PODS, 4) == b"pods"


def test_list_of_a_later_revision_drops_all_others() -> None:
    lists = KeptLists()
    lists.keep(PODS, 5, b"pods")
    lists.keep(CONFIG_MAPS, 6, b"config maps")
    assert lists.kept(PODS, 5) is None
    assert lists.kept(CONFIG_MAPS, 6) == b"config maps"


def test_list_of_an_earlier_revision_is_not_kept() -> None:
    lists = KeptLists()
    lists.keep(CONFIG_MAPS, 6, b"config maps")
    lists.keep(PODS, 5, b"pods")
    assert lists.kept(PODS, 5) is None
    assert lists.kept(CONFIG_MAPS, 6) == b"config maps"


def test_number_of_lists_is_limited_until_the_next_revision() -> None:
    lists = KeptLists()
    targets = [Target(resource_of(Pod), f"ns-{number}") for number in range(MAX_KEPT + 1)]
    for each in targets:
        lists.keep(each, 5, b"pods")
    assert [lists.kept(each, 5) is not None for each in targets] == [True] * MAX_KEPT + [False]
    lists.keep(targets[-1], 6, b"pods")
    assert lists.kept(targets[-1], 6) == b"pods"


class Requests:
    """Requests for one list, each of which takes a second to make it as of its start."""

    def __init__(self) -> None:
        self.revision = 1
        self.made: list[int] = []
        self.lists = KeptLists()

    async def answer(self, *, is_kept: bool = True) -> bytes:
        found = await self.lists.find(PODS, self.revision)
        if found is not None:
            return found
        with self.lists.making(PODS) as ended:
            revision, body = self.revision, b"pods of %d" % self.revision
            if not is_kept:
                ended()
            await clock.sleep(1)
            self.made.append(revision)
            if is_kept:
                self.lists.keep(PODS, revision, body)
            return body


def test_requests_that_come_together_share_one_list() -> None:
    async def story() -> None:
        requests = Requests()
        bodies = await asyncio.gather(*(requests.answer() for _ in range(16)))
        assert bodies == [b"pods of 1"] * 16
        assert requests.made == [1]

    run(story())


def test_requests_after_a_write_share_a_second_list() -> None:
    async def story() -> None:
        requests = Requests()
        first = asyncio.gather(*(requests.answer() for _ in range(4)))
        await clock.sleep(0.5)
        requests.revision = 2
        second = asyncio.gather(*(requests.answer() for _ in range(4)))
        assert await first == [b"pods of 1"] * 4
        assert await second == [b"pods of 2"] * 4
        assert requests.made == [1, 2]

    run(story())


def test_request_goes_on_when_the_one_it_waits_for_is_cancelled() -> None:
    async def story() -> None:
        requests = Requests()
        maker = asyncio.ensure_future(requests.answer())
        await clock.sleep(0.5)
        waiters = asyncio.gather(*(requests.answer() for _ in range(3)))
        await clock.sleep(0.1)
        maker.cancel()
        assert await waiters == [b"pods of 1"] * 3
        assert requests.made == [1]

    run(story())


def test_cancelled_waiter_disturbs_neither_maker_nor_waiters() -> None:
    async def story() -> None:
        requests = Requests()
        maker, gone, other = (asyncio.ensure_future(requests.answer()) for _ in range(3))
        await clock.sleep(0.5)
        gone.cancel()
        assert [await maker, await other] == [b"pods of 1"] * 2
        assert gone.cancelled()
        assert requests.made == [1]

    run(story())


def test_list_that_is_not_kept_holds_up_no_other() -> None:
    async def story() -> None:
        requests = Requests()
        bodies = await asyncio.gather(*(requests.answer(is_kept=False) for _ in range(3)))
        assert bodies == [b"pods of 1"] * 3
        assert requests.made == [1, 1, 1]
        assert asyncio.get_running_loop().time() == 1

    run(story())
