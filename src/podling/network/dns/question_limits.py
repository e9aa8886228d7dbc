"""The kernel's limit of each client's questions: a flood of one pod must not displace those of others.

Questions of all clients wait in one buffer. A limit in the server comes too late: a flood fills the buffer
while the server reads. So a table of nftables drops what one client sends beyond its rate before it reaches
the socket. Addresses of the machine itself have no limit.

The server answers about 150,000 questions a second from kept answers with a core of its own, and still
30,000 with a fifth of one. ``QUESTIONS_PER_SECOND`` is below that, and above what a client needs. The buffer
(``listening.BUFFER_BYTES``) holds about 10,000 questions: those of a flood in a third of a second in which
the server has no processor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address

from podling import clock
from podling.network.dns.messages import DATAGRAMS, Endpoint
from podling.network.netlink.wire import attributes
from podling.network.nftables import attributes as nft
from podling.network.nftables import expressions as write
from podling.network.nftables.batches import Batch
from podling.network.nftables.kernel import Kernel, parsed
from podling.network.nftables.monitor import Monitor
from podling.runtime.oci.threads import in_thread, wait_for_end

FAMILY = "inet"
QUESTIONS_PER_SECOND = 20_000
BURST = 2000
REMEMBER_SECONDS = 10
"""The time after which a client without questions is forgotten; longer than its burst needs to fill again."""
RESTORE_SECONDS = 1.0
"""The least time between two restorations: another program may change the table again and again."""
COUNT_SECONDS = 10.0
"""The interval of reading the number of dropped questions."""
RETRY_SECONDS = 60.0
"""The time after which a table that the kernel refused is tried again."""
_CHAIN = "input"
_LOCAL_IN = 1
_UDP = 17


def batch_of(
    table: str, endpoints: Iterable[Endpoint], per_second: int = QUESTIONS_PER_SECOND, burst: int = BURST
) -> Batch:
    """Return the transaction that puts the limits of these sockets in place of an earlier table. Pure."""
    batch = Batch(FAMILY, table)
    batch.replace_table()
    batch.add_filter(_CHAIN, _LOCAL_IN, 0)
    families: set[str] = set()
    for endpoint in endpoints:
        if endpoint.kind != DATAGRAMS:
            continue
        address = ip_address(endpoint.ip)
        family = "ip" if address.version == 4 else "ip6"
        clients = f"clients-{family}"
        if family not in families:
            families.add(family)
            batch.add_memory(clients, REMEMBER_SECONDS, family)
        rule = (
            write.family_is(family)
            + write.protocol_is(_UDP)
            + write.destination_is(family, address.packed, endpoint.port)
            + write.source_is_local(wanted=False)
            + write.load_source(family)
            + write.remember(clients, write.limit_over(per_second, burst))
            + write.count()
            + write.verdict(write.DROP)
        )
        batch.add_rule(_CHAIN, rule, f"at most {per_second} questions a second of one client")
    return batch


def dropped_packets(kernel: Kernel, table: str) -> int | None:
    """Return how many packets a table has dropped; None if it has no rules. Blocking; raises ``OSError``."""
    rules = kernel.dump(nft.GETRULE, FAMILY, nft.text(nft.RULE_TABLE, table))
    return sum(_counted(rule.get(nft.RULE_EXPRESSIONS, b"")) for rule in rules) if rules else None


def _counted(expressions: bytes) -> int:
    for _, each in attributes(expressions):
        expression = parsed(each)
        if expression.get(nft.EXPRESSION_NAME) == b"counter\0":
            return int.from_bytes(parsed(expression[nft.EXPRESSION_DATA])[nft.COUNTER_PACKETS], "big")
    return 0


class QuestionLimits:
    """Keeps the table of one node, which stays when the node's process ends.

    Args:
        notify: reports what an administrator should know: the reason and the text of an event.
    """

    def __init__(self, table: str, notify: Callable[[str, str], object]) -> None:
        self.dropped = 0
        """The questions beyond the limits that were dropped, as of the last look."""
        self.is_written = False
        """The kernel has the table for the sockets that are followed."""
        self._table, self._notify = table, notify
        self._endpoints: tuple[Endpoint, ...] = ()
        self._wake = asyncio.Event()
        self._kernel: Kernel | None = None
        self._earlier = 0
        """The questions that were dropped before the table was written last."""
        self._problem = ""

    def follow(self, endpoints: Iterable[Endpoint]) -> None:
        """Limit the questions to these sockets from now on."""
        found = tuple(endpoints)
        if found != self._endpoints:
            self._endpoints, self.is_written = found, False
            self._wake.set()

    async def run(self) -> None:
        """Keep the table until cancelled; what another program changes is restored. Raises ``OSError``."""
        monitor = Monitor(self._table.__eq__, self._is_own, self._wake.set)
        monitor.start()
        self._kernel = Kernel()
        self.is_written = False
        self._wake.set()
        try:
            while True:
                is_due = await clock.wait_for(self._wake, clock.aligned(COUNT_SECONDS)) or not self.is_written
                self._wake.clear()
                if self._endpoints:
                    await (self._write(self._kernel) if is_due else self._count(self._kernel))
        finally:
            monitor.close()
            kernel, self._kernel = self._kernel, None
            kernel.close()

    def _is_own(self, number: int) -> bool:
        return self._kernel is not None and self._kernel.number == number

    async def _write(self, kernel: Kernel) -> None:
        """Write the table, unless the kernel refuses it; then wait until another attempt."""
        endpoints = self._endpoints
        batch = batch_of(self._table, endpoints)

        def exchange() -> int | None:
            held = dropped_packets(kernel, self._table)
            kernel.commit(batch)
            return held

        try:
            held = await in_thread(exchange, undo=wait_for_end)
        except OSError as error:
            self._report_problem(f"the kernel refuses the limits of questions to cluster DNS: {error}")
            await clock.sleep(RETRY_SECONDS)
            return
        if self.is_written and held is None:
            self._notify("ClusterDNSLimitsRestored", f"the nftables table {self._table} was missing")
        self._earlier += held or 0
        self.dropped, self._problem = self._earlier, ""
        self.is_written = endpoints == self._endpoints
        await clock.sleep(RESTORE_SECONDS)

    def _report_problem(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._notify("ClusterDNSUnlimited", problem)

    async def _count(self, kernel: Kernel) -> None:
        with suppress(OSError):  # the tables keep changing: it is counted the next time
            found = await in_thread(lambda: dropped_packets(kernel, self._table), undo=wait_for_end)
            self.dropped = self._earlier + (found or 0)
