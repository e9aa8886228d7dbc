"""The DNS process: it serves the sockets that it inherits, and takes records from the node's process.

The node starts it by ``launch.command``, which leaves out modules that it does not need. The event loop is
the standard library's: it answers as fast as uvloop here, and needs less memory. So does a path without
``pathlib``.

The command ends when the process serves, which then belongs to no session, terminal or parent. In its
directory it has a control socket, a journal and a log. It ends by SIGTERM, and by itself when another process
has put its own control socket in its place: that one serves the same sockets.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
from contextlib import suppress

import msgspec

from podling import clock
from podling.network.dns import privileges
from podling.network.dns.answer_cache import DENIAL, SUCCESS
from podling.network.dns.control import Control
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.journal import Journal
from podling.network.dns.launch import Launch
from podling.network.dns.messages import CONNECTIONS, DATAGRAMS, Hello, Notice, Ping, to_server
from podling.network.dns.metrics import Metrics
from podling.network.dns.metrics_page import Sizes, page
from podling.network.dns.privileges import Priority
from podling.network.dns.resolver import Resolver
from podling.network.dns.server import DnsServer
from podling.network.dns.service_index import ServiceIndex
from podling.network.dns.settings import Server
from podling.network.dns.sources import Sources
from podling.network.dns.state import State
from podling.network.dns.status_server import StatusServer
from podling.network.dns.zone import Zone
from podling.supervisor import Supervisor

logger = logging.getLogger("podling.dns")

DESCRIPTORS = 16384
LOG_BYTES_MAX = 1024 * 1024
FOLLOW_SECONDS = 2.0
"""The interval of looking whether ``resolv.conf`` changed, and whether another process took over."""
REST_SECONDS = 10.0
"""The same with few questions and a connected node, which leaves a process before another one takes over."""
REST_SHARE = 0.01
"""The share of a core below which a process rests."""
READY = b"ready"
REPLIES_AT_ONCE = 64
"""The replies whose hits are counted between two looks for questions."""


def look_interval(share: float, *, is_connected: bool) -> float:
    """Return the time until the next look, after one since which ``share`` of a core was taken."""
    return REST_SECONDS if is_connected and share < REST_SHARE else FOLLOW_SECONDS


class ServerProcess:
    """The parts of the process, wired."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._directory = os.open(launch.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fchmod(self._directory, 0o711)  # the process still looks at its control socket as another user
        self._own_files = privileges.own_directory(f"{launch.directory}/records")
        self._sockets = [socket.socket(fileno=each) for each in launch.descriptors]
        self._tasks = Supervisor()
        own = [each for each in launch.endpoints if each.kind == DATAGRAMS]
        self._index = ServiceIndex()
        zone = Zone(self._index, launch.domain, tuple(each.ip for each in own))
        metrics = Metrics()
        self._forwarder = Forwarder(self._tasks, metrics, self._notice)
        self._resolver = Resolver(zone, self._forwarder, [Server(each.ip, each.port) for each in own])
        sources = Sources(launch.networks)
        self._server = DnsServer(self._resolver, self._forwarder, metrics, sources, self._tasks)
        self._status = StatusServer(self._page, lambda: self._index.synced, sources)
        self._state = State(self._resolver, self._server.replies, launch.resolv_conf)
        self._journal = Journal(f"/proc/self/fd/{self._own_files}/journal")
        self._taking = asyncio.Lock()
        hello = Hello(os.getpid(), launch.build, launch.endpoints)
        self._control = Control(self._directory, hello, self._sockets, self._take, self._pinged, self._tasks)

    async def run(self, ready: int) -> None:
        """Serve until SIGTERM, or until another process has taken over; write to ``ready`` once it serves."""
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        for data in self._journal.frames():
            with suppress(msgspec.MsgspecError):
                self._state.apply(to_server.decode(data))
        self._state.follow_resolv_conf()
        self._control.listen()
        privileges.drop()
        for _ in self._journal.rewriting(self._state.frames()):
            pass
        for endpoint, found in zip(self._launch.endpoints, self._sockets, strict=True):
            if endpoint.kind == DATAGRAMS:
                self._server.serve_datagrams(found)
            elif endpoint.kind == CONNECTIONS:
                await self._server.serve_connections(found.dup())
            else:
                await self._status.serve(found.dup())
        self._control.serve()
        gc.collect()
        gc.freeze()  # nothing that exists now is visited again: such a visit would hold every question up
        os.write(ready, READY)
        os.close(ready)
        priority = Priority()
        interval = FOLLOW_SECONDS
        while self._control.is_current() and not await clock.wait_for(ended, clock.aligned(interval)):
            interval = look_interval(priority.follow(), is_connected=self._control.is_connected())
            self._state.follow_resolv_conf()
        await self._close()

    async def _close(self) -> None:
        self._server.close()
        self._status.close()
        await self._tasks.close()  # before the sockets that tasks wait for
        self._control.close()
        self._journal.close()
        for each in self._sockets:
            each.close()
        os.close(self._own_files)
        os.close(self._directory)

    async def _take(self, data: bytes) -> None:
        """Take a frame from the node's process. Raises ``msgspec.MsgspecError``.

        Questions are answered between the steps, so that none waits for the whole of a large change.
        """
        async with self._taking:
            for _ in self._state.steps(to_server.decode(data)):
                await clock.sleep(0)
            try:
                self._journal.append(len(data).to_bytes(4, "big") + data)
                if self._journal.is_long:
                    for _ in self._journal.rewriting(self._state.frames()):
                        await clock.sleep(0)
            except OSError as error:  # it is on a file system in memory, which may be full
                logger.warning("the journal cannot be written: %s", error)

    def _pinged(self, ping: Ping) -> None:
        self._server.metrics.dropped["flood"] = ping.dropped

    def _notice(self, reason: str, text: str) -> None:
        logger.warning("%s: %s", reason, text)
        self._control.send(Notice(reason, text))

    async def _page(self) -> bytes:
        replies, metrics, cache = self._server.replies, self._server.metrics, self._resolver.cache
        dropped, replies.dropped = replies.dropped, []
        counted = (*dropped, *replies.replies.values())
        for start in range(0, len(counted), REPLIES_AT_ONCE):
            metrics.count_hits(counted[start : start + REPLIES_AT_ONCE])
            await clock.sleep(0)
        sizes = Sizes(
            successes=cache.count(SUCCESS) + len(replies.replies),
            denials=cache.count(DENIAL),
            evictions=cache.evictions,
            hosts=len(self._resolver.hosts),
            services=len(self._index),
        )
        return page(metrics, sizes)


def main(arguments: str) -> None:
    """Split off, serve, and end with exit code 0; the command that was called ends before, once it serves."""
    launch = msgspec.json.decode(arguments, type=Launch)
    ready_read, ready_write = os.pipe()
    if os.fork():
        os.close(ready_write)
        began = os.read(ready_read, len(READY)) == READY
        os._exit(0 if began else 1)
    os.close(ready_read)
    _detach(f"{launch.directory}/log")
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(_run(launch, ready_write))


async def _run(launch: Launch, ready: int) -> None:
    await ServerProcess(launch).run(ready)


def _detach(log: str) -> None:
    """Become a process that no terminal and no parent ends."""
    os.setsid()
    privileges.allow_priority()
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))
    os.umask(0o077)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    if os.path.exists(log) and os.stat(log).st_size > LOG_BYTES_MAX:
        flags |= os.O_TRUNC
    nothing, errors = os.open(os.devnull, os.O_RDWR), os.open(log, flags, 0o600)
    for number, descriptor in enumerate((nothing, nothing, errors)):
        os.dup2(descriptor, number)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
