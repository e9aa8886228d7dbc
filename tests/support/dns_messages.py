"""DNS messages for tests, written and read by ``dnslib``, and servers that play an upstream."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import dnslib

from podling.network.dns.answers import OPT


def question(
    name: str,
    kind: str = "A",
    *,
    number: int = 7,
    payload: int = 0,
    dnssec: bool = False,
    version: int = 0,
    recursion: bool = True,
) -> bytes:
    """Return a query; ``payload`` is the buffer size of an OPT record, 0: without one."""
    record = dnslib.DNSRecord.question(name, kind)
    record.header.id = number
    record.header.rd = int(recursion)
    if payload:
        record.add_ar(dnslib.EDNS0(udp_len=payload, flags="do" if dnssec else "", version=version))
    return bytes(record.pack())


def read(data: bytes) -> dnslib.DNSRecord:
    return dnslib.DNSRecord.parse(data)


def answers(data: bytes) -> list[str]:
    """Return the answers of a message as ``owner TTL type data``."""
    return [f"{rr.rname} {rr.ttl} {dnslib.QTYPE[rr.rtype]} {rr.rdata}" for rr in read(data).rr]


def options(data: bytes) -> list[dnslib.RR]:
    return [rr for rr in read(data).ar if rr.rtype == OPT]


def reply(query: bytes, *zone: str, rcode: int = 0, authority: str = "", edns: bool = False) -> bytes:
    """Return an upstream's response with records in zone-file form."""
    record = read(query).reply(ra=1, aa=0)
    record.header.rcode = rcode
    for text in zone:
        record.add_answer(*dnslib.RR.fromZone(text))
    if authority:
        record.add_auth(*dnslib.RR.fromZone(authority))
    if edns:
        record.add_ar(dnslib.EDNS0(udp_len=1232))
    return bytes(record.pack())


Answerer = Callable[[bytes], list[bytes]]


def both_sockets(port: int = 0) -> tuple[socket.socket, socket.socket]:
    """Return a UDP and a listening TCP socket on the same port of loopback."""
    while True:
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.setblocking(False)
        datagrams.bind(("127.0.0.1", port))
        try:
            return datagrams, socket.create_server(datagrams.getsockname())
        except OSError:  # another program has the port for TCP
            datagrams.close()


class StandIn:
    """A server on a loopback port, over UDP and TCP, that answers with the messages of a function.

    ``queries`` holds the queries; ``ports`` the ports that they came from.
    """

    def __init__(self, answer: Answerer, port: int = 0, over_tcp: Answerer | None = None) -> None:
        self._answer, self._over_tcp = answer, over_tcp or answer
        self.queries: list[bytes] = []
        self.ports: list[int] = []
        self.datagrams, self._listener = both_sockets(port)
        self.port: int = self.datagrams.getsockname()[1]
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> StandIn:
        asyncio.get_running_loop().add_reader(self.datagrams, self._read)
        self._server = await asyncio.start_server(self._connected, sock=self._listener)
        return self

    async def __aexit__(self, *error: object) -> None:
        asyncio.get_running_loop().remove_reader(self.datagrams)
        self.datagrams.close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def _read(self) -> None:
        data, source = self.datagrams.recvfrom(4096)
        self.queries.append(data)
        self.ports.append(source[1])
        for each in self._answer(data):
            self.datagrams.sendto(each, source)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int.from_bytes(await reader.readexactly(2), "big")
        data = await reader.readexactly(length)
        self.queries.append(data)
        for each in self._over_tcp(data):
            writer.write(len(each).to_bytes(2, "big") + each)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
