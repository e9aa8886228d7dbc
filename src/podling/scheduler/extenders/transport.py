"""The connection to an extender: HTTP with the TLS settings of its configuration.

Upstream: ``makeTransport`` and ``send`` in ``pkg/scheduler/extender.go``.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile

from podling.machinery.durations import seconds_of
from podling.scheduler.configuration.types import Extender, ExtenderTLS
from podling.scheduler.extenders.http_extender import ExtenderFailed, Send
from podling.scheduler.plugin_registry import PluginRefused

TIMEOUT_SECONDS = 5.0
"""The time for one request by default (``DefaultExtenderTimeout``)."""


def connection(config: Extender) -> Send:
    """Return the connection to an extender. Raises ``PluginRefused`` for TLS settings that cannot be used."""
    import aiohttp

    seconds = seconds_of(config.http_timeout or "0") or TIMEOUT_SECONDS
    context = tls_context(config)
    server_name = config.tls_config.server_name if config.tls_config is not None else ""

    async def send(url: str, body: bytes) -> tuple[int, bytes]:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session,
                session.post(
                    url,
                    data=body,
                    headers={"Content-Type": "application/json"},
                    ssl=context,
                    server_hostname=server_name or None,
                ) as response,
            ):
                return response.status, await response.read()
        except TimeoutError:
            why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            why = _why(error)
        raise ExtenderFailed(f'Post "{url}": {why}', is_doubtful=True)

    return send


def _why(error: Exception) -> str:
    """Return why a connection failed, as Go says it."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = os.strerror(error.os_error.errno or 0).lower()
        return f"dial tcp {error.host}:{error.port}: connect: {cause}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__


def tls_context(config: Extender) -> ssl.SSLContext:
    """Return the TLS settings of an extender. Without an authority, ``enableHTTPS`` trusts any certificate.

    Raises ``PluginRefused``.
    """
    tls = config.tls_config or ExtenderTLS()
    has_authority = bool(tls.ca_file or tls.ca_data)
    insecure = tls.insecure or (config.enable_https and not has_authority)
    if insecure and has_authority:
        raise _refused(config, "specifying a root certificates file with the insecure flag is not allowed")
    try:
        context = ssl.create_default_context(
            cafile=(tls.ca_file or None) if not tls.ca_data else None,
            cadata=_decoded(tls.ca_data).decode() if tls.ca_data else None,
        )
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_own(context, tls)
    except (OSError, ValueError) as error:
        raise _refused(config, str(error)) from error
    return context


def _load_own(context: ssl.SSLContext, tls: ExtenderTLS) -> None:
    """Load the client's certificate and key; data go before files, as in Go's client."""
    has_cert, has_key = bool(tls.cert_data or tls.cert_file), bool(tls.key_data or tls.key_file)
    if has_cert != has_key:
        raise ValueError("certFile/certData and keyFile/keyData must be specified together")
    if not has_cert:
        return
    with tempfile.TemporaryDirectory(prefix="podling-extender-") as folder:
        cert = _file(folder, "tls.crt", tls.cert_data) if tls.cert_data else tls.cert_file
        key = _file(folder, "tls.key", tls.key_data) if tls.key_data else tls.key_file
        context.load_cert_chain(cert, key)


def _file(folder: str, name: str, data: str) -> str:
    """Write data to a file that only this user can read; Python's TLS loads keys from files only."""
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(_decoded(data))
    return path


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError(f"illegal base64 data: {error}") from None


def _refused(config: Extender, why: str) -> PluginRefused:
    return PluginRefused(f'extender "{config.url_prefix}": {why}')
