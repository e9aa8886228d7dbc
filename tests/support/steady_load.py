"""A constant load of HTTP requests, each on a new connection. A program for pods: nothing but the library.

    python3 steady_load.py HOST PORT REQUESTS_PER_SECOND

Sends until SIGTERM, then prints one JSON object: the number of responses by their text, and each failure with
the time and the client's port, by which it can be found among the connections that the node tracks.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time  # noqa: TID251 - runs in pods, where podling is not
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

SECONDS = 5.0
"""The limit of one request: longer than any answer, shorter than a retransmission's second try."""
WORKERS = 64


class Load:
    """Sends requests to one address and counts their outcomes."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._lock = threading.Lock()
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []

    def send(self) -> None:
        """Send one request and record its outcome."""
        begun = _now()
        own_port = 0
        try:
            with socket.create_connection(self._address, timeout=SECONDS) as connection:
                own_port = connection.getsockname()[1]
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                answer = _read(connection)
        except OSError as error:
            with self._lock:
                took = (_now() - begun).total_seconds()
                self.failures.append(
                    f"{begun.isoformat()} from port {own_port}, {took:.3f} s: {error or type(error).__name__}"
                )
        else:
            with self._lock:
                self.answers[answer] += 1


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - runs in pods, where podling is not


def _read(connection: socket.socket) -> str:
    """Return the body of a response. Raises ``OSError`` for one that is not whole."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator or b" 200 " not in head.partition(b"\r\n")[0]:
        raise OSError(f"response {received[:80]!r}")
    return body.decode().strip()


def main(host: str, port: str, rate: str) -> None:
    load, ended = Load(host, int(port)), threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    due = time.monotonic()
    with ThreadPoolExecutor(WORKERS) as pool:
        while not ended.is_set():
            pool.submit(load.send)
            due += 1 / float(rate)
            ended.wait(max(0.0, due - time.monotonic()))
    print(json.dumps({"answers": load.answers, "failures": load.failures}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
