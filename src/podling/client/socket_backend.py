"""The API server of another process on this machine, as a ``Backend`` over a Unix socket.

    async with SocketBackend(path) as backend:
        await backend.connected()
        client = LocalClient(backend, user)

Objects come as the bytes of the store and are decoded here. A watch reads ahead by a bounded number of bytes;
one that is read too slowly ends at the server, as over HTTP. A lost connection is opened again with a
back-off; until then, requests raise ``Unreachable``, and so do those that were under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Self, cast

import msgspec

from podling import clock, ids
from podling.api.meta_v1 import DeleteOptions, Status
from podling.client import messages
from podling.client.base import Listing, Unreachable, WatchEvent
from podling.client.component_reports import BEAT_SECONDS, METRICS, ComponentReports
from podling.client.requests import ListOptions, Patch, Target, User, WriteOptions
from podling.client.socket_connection import SocketConnection, Stream
from podling.client.socket_watch import WINDOW_BYTES, SocketWatch
from podling.client.unix_sockets import connect
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource, type_of
from podling.supervisor import Supervisor

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.02
RETRY_SECONDS_MAX = 0.5
"""The back-off between attempts to connect: a server that was killed is back within a second."""
WELCOME_SECONDS = 10.0
Warnings = list[str] | None
"""Takes the warnings of a response."""

USERS_MAX = 1024
"""Users whose encoding is remembered before remembering starts afresh."""


class SocketBackend:
    """Implements ``client.requests.Backend`` beside what only components in other processes need.

    Args:
        path: the API server's socket.
        reports: the components of this process, for the server to show.
    """

    def __init__(self, path: Path | str, reports: ComponentReports | None = None) -> None:
        self.path = str(path)
        self._reports = reports or ComponentReports("")
        self._connection: SocketConnection | None = None
        self._open = asyncio.Event()
        self._why = "not connected yet"
        self._supervisor = Supervisor()
        self._users: dict[User, bytes] = {}

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Connect, and connect again when the connection is lost, until ``close``."""
        self._supervisor.keep_running("client/socket", self._run)

    async def connected(self) -> None:
        """Wait until there is a connection."""
        await self._open.wait()

    async def close(self) -> None:
        """Close the connection; requests under way raise ``Unreachable``."""
        connection, self._why = self._connection, "the client was closed"
        await self._supervisor.close()
        if connection is not None:
            connection.close(self._why)
            await connection.wait_aborted()

    async def get(self, target: Target, user: User) -> Any:
        link = self.connection()
        number = link.new_id()
        reply = await link.call(number, messages.Get(number, *self._about(target, user)))
        return _object(reply, target)

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]:
        link = self.connection()
        number = link.new_id()
        stream = link.open(number, messages.List(number, *self._about(target, user), options))
        items, last = await _items(stream, target.resource)
        return Listing(tuple(items), str(last.revision), last.continue_token, last.remaining)

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]:
        """Follow changes. Errors are raised by the first step of the iterator."""
        try:
            link = self.connection()
            number = link.new_id()
            request = messages.Watch(number, *self._about(target, user), options, WINDOW_BYTES)
            return SocketWatch(link.open(number, request), target.resource)
        except Unreachable as error:
            return SocketWatch(None, target.resource, error)

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        link = self.connection()
        number, about = link.new_id(), self._about(target, user)
        request = messages.Create(number, *about, codec.encode(body), _change(options))
        return await self._write(link, number, request, target, options.warnings)

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        link = self.connection()
        number, about = link.new_id(), self._about(target, user)
        request = messages.Update(number, *about, codec.encode(body), _change(options))
        return await self._write(link, number, request, target, options.warnings)

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        link = self.connection()
        number, about = link.new_id(), self._about(target, user)
        body = msgspec.json.encode(patch.body)
        request = messages.Patch(
            number, *about, patch.type.value, body, tuple(patch.duplicates), _change(options)
        )
        return await self._write(link, number, request, target, options.warnings)

    async def delete(
        self, target: Target, user: User, options: DeleteOptions, warnings: Warnings = None
    ) -> Any:
        """Delete one object; ``warnings`` takes those of the response."""
        link = self.connection()
        number = link.new_id()
        request = messages.Delete(number, *self._about(target, user), codec.encode(options))
        return await self._write(link, number, request, target, warnings)

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]:
        link = self.connection()
        number, about = link.new_id(), self._about(target, user)
        request = messages.DeleteCollection(number, *about, selection, codec.encode(options))
        items, _ = await _items(link.open(number, request), target.resource)
        return tuple(items)

    async def extra(self, verb: str, body: bytes = b"") -> bytes:
        """Send a request that the server knows by its name; return the answer."""
        link = self.connection()
        number = link.new_id()
        return (await link.call(number, messages.Extra(number, verb, body))).body

    def connection(self) -> SocketConnection:
        """Return the present connection. Raises ``Unreachable``."""
        connection = self._connection
        if connection is None:
            raise Unreachable(f"{self.path}: {self._why}")
        return connection

    def _about(self, target: Target, user: User) -> tuple[tuple[str, str, str], str, str, str, bool, bytes]:
        resource = target.resource
        as_stored = isinstance(resource, CustomResource) and resource.schema is None and not resource.storage
        encoded = self._users.get(user) or self._encode(user)
        place = (resource.group, resource.version, resource.plural)
        return place, target.namespace, target.name, target.subresource, as_stored, encoded

    def _encode(self, user: User) -> bytes:
        encoded = messages.encode_user(user)
        if len(self._users) >= USERS_MAX:
            self._users.clear()
        self._users[user] = encoded
        return encoded

    async def _write(
        self, link: SocketConnection, number: int, request: Any, target: Target, warnings: Warnings
    ) -> Any:
        reply = await link.call(number, request)
        if warnings is not None:
            warnings.extend(reply.warnings)
        return _object(reply, target)

    async def _run(self) -> None:
        """Keep a connection until cancelled."""
        failures = 0
        while True:
            try:
                connection = await self._connect()
            except (OSError, Unreachable) as error:
                self._why = str(error)
                failures += 1
                least = min(RETRY_SECONDS * 2.0 ** min(failures - 1, 20), RETRY_SECONDS_MAX)
                await clock.sleep(ids.uniform(least, 2 * least))
                continue
            failures = 0
            self._connection = connection
            self._open.set()
            connection.lost.add_done_callback(lambda _: self._open.clear())
            try:
                await self._stay(connection)
            finally:
                self._why = str(connection.unreachable())
                self._connection = None
                self._open.clear()
            log.warning("lost the connection: %s", self._why)

    async def _stay(self, connection: SocketConnection) -> None:
        """Send signs of life until the connection is lost."""
        while connection.is_open:
            connection.send(messages.Beat(self._reports.errors()))
            await asyncio.wait([connection.lost], timeout=BEAT_SECONDS)
        await connection.wait_closed()

    async def _connect(self) -> SocketConnection:
        """Return a connection that the server has welcomed. Raises ``OSError`` and ``Unreachable``."""
        loop = asyncio.get_running_loop()
        connected, reports = await connect(self.path), self._reports
        _, connection = await loop.create_unix_connection(
            lambda: SocketConnection(self.path, reports.name, {METRICS: reports.metrics}), sock=connected
        )
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                await asyncio.shield(connection.welcomed)
        except BaseException:
            connection.close("the server did not answer in time")
            raise
        if not connection.is_open:
            raise connection.unreachable()
        return connection


def _change(options: WriteOptions) -> messages.Change:
    return messages.Change(
        options.dry_run,
        options.field_manager,
        options.field_validation,
        options.force,
        options.apply,
        options.manager_implied,
    )


def _object(reply: messages.Reply, target: Target) -> Any:
    return codec.decode(reply.body, target.resource.type if reply.kind is None else _type(reply.kind))


def _type(kind: messages.Place) -> type[Any]:
    return Status if kind == Status.group_version_kind else type_of(*kind)


async def _items(stream: Stream, resource: Resource) -> tuple[list[Any], messages.Items]:
    """Return the objects of an answer, and its last part."""
    items: list[Any] = []
    kind = resource.type
    try:
        while True:
            part = cast(messages.Items, await stream.next())
            items.extend(codec.decode(each, kind) for each in part.items)
            if part.last:
                stream.finish()
                return items, part
            await clock.sleep(0)
    finally:
        stream.close()
