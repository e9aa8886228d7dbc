"""Sockets that notice the silent end of their peer."""

from __future__ import annotations

import socket

from podling.client.keepalive import new_socket


def test_kernel_probes_silent_peers() -> None:
    address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))
    with new_socket(address) as found:
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        idle, interval, probes = (found.getsockopt(socket.IPPROTO_TCP, option) for option in options)
        assert idle + interval * probes <= 30
        assert max(idle, interval) <= 5, "a peer that restarted refuses the first probe"
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 30_000
