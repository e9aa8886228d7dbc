"""New servers with custom resources, quick to create in large numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.client.base import Client
from podling.client.requests import User
from podling.machinery.encoding.custom import is_established
from podling.store.base import Entry
from podling.store.memory import MemoryStore
from tests.support.fuzzed_api import definitions
from tests.support.wire import Wire

TOKEN = "fuzz"


async def beginning() -> Sequence[Entry]:
    """Return every write until a server with custom resources is ready, in the order of revisions."""
    store = MemoryStore()
    api = ApiServer(store, plugins_without_controllers())
    await api.start()
    for each in definitions():
        await api.client().create(each)
    await _established(api.client(), len(definitions()))
    await api.stop()
    watch = store.watch("", after=0)
    entries = [event.entry for event in watch.ready()]
    await store.close()
    return entries


@asynccontextmanager
async def served(past: Sequence[Entry]) -> AsyncIterator[Wire]:
    """Connect to a new server whose store has all the writes of ``past``."""
    store = MemoryStore()
    for entry in past:
        await _write_again(store, entry)
    api = ApiServer(
        store, plugins_without_controllers(), static_tokens={TOKEN: User("fuzz", ("system:masters",))}
    )
    await api.start()
    http = HttpServer(api, api.authenticator, Serving(port=0))
    await http.start()
    wire = Wire(http.port)
    try:
        yield wire
    finally:
        wire.close()
        await http.stop()
        await api.stop()
        await store.close()


async def _write_again(store: MemoryStore, entry: Entry) -> None:
    before = store.peek(entry.key)
    await store.put(entry.key, lambda _: entry.value, expect=before.revision if before else 0)


async def _established(client: Client, count: int) -> None:
    """Wait until ``count`` definitions are served."""
    found: set[str | None] = set()
    watch = client.watch(CustomResourceDefinition, resource_version="")
    async for event in watch:
        found |= {event.object.metadata.name} if is_established(event.object) else set()
        if len(found) == count:
            break
    await watch.aclose()  # type: ignore[attr-defined]
