"""One HTTP exchange with an API server: connections, credentials, TLS and retries.

A response with ``Retry-After`` (429 or 5xx) is retried after that time, at most 10 times, as client-go does;
without any response the caller gets ``Unreachable``. ``client.http`` adds kinds and objects.
"""

from __future__ import annotations

import base64
import ssl as tls
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from podling import clock
from podling.client.base import Unreachable
from podling.client.http_errors import error_of
from podling.client.keepalive import new_socket
from podling.client.kubeconfig import Connection
from podling.client.warnings import WarningHandler, parse_warnings
from podling.machinery.numbers import is_number

if TYPE_CHECKING:
    import aiohttp

RETRIES_MAX = 10
SILENCE_SECONDS_MAX = 60.0
TOKEN_FILE_SECONDS = 60.0
"""Seconds after which a token is read from its file again: files are rotated."""


class Transport:
    """Keeps connections to one server. Opened on first use, closed by ``close``."""

    def __init__(self, connection: Connection, ssl: tls.SSLContext | None) -> None:
        self.url = connection.server.rstrip("/")
        self._connection = connection
        self._ssl = ssl
        self._token = connection.token
        self._token_read_at = 0.0
        self._session: aiohttp.ClientSession | None = None
        self.on_warning: WarningHandler | None = None

    async def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        """Send a request, retry it after ``Retry-After``, and return the body of a successful response."""
        tries = 0
        while True:
            async with self.open(method, path, query or {}, body, content_type) as response:
                answer = await response.read()
            if self.on_warning is not None:
                for text in parse_warnings(response.headers.getall("Warning", ())):
                    self.on_warning(text)
            if response.status < 300:
                return answer
            wait = _retry_after(response.status, response.headers)
            tries += 1
            if wait is None or tries > RETRIES_MAX:
                raise error_of(response.status, answer, response.headers)
            await clock.sleep(wait)

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        seconds_max: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One exchange. ``seconds_max`` bounds all of it; without it only silence is bounded."""
        import aiohttp

        silence = None if seconds_max else SILENCE_SECONDS_MAX
        timeout = aiohttp.ClientTimeout(
            seconds_max, sock_connect=self._connection.connect_seconds, sock_read=silence
        )
        given = {name: value for name, value in query.items() if value}
        headers = self._headers()
        if body is not None:
            headers.append(("Content-Type", content_type))
        try:
            async with self._open_session().request(
                method,
                self.url + path,
                params=given,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=self._connection.proxy_url or None,
                server_hostname=self._connection.tls_server_name or None,
            ) as response:
                yield response
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise Unreachable(f"{method} {self.url}{path}: {error or type(error).__name__}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._ssl if self._ssl is not None else True, limit=0, socket_factory=new_socket
            )
            self._session = aiohttp.ClientSession(connector=connector)
        return self._session

    def _headers(self) -> list[tuple[str, str]]:
        headers = [("Accept", "application/json"), ("User-Agent", self._connection.user_agent)]
        token = self._current_token()
        if token:
            headers.append(("Authorization", f"Bearer {token}"))
        elif self._connection.username:
            pair = f"{self._connection.username}:{self._connection.password}"
            headers.append(("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
        for name, values in self._connection.impersonate.items():
            headers.extend((name, value) for value in values)
        return headers

    def _current_token(self) -> str:
        file = self._connection.token_file
        if file is None:
            return self._token
        now = clock.monotonic()
        if not self._token or now >= self._token_read_at + TOKEN_FILE_SECONDS:
            self._token, self._token_read_at = file.read_text().strip(), now
        return self._token


def ssl_context(connection: Connection) -> tls.SSLContext:
    """Return the TLS context of a connection: trusted authorities, and the client certificate."""
    context = tls.create_default_context(
        cadata=connection.certificate_authority.decode() if connection.certificate_authority else None
    )
    if connection.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = tls.CERT_NONE
    if connection.client_certificate:
        # OpenSSL takes them from files only; these are readable by us alone and gone at once.
        with tempfile.TemporaryDirectory() as directory:
            certificate, key = Path(directory, "tls.crt"), Path(directory, "tls.key")
            certificate.write_bytes(connection.client_certificate)
            key.write_bytes(connection.client_key)
            context.load_cert_chain(certificate, key)
    return context


def _retry_after(code: int, headers: Mapping[str, str]) -> float | None:
    """Seconds until the server wants the request again; None if it does not."""
    after = headers.get("Retry-After", "")
    if (code == 429 or code >= 500) and is_number(after):
        return float(after)
    return None
