"""Connections between network namespaces: a server for pods, and probes from many places at once.

A target is ``protocol:address:port``.
"""

from __future__ import annotations

import itertools
import os
import selectors
import socket
import struct
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from podling import clock
from podling.runtime.oci import linux

_numbers = itertools.count(1)

SECONDS = 0.7
"""The longest wait for an answer. What is dropped never answers; what is allowed answers in a millisecond."""

SERVE = """
import selectors, socket, sys
chosen = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    for family, every in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        plain = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            plain.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        plain.bind((every, port))
        chosen.register(plain, selectors.EVENT_READ, False)
        stream = socket.create_server((every, port), family=family, backlog=128)
        chosen.register(stream, selectors.EVENT_READ, True)
while True:
    for key, _ in chosen.select():
        if key.data:
            key.fileobj.accept()[0].close()
        else:
            key.fileobj.sendto(*key.fileobj.recvfrom(100))
"""
"""A server that answers on each of its ports, TCP and UDP: for a pod's ``python3 -c``."""


def probe(targets: Iterable[str], seconds: float = SECONDS) -> list[str]:
    """Return the targets that answer from here. The port of an ``icmp`` target means nothing."""
    waiting: dict[socket.socket, str] = {}
    answered = []
    chosen = selectors.DefaultSelector()
    for target in targets:
        protocol, _, place = target.partition(":")
        address, _, port = place.rpartition(":")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        number, echo = (58, 128) if family == socket.AF_INET6 else (socket.IPPROTO_ICMP, 8)
        kinds = {"tcp": (socket.SOCK_STREAM, 0), "udp": (socket.SOCK_DGRAM, 0)}
        made = socket.socket(family, *kinds.get(protocol, (socket.SOCK_RAW, number)))
        made.setblocking(False)
        made.connect_ex((address, int(port)))
        if protocol == "udp":
            made.send(b"x")
        elif protocol == "icmp":
            made.send(_echo_request(echo))
        waiting[made] = target
        event = selectors.EVENT_WRITE if protocol == "tcp" else selectors.EVENT_READ
        chosen.register(made, event, made)
    end = clock.monotonic() + seconds
    while waiting and (left := end - clock.monotonic()) > 0:
        for key, _ in chosen.select(left):
            made = key.data
            chosen.unregister(made)
            if not made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                answered.append(waiting[made])
            del waiting[made]
            made.close()
    for made in waiting:
        made.close()
    return answered


def _echo_request(kind: int) -> bytes:
    """Return a request of a number of its own: to the kernel, equal numbers are one connection."""
    number = next(_numbers) & 0xFFFF
    total = (kind << 8) + number + 1
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return struct.pack("!BBHHH", kind, 0, checksum, number, 1)


def reached(sources: Mapping[str, Path], targets: Iterable[str]) -> dict[str, set[str]]:
    """Return for each source, a network namespace, the targets that answer from there.

    Each source has a thread of its own, which enters the namespace and ends there.
    """
    wanted = list(targets)
    found: dict[str, set[str]] = {}

    def run(name: str, place: Path) -> None:
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            linux.setns(descriptor, linux.CLONE_NEWNET)
        finally:
            os.close(descriptor)
        found[name] = set(probe(wanted))

    threads = [threading.Thread(target=run, args=each) for each in sources.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.keys() == sources.keys()
    return found
