"""The state of the DNS process: messages change the records, the settings and with them the kept replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podling import clock
from podling.network.dns.messages import (
    Begin,
    Complete,
    Configure,
    Namespaces,
    Ping,
    Services,
    ToServer,
    batches,
    frame,
)
from podling.network.dns.records import decode_sliced
from podling.network.dns.reply_cache import ReplyCache
from podling.network.dns.resolver import Resolver
from podling.network.dns.service_index import ServiceIndex
from podling.network.dns.settings import Server, Settings, servers_in
from podling.network.dns.zone import ANY_CHANGE, ANY_NAMESPACE


class State:
    """Applies messages."""

    def __init__(self, resolver: Resolver, replies: ReplyCache, resolv_conf: str) -> None:
        self._resolver, self._replies = resolver, replies
        self._configured = Configure(Settings(), resolv_conf)
        self._node_servers: tuple[Server, ...] | None = None
        self._unseen: set[str] | None = None

    @property
    def _index(self) -> ServiceIndex:
        return self._resolver.zone.index

    def apply(self, message: ToServer) -> None:
        """Take one message as a whole."""
        for _ in self.steps(message):
            pass

    def steps(self, message: ToServer) -> Iterator[None]:
        """Take one message in steps of well below a millisecond, between which questions may be answered.

        Another message may begin only after the last step.
        """
        serial = int(clock.now().timestamp())
        match message:
            case Begin():
                self._unseen = set(self._index.keys())
            case Services(changed, gone):
                yield from self._services(changed, gone, serial)
            case Namespaces(names):
                if self._index.namespaces != frozenset(names):
                    self._index.set_namespaces(names, serial)
                    self._replies.changed((ANY_NAMESPACE, ANY_CHANGE))
            case Complete():
                unseen, self._unseen = self._unseen, None
                yield from self._services((), sorted(unseen or ()), serial)
                self._index.synced = True
            case Configure():
                self._configure(message)
            case Ping():
                return

    def _services(self, changed: Iterable[bytes], gone: Iterable[str], serial: int) -> Iterator[None]:
        unseen = self._unseen if self._unseen is not None else set()
        for data in changed:
            unseen.discard(decode_sliced(data).key)
            if key := (yield from self._index.put(data, serial)):
                self._replies.changed((key, ANY_CHANGE))
                yield
        for each in gone:
            unseen.discard(each)
            if key := (yield from self._index.remove(each, serial)):
                self._replies.changed((key, ANY_CHANGE))
                yield

    def _configure(self, message: Configure) -> None:
        if message == self._configured and self._node_servers is not None:
            return
        self._configured = message
        self._node_servers = read_servers(message.resolv_conf)
        self._use()

    def follow_resolv_conf(self) -> None:
        """Read the node's ``resolv.conf`` again, and take what changed."""
        found = read_servers(self._configured.resolv_conf)
        if found != self._node_servers:
            self._node_servers = found
            self._use()

    def _use(self) -> None:
        self._resolver.use(self._configured.settings, self._node_servers or ())
        self._replies.clear()

    def frames(self) -> Iterator[bytes]:
        """Yield the frames that lead to this state."""
        yield frame(self._configured)
        yield frame(Namespaces(tuple(sorted(self._index.namespaces))))
        for each in batches(self._index.encoded()):
            yield frame(Services(each))
        if self._index.synced:
            yield frame(Complete())


def read_servers(path: str) -> tuple[Server, ...]:
    """Return the servers in a ``resolv.conf``; none if there is no such file."""
    if not path:
        return ()
    try:
        with open(path, errors="replace") as file:
            return servers_in(file.read())
    except OSError:
        return ()
