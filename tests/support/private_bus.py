"""A D-Bus of a test's own, and a login manager on it that delays shutdowns as systemd's does."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from podling.kubelet.shutdown.logind import INTERFACE, OBJECT, PREPARE, SERVICE, SYSTEMD

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""


@contextmanager
def private_bus(folder: Path) -> Iterator[str]:
    """Run a bus; yield its address. Skips the test where there is no ``dbus-daemon``."""
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("needs dbus-daemon")
    configuration, socket = folder / "bus.conf", folder / "bus"
    configuration.write_text(CONFIGURATION.format(socket=socket))
    daemon = subprocess.Popen(
        [program, f"--config-file={configuration}", "--nofork", "--nopidfile", "--print-address=1"],
        stdout=subprocess.PIPE,
    )
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline(), "dbus-daemon did not start"
        yield f"unix:path={socket}"
    finally:
        daemon.terminate()
        daemon.wait(10)
        if daemon.stdout is not None:
            daemon.stdout.close()


class BusLogind:
    """systemd's login manager, as far as inhibitor locks go, and the part of systemd that reloads it.

    Args:
        drop_ins: the directory with its configuration, which it reads at a reload.
    """

    def __init__(self, bus: MessageBus, delay_seconds: int, drop_ins: Path) -> None:
        self.inhibitors: list[list[str]] = []
        self.reloads = 0
        self._bus = bus
        self._microseconds = delay_seconds * 1_000_000
        self._drop_ins = drop_ins
        self._locks: list[int] = []
        self._taken = asyncio.Event()

    async def locked(self) -> None:
        """Wait until a lock is held."""
        async with asyncio.timeout(60):
            await self._taken.wait()

    def shut_down(self, begins: bool = True) -> None:
        """Announce a shutdown, or that it is cancelled."""
        signal = Message.new_signal(OBJECT, INTERFACE, PREPARE, "b", [begins])
        self._bus.send(signal)

    async def released(self, seconds: float) -> None:
        """Wait until no process holds the last lock any more: its pipe has no writer."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        lock = self._locks[-1]
        loop.add_reader(lock, ended.set)
        try:
            async with asyncio.timeout(seconds):
                await ended.wait()
        finally:
            loop.remove_reader(lock)
        assert os.read(lock, 1) == b""
        self._taken.clear()

    def close(self) -> None:
        for lock in self._locks:
            os.close(lock)

    def receive(self, message: Message) -> Any:
        """Answer a call, as a handler of the bus."""
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.member == "Get":
            return Message.new_method_return(message, "v", [Variant("t", self._microseconds)])
        if message.member == "Inhibit":
            self._inhibit(message)
            return True
        if message.member == "KillUnit":
            self.reloads += 1
            for file in sorted(self._drop_ins.glob("*.conf")):
                seconds = file.read_text().rpartition("InhibitDelayMaxSec=")[2]
                self._microseconds = int(seconds) * 1_000_000
            return Message.new_method_return(message)
        return None

    def _inhibit(self, message: Message) -> None:
        self.inhibitors.append(list(message.body))
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        self._locks.append(reader)
        reply = Message.new_method_return(message, "h", [0], unix_fds=[writer])
        self._bus.send(reply).add_done_callback(lambda _: os.close(writer))
        self._taken.set()


@asynccontextmanager
async def bus_logind(address: str, drop_ins: Path, delay_seconds: int) -> AsyncIterator[BusLogind]:
    """Play the login manager on a bus."""
    bus = await MessageBus(bus_address=address, negotiate_unix_fd=True).connect()
    logind = BusLogind(bus, delay_seconds, drop_ins)
    bus.add_message_handler(logind.receive)
    for name in (SERVICE, SYSTEMD):
        await bus.request_name(name)
    try:
        yield logind
    finally:
        logind.close()
        bus.disconnect()
