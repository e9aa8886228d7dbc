"""systemd's login manager, seen from the kubelet: the protocol, and its way over D-Bus.

Upstream: ``pkg/kubelet/nodeshutdown/systemd/inhibit_linux.go``. The first connection imports the library for
D-Bus: most nodes never make one.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from podling import clock
from podling.kubelet.blocking import blocking

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

SERVICE, OBJECT, INTERFACE = (
    "org.freedesktop.login1",
    "/org/freedesktop/login1",
    "org.freedesktop.login1.Manager",
)
SYSTEMD, SYSTEMD_OBJECT, SYSTEMD_INTERFACE = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
)
BUS, BUS_OBJECT, PROPERTIES = (
    "org.freedesktop.DBus",
    "/org/freedesktop/DBus",
    "org.freedesktop.DBus.Properties",
)
PREPARE = "PrepareForShutdown"
INHIBITOR = ("shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay")
SIGHUP = 1

DROP_INS = Path("/etc/systemd/logind.conf.d")
DROP_IN = "99-kubelet.conf"
CALL_SECONDS = 25.0
"""The time that a call may take, as D-Bus' own libraries have it."""
CONNECTION_CHECK_SECONDS = 5.0


class LogindFailure(Exception):
    """The login manager cannot be reached, or refuses."""


class Logind(Protocol):
    """The login manager, as far as a shutdown of the machine is concerned. All raise ``LogindFailure``."""

    async def inhibit_delay(self) -> float:
        """Return the longest delay of a shutdown, in seconds."""
        ...

    async def override_inhibit_delay(self, seconds: float) -> None:
        """Configure another longest delay, which counts after ``reload``."""
        ...

    async def reload(self) -> None:
        """Let the login manager read its configuration again."""
        ...

    async def inhibit(self) -> int:
        """Take a lock that delays shutdowns; return the descriptor that holds it."""
        ...

    def release(self, lock: int) -> None:
        """Release a lock, after which a shutdown goes on."""
        ...

    def shutdowns(self) -> AsyncIterator[bool]:
        """Yield True when a shutdown begins, False when it is cancelled, until the connection ends."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


async def connect_logind(drop_ins: Path = DROP_INS) -> Logind:
    """Return the login manager of this machine, over the system bus. Raises ``LogindFailure``."""
    try:
        from dbus_fast import BusType
        from dbus_fast.aio import MessageBus
        from dbus_fast.errors import AuthError
    except ImportError as error:
        raise LogindFailure("the Python package dbus-fast is not installed") from error
    try:
        bus = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
    except (OSError, EOFError, ValueError, AuthError) as error:
        raise LogindFailure(f"the system bus cannot be reached: {error}") from error
    logind = DBusLogind(bus, drop_ins)
    await logind.listen()
    return logind


class DBusLogind:
    """The login manager at the other end of a bus."""

    def __init__(self, bus: MessageBus, drop_ins: Path) -> None:
        self._bus = bus
        self._drop_ins = drop_ins
        self._signals: deque[bool] = deque()
        self._changed = asyncio.Event()

    async def listen(self) -> None:
        """Subscribe to the signals of shutdowns."""
        self._bus.add_message_handler(self._receive)
        rule = f"type='signal',interface='{INTERFACE}',member='{PREPARE}',path='{OBJECT}'"
        await self._call(BUS, BUS_OBJECT, BUS, "AddMatch", "s", [rule])

    async def inhibit_delay(self) -> float:
        reply = await self._call(SERVICE, OBJECT, PROPERTIES, "Get", "ss", [INTERFACE, "InhibitDelayMaxUSec"])
        microseconds = reply.body[0].value
        if not isinstance(microseconds, int):
            raise LogindFailure("InhibitDelayMaxUSec from logind is not a uint64 as expected")
        return microseconds / 1_000_000

    async def override_inhibit_delay(self, seconds: float) -> None:
        try:
            await blocking(_write_drop_in, self._drop_ins, seconds)
        except OSError as error:
            raise LogindFailure(
                f"failed writing logind shutdown inhibit override file {self._drop_ins / DROP_IN}: {error}"
            ) from error

    async def reload(self) -> None:
        arguments = ["systemd-logind.service", "all", SIGHUP]
        await self._call(SYSTEMD, SYSTEMD_OBJECT, SYSTEMD_INTERFACE, "KillUnit", "ssi", arguments)

    async def inhibit(self) -> int:
        reply = await self._call(SERVICE, OBJECT, INTERFACE, "Inhibit", "ssss", list(INHIBITOR))
        if not reply.unix_fds:
            raise LogindFailure("logind has sent no descriptor for the inhibitor lock")
        return int(reply.unix_fds[0])

    def release(self, lock: int) -> None:
        os.close(lock)

    async def shutdowns(self) -> AsyncIterator[bool]:
        while True:
            while self._signals:
                yield self._signals.popleft()
            if not self._bus.connected:
                return
            self._changed.clear()
            await clock.wait_for(self._changed, CONNECTION_CHECK_SECONDS)

    async def close(self) -> None:
        self._bus.disconnect()

    def _receive(self, message: Message) -> None:
        if message.member == PREPARE and message.interface == INTERFACE and message.body:
            if isinstance(message.body[0], bool):
                self._signals.append(message.body[0])
            self._changed.set()

    async def _call(
        self, service: str, path: str, interface: str, member: str, signature: str, body: list[Any]
    ) -> Message:
        """Call a method and return its reply. Raises ``LogindFailure``."""
        from dbus_fast import Message, MessageType

        call = Message(
            destination=service,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=body,
        )
        try:
            async with asyncio.timeout(CALL_SECONDS):
                reply = await self._bus.call(call)
        except (OSError, EOFError, TimeoutError) as error:
            raise LogindFailure(f"{member}: {error or 'no reply'}") from error
        if reply.message_type is MessageType.ERROR:
            raise LogindFailure(f"{member}: {reply.body[0] if reply.body else reply.error_name}")
        return reply


def _write_drop_in(folder: Path, seconds: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# Kubelet logind override\n[Login]\nInhibitDelayMaxSec={seconds:.0f}\n"
    (folder / DROP_IN).write_text(text)
