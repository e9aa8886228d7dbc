"""The listening sockets, where their ports are free and where they are not."""

from __future__ import annotations

import socket

from podling.network.dns.listening import bind
from podling.network.dns.messages import CONNECTIONS, DATAGRAMS, STATUS

ADDRESSES = ("127.0.53.77", "127.0.53.78")


def test_every_address_has_the_same_ports() -> None:
    listening = bind(ADDRESSES)
    try:
        assert listening.ips == ADDRESSES
        assert [each.kind for each in listening.endpoints] == [DATAGRAMS, CONNECTIONS] * 2 + [STATUS] * 2
        assert listening.port(DATAGRAMS) == listening.port(CONNECTIONS)
        for kind in (DATAGRAMS, STATUS):
            assert {each.port for each in listening.endpoints if each.kind == kind} == {listening.port(kind)}
    finally:
        listening.close()


def test_port_of_another_server_is_left_to_it() -> None:
    first = bind(ADDRESSES[1:])
    try:
        second = bind(ADDRESSES)
        try:
            assert second.port(DATAGRAMS) != first.port(DATAGRAMS)
            assert second.port(CONNECTIONS) == second.port(DATAGRAMS)
            assert second.port(STATUS) != first.port(STATUS)
        finally:
            second.close()
    finally:
        first.close()


def test_address_need_not_exist_yet() -> None:
    listening = bind(("198.51.100.53",))
    try:
        assert listening.ips == ("198.51.100.53",)
        kinds = {each.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) for each in listening.sockets}
        assert kinds == {socket.SOCK_DGRAM, socket.SOCK_STREAM}
    finally:
        listening.close()
