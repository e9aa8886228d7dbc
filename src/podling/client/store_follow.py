"""Following the store of an API server in another process, for one that keeps a copy of it.

    async for part in follow(backend):
        match part:
            case Snapshot(): ...  # parts of everything, the last one has ``last``
            case Changes(): ...  # in the order of revisions; complete up to ``progress``

The iterator ends with ``ApiError`` 410 if the copy is too far behind, with ``Unreachable`` when the
connection is lost; the reader then begins again, at best with ``after``: the revision that its copy has.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from podling.client import messages
from podling.client.messages import Changes, Snapshot
from podling.client.socket_backend import SocketBackend

WINDOW_BYTES = 4 * 1024 * 1024
"""Bytes of values that the server sends before the reader has taken some."""


async def follow(
    backend: SocketBackend, after: int | None = None
) -> AsyncGenerator[Snapshot | Changes, None]:
    """Yield the store in parts, unless the changes ``after`` a revision suffice, then its changes."""
    connection = backend.connection()
    number = connection.new_id()
    stream = connection.open(number, messages.Follow(number, after, WINDOW_BYTES))
    taken = 0
    try:
        while True:
            try:
                part: Snapshot | Changes = await stream.next()
            except StopAsyncIteration:
                return
            yield part
            taken += _size(part)
            if taken * 2 >= WINDOW_BYTES:
                stream.add_credit(taken)
                taken = 0
    finally:
        stream.close()


def _size(part: Snapshot | Changes) -> int:
    if isinstance(part, Snapshot):
        return sum(len(entry.value) for entry in part.entries)
    return sum(len(event.entry.value) for event in part.events)
