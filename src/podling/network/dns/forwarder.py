"""Names outside of the cluster: forwarded to other servers, once for all equal questions at the same time.

Servers that stay silent are probed in the background, as CoreDNS' ``forward`` does, and left out until they
answer. A server that leads back to us is found out by a name that only this process knows (CoreDNS'
``loop``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from podling import clock, ids
from podling.network.dns.answers import NS, Labels, labels_of
from podling.network.dns.exchange import NoAnswer, Outcome, exchange
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import Query
from podling.network.dns.responses import question_for
from podling.network.dns.settings import Server
from podling.network.dns.upstreams import LOOP_SECONDS, Upstream, Upstreams, order
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

CONCURRENT_MAX = 1000
PROBE_SECONDS = 0.5
REPORTS_MAX = 20
LOOP_TYPE = 13
"""HINFO: the type that CoreDNS queries for to find loops."""

Notice = Callable[[str, str], object]
"""Called with the reason and the text of something that an administrator should know."""


class Overload(Exception):
    """Too many questions are on their way."""


class Forwarder:
    """Forwards questions to the servers that it is given with each.

    Args:
        tasks: what runs beside the questions: probes and tests for loops.
    """

    def __init__(self, tasks: Supervisor, metrics: Metrics, notice: Notice) -> None:
        self._tasks, self._metrics, self._notice = tasks, metrics, notice
        self._upstreams = Upstreams()
        self._flights: dict[object, asyncio.Future[Outcome]] = {}
        self._turn = 0
        self._tokens: dict[Labels, Upstream] = {}
        self._reported: set[object] = set()

    def use(self, servers: Sequence[Server]) -> None:
        """From now on only these servers are queried; each is tested for a loop."""
        self._upstreams.keep_only(servers)
        self._tokens.clear()
        for upstream in self._upstreams.of(dict.fromkeys(servers)):
            self._tasks.keep_running("dns/loop", partial(self._test_for_loop, upstream), str(upstream.server))

    async def forward(self, servers: Sequence[Server], query: Query) -> Outcome:
        """Return the answer of one of ``servers``. Raises ``NoAnswer`` and ``Overload``."""
        key = (query.key, tuple(servers))
        flight = self._flights.get(key)
        if flight is not None:
            return await asyncio.shield(flight)
        if len(self._flights) >= CONCURRENT_MAX:
            self._metrics.rejects += 1
            raise Overload
        flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        self._tasks.run_once("dns/forward", partial(self._fly, key, flight, servers, query))
        return await asyncio.shield(flight)

    async def _fly(
        self, key: object, flight: asyncio.Future[Outcome], servers: Sequence[Server], query: Query
    ) -> None:
        try:
            outcome = await self._query(servers, query)
        except Exception as error:
            if not isinstance(error, NoAnswer):
                self._report(error)
            flight.set_exception(error if isinstance(error, NoAnswer) else NoAnswer(str(error)))
            flight.exception()  # no client may be waiting any more
        else:
            flight.set_result(outcome)
        finally:
            flight.cancel()
            del self._flights[key]

    def _report(self, error: Exception) -> None:
        """Log a mistake of ours; the same one, which a client may provoke at will, only once."""
        self._metrics.panics += 1
        place = _place_of(error)
        if place not in self._reported and len(self._reported) < REPORTS_MAX:
            self._reported.add(place)
            logger.error("a question was not forwarded; this is logged once", exc_info=error)

    async def _query(self, servers: Sequence[Server], query: Query) -> Outcome:
        self._turn += 1
        chosen = order(self._upstreams.of(servers), self._turn, clock.monotonic())
        if chosen and all(each.is_down for each in chosen):
            self._metrics.broken += 1
        outcome = await exchange([each.server for each in chosen], query, self._failed)
        for each in chosen:
            if each.server == outcome.server:
                each.failures = 0
        self._metrics.forwarded(str(outcome.server), outcome.response.rcode, outcome.seconds)
        return outcome

    def _failed(self, server: Server) -> None:
        (upstream,) = self._upstreams.of((server,))
        upstream.failures += 1
        if upstream.is_down and not upstream.probing:
            upstream.probing = True
            self._tasks.keep_running("dns/probe", partial(self._probe, upstream), str(server))

    async def _probe(self, upstream: Upstream) -> None:
        """Query a silent server for the root's servers until it answers anything."""
        query = Query(0, 0, (), NS, question_for(".", NS))
        try:
            while upstream.is_down and upstream in self._upstreams.all():
                await clock.sleep(PROBE_SECONDS)
                try:
                    await exchange((upstream.server,), query, lambda server: None)
                except NoAnswer:
                    self._metrics.probe_failures[str(upstream.server)] += 1
                else:
                    upstream.failures = 0
        finally:
            upstream.probing = False

    # ---- loops

    async def _test_for_loop(self, upstream: Upstream) -> None:
        """Query a server for a name that no other process knows: if it leads back, the name comes to us."""
        name = f"{ids.secret(16)}.{ids.secret(16)}".replace("-", "a").replace("_", "b").lower()
        labels = labels_of(name)
        self._tokens[labels] = upstream
        query = Query(0, 0, labels, LOOP_TYPE, question_for(name, LOOP_TYPE))
        try:
            await exchange((upstream.server,), query, lambda server: None)
        except NoAnswer:
            return
        finally:
            self._tokens.pop(labels, None)

    def is_loop(self, labels: Labels) -> bool:
        """Return whether a question is one of our own tests that came back; its server is then left out."""
        upstream = self._tokens.pop(labels, None)
        if upstream is None:
            return False
        upstream.loops_until = clock.monotonic() + LOOP_SECONDS
        text = f"the name server {upstream.server} leads back to cluster DNS, so it is not queried"
        self._notice("DNSLoop", text)
        self._tasks.keep_running("dns/loop", partial(self._test_again, upstream), str(upstream.server))
        return True

    async def _test_again(self, upstream: Upstream) -> None:
        await clock.sleep(LOOP_SECONDS - 2)
        if upstream in self._upstreams.all():
            await self._test_for_loop(upstream)


def _place_of(error: Exception) -> object:
    """Return the kind of an error, and the line of code that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return type(error), None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
