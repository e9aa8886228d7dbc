"""A watch over a Unix socket: how many events it gives in one turn of the event loop."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import WatchEventType
from podling.client.messages import Events
from podling.client.socket_connection import SocketConnection, Stream
from podling.client.socket_watch import EVENTS_AT_ONCE, SocketWatch
from podling.machinery.encoding import codec
from podling.machinery.scheme import resource_of
from tests.support.loop_turns import LoopTurns

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


async def test_events_that_came_at_once_are_given_over_several_turns() -> None:
    count = 3 * EVENTS_AT_ONCE + 1
    stream = Stream(SocketConnection("/no/socket", "test", {}), 1)
    objects = [codec.encode(ConfigMap(metadata=ObjectMeta(name=f"c{number}"))) for number in range(count)]
    stream.put(Events(1, bytes(count), objects))
    stream.finish()
    watch = SocketWatch(stream, resource_of(ConfigMap))
    names: list[str | None] = []
    async with LoopTurns() as turns:
        async for event in watch:
            assert event.type is WatchEventType.ADDED
            names.append(event.object.metadata.name)
            turns.add(1)
    assert names == [f"c{number}" for number in range(count)]
    assert (turns.most, len(turns.work)) == (EVENTS_AT_ONCE, 4)
