"""Settings of the server's sockets: addresses, TLS, limits of connections."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from podling.apiserver.auth.pki import KeyPair
from podling.apiserver.http.health import Check
from podling.streaming.aiohttp_internals import HttpProcessingError
from podling.streaming.connection_table import Limits
from podling.streaming.listener import Timeouts
from podling.streaming.shared_socket import SharedSocket

_connection_log = logging.getLogger("podling.apiserver.connections")
_connection_log.addFilter(lambda record: not _is_malformed(record))

MAX_LINE_BYTES = 64 * 1024
"""Selectors make long paths, tokens make long headers."""
SHUTDOWN_SECONDS = 5.0
CONNECTIONS: dict[str, Any] = {
    "access_log": None,
    "logger": _connection_log,
    "max_line_size": MAX_LINE_BYTES,
    "max_field_size": MAX_LINE_BYTES,
}


class Serving(Struct, frozen=True):
    """Address and TLS settings of the server.

    ``client_ca`` signs client certificates. Without ``certificate`` the server uses plain HTTP, which is only
    for sockets that other processes cannot reach.
    """

    host: str = "127.0.0.1"
    also: tuple[str, ...] = ()
    """Further addresses to listen on."""
    port: int = 6443
    certificate: KeyPair | None = None
    client_ca: KeyPair | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    ready_checks: Mapping[str, Check] = field(default_factory=dict)
    """Checks of ``/readyz`` alone."""
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    flags: Mapping[str, str] = field(default_factory=dict)
    """The flags that the server shows, and their values."""
    listening: SharedSocket | None = None
    """A listening socket that several processes accept from, instead of one of this process."""
    accepts: bool = True
    """False where only other processes accept from ``listening``."""


def _is_malformed(record: logging.LogRecord) -> bool:
    """Return whether a record is about a request that is no HTTP: its client gets 400, the log nothing."""
    return record.exc_info is not None and isinstance(record.exc_info[1], HttpProcessingError)


def tls_context(serving: Serving) -> ssl.SSLContext | None:
    """Return a TLS 1.2+ context that requests a client certificate without requiring one."""
    if serving.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(serving.certificate.certificate, serving.certificate.key)
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 1  # as Go's servers: each ticket is an eighth of the handshake's work
    if serving.client_ca is not None:
        context.load_verify_locations(serving.client_ca.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
