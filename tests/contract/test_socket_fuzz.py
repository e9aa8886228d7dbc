"""Any messages of a client, in any order: the server goes on serving others and forgets the client."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.apiserver.socket.server import SocketServer
from podling.client import messages
from podling.client.base import PatchType
from podling.client.local import LocalClient
from podling.client.requests import ListOptions, User
from podling.client.socket_backend import SocketBackend
from podling.testing import memory_cluster

IDS = st.integers(0, 5)
NAMES = st.sampled_from(["", "a", "b", "status", "scale", "binding", "Not Allowed", "x" * 300, "../.."])
PLACES = st.sampled_from([
    ("", "v1", "configmaps"), ("", "v1", "pods"), ("", "v1", "nodes"), ("apps", "v1", "deployments"),
    ("", "v1", "none"), ("example.com", "v1", "widgets"), ("events.k8s.io", "v1", "events"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews"),
])  # fmt: skip
USERS = st.sampled_from([
    messages.encode_user(User("root", ("system:masters",))),
    messages.encode_user(User("jane", ("system:authenticated",))),
    b"", b"\xc1", b"\x90",
])  # fmt: skip
BODIES = st.sampled_from([
    b"", b"{}", b"[]", b"null", b"{", b'{"metadata":{"name":"a","namespace":"default"}}',
    b'{"metadata":{"name":"a"},"data":{"a":"1"}}', b'{"metadata":1}', b"\xff", b"[" * 5000,
    b'[{"op":"replace","path":"/data","value":{}}]',
])  # fmt: skip
LISTS = st.builds(
    ListOptions,
    label_selector=st.sampled_from(["", "a=b", "a in ("]),
    field_selector=st.sampled_from(["", "metadata.name=a", "none=a"]),
    resource_version=st.sampled_from(["", "0", "1", "999999", "x"]),
    limit=st.sampled_from([0, 1, -1]),
    continue_token=st.sampled_from(["", "x"]),
    send_initial_events=st.sampled_from([None, True, False]),
    bookmarks=st.booleans(),
)
CHANGES = st.builds(
    messages.Change,
    st.booleans(), st.sampled_from(["", "me", "x" * 200]), st.sampled_from(["", "Warn", "Strict", "none"]),
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
ABOUT = (IDS, PLACES, st.sampled_from(["", "default", "none"]), NAMES, NAMES, st.booleans(), USERS)
MESSAGES = st.one_of(
    st.builds(messages.Get, *ABOUT),
    st.builds(messages.List, *ABOUT, LISTS),
    st.builds(messages.Watch, *ABOUT, LISTS, st.sampled_from([-1, 0, 1000])),
    st.builds(messages.Create, *ABOUT, BODIES, CHANGES),
    st.builds(messages.Update, *ABOUT, BODIES, CHANGES),
    st.builds(
        messages.Patch,
        *ABOUT,
        st.sampled_from([*(each.value for each in PatchType), "none"]),
        BODIES,
        st.just(()),
        CHANGES,
    ),
    st.builds(messages.Delete, *ABOUT, BODIES),
    st.builds(messages.DeleteCollection, *ABOUT, LISTS, BODIES),
    st.builds(messages.Cancel, IDS),
    st.builds(messages.Credit, IDS, st.sampled_from([-1000, 0, 2**62])),
    st.builds(messages.Extra, IDS, st.sampled_from(["", "other-apis/list", "other-apis/resources"]), BODIES),
    st.builds(messages.Follow, IDS, st.sampled_from([None, 0, 1, 999999]), st.sampled_from([0, 1000])),
    st.builds(messages.Beat, st.dictionaries(NAMES, NAMES, max_size=2)),
    st.builds(messages.ClientReply, IDS, BODIES, NAMES),
    st.builds(messages.Hello, st.integers(0, 2), NAMES, IDS),
)


def frame(message: Any) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "big") + body


async def send(path: str, sent: list[Any]) -> None:
    """Send messages as a client of their own that reads the answers, and leave."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(frame(messages.Hello(messages.VERSION, "fuzz", 1)) + b"".join(map(frame, sent)))
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(0.02):
            while await reader.read(65536):
                pass
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def play(folder: Path, sent: list[Any]) -> None:
    async with memory_cluster() as cluster:
        server = SocketServer(cluster.server, folder / "api.sock")
        await server.start()
        async with SocketBackend(server.path) as backend:
            await backend.connected()
            client = LocalClient(backend)
            await send(server.path, sent)
            await client.list(ConfigMap)
            while len(server._connections) > 1:
                await clock.sleep(0.001)
        await server.stop()


@given(st.lists(MESSAGES, max_size=12))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_messages_leave_the_server_whole(tmp_path: Path, sent: list[Any]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(play(tmp_path, sent))
