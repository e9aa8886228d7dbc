"""The event feed: in order, bounded, and never held open by those who left."""

from __future__ import annotations

import asyncio
import gc

from podling import clock
from podling.runtime.base import ContainerEvent, ContainerEventType
from podling.runtime.feed import FEED_LENGTH_MAX, Feeds


def event(number: int) -> ContainerEvent:
    return ContainerEvent(
        type=ContainerEventType.EXITED,
        pod_uid="uid",
        sandbox_id="s",
        container_id=str(number),
        at=clock.now(),
    )


async def test_every_reader_gets_every_event_from_when_it_began() -> None:
    feeds = Feeds()
    early = feeds.open()
    feeds.report(event(1))
    late = feeds.open()
    feeds.report(event(2))
    feeds.close()
    assert [seen.container_id async for seen in early] == ["1", "2"]
    assert [seen.container_id async for seen in late] == ["2"]


async def test_a_waiting_reader_is_woken() -> None:
    feeds = Feeds()
    feed = feeds.open()
    asyncio.get_running_loop().call_later(5, feeds.report, event(1))
    assert (await anext(feed)).container_id == "1"


async def test_a_reader_that_does_not_read_loses_the_oldest() -> None:
    feeds = Feeds()
    feed = feeds.open()
    for number in range(FEED_LENGTH_MAX + 5):
        feeds.report(event(number))
    assert (await anext(feed)).container_id == "5"


async def test_a_reader_that_left_is_forgotten() -> None:
    feeds = Feeds()
    feed = feeds.open()
    feeds.report(event(1))
    del feed
    gc.collect()
    kept = feeds.open()
    feeds.report(event(2))
    assert (await anext(kept)).container_id == "2"
    assert len(feeds) == 1
