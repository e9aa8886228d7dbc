"""Cluster DNS in the node's process: keeps a DNS process running, and keeps it informed.

A process that runs already, from before a restart of this one, is adopted; one of another build is replaced
by one that serves the same sockets. When the process ends, the next one gets the sockets that this process
has kept open, so questions wait for it instead of being lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.client.base import Client, Key
from podling.client.informer import Informer
from podling.network.dns import link as links
from podling.network.dns.build import build_of
from podling.network.dns.launch import Launch
from podling.network.dns.link import Link, NoServer
from podling.network.dns.listening import Listening, bind
from podling.network.dns.messages import Configure, Notice, Ping, Pong
from podling.network.dns.record_feed import RecordFeed
from podling.network.dns.settings import settings_of
from podling.runtime.oci.threads import in_thread, wait_for_end
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

NAMESPACE, CONFIG_MAP = "kube-system", "kube-dns"
PING_SECONDS = 5.0
SILENCE_SECONDS = 12.0
"""A process that has answered no ping for so long hangs, and is replaced."""
SHORT_LIFE_SECONDS = 1.0
"""After a life as short as this the next process starts only after the same time."""

Announce = Callable[[Listening], object]
Notify = Callable[[str, str], object]
"""Called with the reason and the text of an event."""


class DnsPlan(Struct, frozen=True, kw_only=True):
    """The work of one node's DNS process.

    ``directory`` is on a file system in memory; ``networks`` are the ranges of clients' addresses,
    ``resolv_conf`` the file with the node's own servers.
    """

    directory: Path
    domain: str
    ips: tuple[str, ...]
    networks: tuple[str, ...]
    resolv_conf: str

    @property
    def build(self) -> str:
        return build_of(self.domain, *self.networks)


class ClusterDns:
    """The component ``dns`` of a node.

    Args:
        ips: returns the node's addresses for DNS, as in ``plan``, which costs more.
        announce: called with the sockets of each process that serves.
        notify: reports what an administrator should know.
        dropped: returns how many questions the kernel has dropped, for the process' figures.
    """

    def __init__(
        self,
        plan: Callable[[], DnsPlan],
        ips: Callable[[], tuple[str, ...]],
        client: Client,
        feed: RecordFeed,
        announce: Announce,
        notify: Notify,
        dropped: Callable[[], int],
    ) -> None:
        self._plan_now, self._ips_now = plan, ips
        self._feed, self._announce, self._notify, self._dropped = feed, announce, notify, dropped
        self._maps: Informer[ConfigMap] = Informer(
            client, ConfigMap, NAMESPACE, field_selector=f"metadata.name={CONFIG_MAP}"
        )
        self._maps.add_handler(self._map_changed, lambda old, new: self._map_changed(new), self._map_changed)
        self._configured = asyncio.Event()
        self._problems: list[str] = []
        self._listening: Listening | None = None
        self._heard = 0.0

    async def run(self) -> None:
        """Keep a DNS process until cancelled; it goes on without us."""
        try:
            async with Supervisor() as tasks:
                tasks.keep_running("dns/settings", self._maps.run)
                tasks.keep_running("dns/slices", self._feed.slices.run)
                while True:
                    await self._keep_one()
        finally:
            if self._listening is not None:
                self._listening.close()
                self._listening = None

    async def _keep_one(self) -> None:
        """Find or start a process, and inform it until it ends."""
        began = clock.monotonic()
        try:
            link = await self._open(self._plan_now())
        except (NoServer, OSError) as error:
            logger.warning("cluster DNS does not run: %s", error)
            await clock.sleep(SHORT_LIFE_SECONDS)
            return
        try:
            if self._listening is not None:
                self._listening.close()
            self._listening = link.listening
            self._heard = clock.monotonic()
            self._configured.set()
            self._announce(link.listening)
            parts = (self._send, self._configure, self._receive, self._ping)
            await clock.first_of(*(_until_lost(part(link)) for part in parts))
            logger.warning("the DNS process %d has ended; another one starts", link.hello.pid)
        finally:
            link.close()
        if clock.monotonic() - began < SHORT_LIFE_SECONDS:
            await clock.sleep(SHORT_LIFE_SECONDS)

    # ---- processes

    async def _open(self, plan: DnsPlan) -> Link:
        """Return a connection to a process that serves ``plan``. Raises ``NoServer`` and ``OSError``."""
        plan.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            link = await links.connect(plan.directory)
        except NoServer:
            await self._end(plan)
            listening = self._listening
            if listening is None or listening.ips != plan.ips:
                listening = bind(plan.ips)
            return await self._start(plan, listening)
        if link.listening.ips == plan.ips and link.hello.build == plan.build:
            return link
        link.close()
        if link.listening.ips == plan.ips:  # it sees the next process take over, and leaves
            return await self._start(plan, link.listening)
        link.listening.close()
        await self._end(plan)
        return await self._start(plan, bind(plan.ips))

    async def _end(self, plan: DnsPlan) -> None:
        await in_thread(lambda: links.end_server(plan.directory), undo=wait_for_end)

    async def _start(self, plan: DnsPlan, listening: Listening) -> Link:
        launch = Launch(
            directory=str(plan.directory),
            build=plan.build,
            domain=plan.domain,
            networks=plan.networks,
            endpoints=tuple(listening.endpoints),
            descriptors=tuple(each.fileno() for each in listening.sockets),
            resolv_conf=plan.resolv_conf,
        )
        try:
            await links.start(launch)
            return await links.connect(plan.directory)
        finally:
            if listening is not self._listening:
                listening.close()

    # ---- one connection

    async def _send(self, link: Link) -> None:
        async for message in self._feed.messages():
            await link.send(message)

    async def _configure(self, link: Link) -> None:
        await self._maps.synced()
        while True:
            await self._configured.wait()
            self._configured.clear()
            held = self._maps.get(Key(NAMESPACE, CONFIG_MAP))
            settings, problems = settings_of(held.data if held is not None else {})
            for each in problems:
                if each not in self._problems:
                    self._notify("InvalidClusterDNSConfig", f"ConfigMap {NAMESPACE}/{CONFIG_MAP}: {each}")
            self._problems = problems
            await link.send(Configure(settings, self._plan_now().resolv_conf))

    async def _receive(self, link: Link) -> None:
        while True:
            for message in await link.receive():
                match message:
                    case Pong():
                        self._heard = clock.monotonic()
                    case Notice(reason, text):
                        self._notify(reason, text)

    async def _ping(self, link: Link) -> None:
        number = 0
        while clock.monotonic() - self._heard < SILENCE_SECONDS:
            if self._ips_now() != link.listening.ips:
                logger.info("the node's addresses have changed: cluster DNS moves")
                return
            number += 1
            await link.send(Ping(number, self._dropped()))
            await clock.sleep(clock.aligned(PING_SECONDS))
        logger.warning("the DNS process %d does not answer", link.hello.pid)
        await self._end(self._plan_now())

    def _map_changed(self, found: ConfigMap) -> None:
        self._configured.set()


async def _until_lost(part: Coroutine[Any, Any, None]) -> None:
    """Run a part of a connection until the connection breaks."""
    try:
        await part
    except OSError:
        return
    except Exception:
        logger.exception("informing the DNS process failed")
