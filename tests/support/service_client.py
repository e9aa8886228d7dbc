"""Programs of the pods and machines in tests of Services: a server that names its client, and that client.

The client reads a list of ``[family, protocol, host, port, count]`` from its input, connects to each so many
times, all at once, and prints for each the list of its answers: ``name source``, ``refused``, ``silence``, or
``stopped`` where the own kernel refuses to send.
``hold HOST PORT`` keeps a connection to the server's next port, over which it sends a number twenty times a
second, each after the answer to the one before; it prints the name of the server, and a line when the
connection breaks, and when an answer took longer than a second. Run with ``serve NAME PORT``,
``ask SECONDS`` or ``hold HOST PORT``. The program needs the standard library only.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time  # noqa: TID251 it runs in pods, without Podling
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

FAMILIES = {"ip": socket.AF_INET, "ip6": socket.AF_INET6}


def serve(name: str, port: int) -> None:
    """Answer each connection and each packet with the own name and the client's address."""
    packets = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    packets.bind(("::", port))
    threading.Thread(target=_answer_packets, args=(packets, name), daemon=True).start()
    threading.Thread(target=_serve_lines, args=(name, port + 1), daemon=True).start()
    while True:
        connection, client = listener.accept()
        with connection:
            connection.sendall(_words(name, client[0]))


def _answer_packets(packets: socket.socket, name: str) -> None:
    while True:
        _, client = packets.recvfrom(100)
        packets.sendto(_words(name, client[0]), client)


def _serve_lines(name: str, port: int) -> None:
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_echo, args=(connection, name), daemon=True).start()


def _echo(connection: socket.socket, name: str) -> None:
    with connection, suppress(OSError):
        connection.sendall(name.encode())
        while data := connection.recv(100):
            connection.sendall(data)


def hold(host: str, port: int) -> None:
    print("started", flush=True)
    while True:
        try:
            _talk(host, port)
        except OSError as error:
            print(f"broken: {error}", flush=True)
            time.sleep(0.2)


def _talk(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=5) as connection:
        connection.settimeout(60)
        print(f"connected to {connection.recv(100).decode()}", flush=True)
        number = 0
        while True:
            sent, number = time.monotonic(), number + 1
            connection.sendall(f"{number}\n".encode())
            if not connection.recv(100):
                raise ConnectionError("the server has ended the connection")
            if (took := time.monotonic() - sent) > 1:
                print(f"answer {number} took {took:.1f} s", flush=True)
            time.sleep(0.05)


def _words(name: str, client: str) -> bytes:
    return f"{name} {client.removeprefix('::ffff:')}".encode()


def ask_once(family: str, protocol: str, host: str, port: int, seconds: float) -> str:
    kind = socket.SOCK_STREAM if protocol == "TCP" else socket.SOCK_DGRAM
    with socket.socket(FAMILIES[family], kind) as connection:
        connection.settimeout(seconds)
        try:
            connection.connect((host, port))
            if kind == socket.SOCK_DGRAM:
                connection.send(b"?")
            return connection.recv(200).decode()
        except ConnectionRefusedError:
            return "refused"
        except PermissionError:
            return "stopped"
        except OSError as error:
            return "silence" if isinstance(error, TimeoutError) else f"error: {error}"


def ask(seconds: float) -> None:
    probes = json.load(sys.stdin)
    with ThreadPoolExecutor(32) as pool:
        found = [
            [pool.submit(ask_once, family, protocol, host, port, seconds) for _ in range(count)]
            for family, protocol, host, port, count in probes
        ]
        print(json.dumps([[each.result() for each in answers] for answers in found]))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "hold":
        hold(sys.argv[2], int(sys.argv[3]))
    else:
        ask(float(sys.argv[2]))
