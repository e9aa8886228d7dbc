"""HTTP requests of probes and hooks: construction and sending.

Construction is pure. Sending uses no proxy, keeps no connection and no cookie, verifies no certificate, and
follows redirects only on the same host name; a redirect to another host is returned as the response
(``pkg/probe/http``).
"""

from __future__ import annotations

import os
import socket
from urllib.parse import urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import Container, HTTPGetAction
from podling.kubelet.ports import resolve_port

BODY_BYTES_MAX = 10 * 1024
REDIRECTS_MAX = 10


class HTTPRequest(Struct, frozen=True):
    """The target and headers of a request. ``headers`` holds all but those left out on purpose."""

    scheme: str
    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def target(self) -> str:
        """Return port and path, by which simulated runtimes identify the request."""
        return f"{self.port}{self.path}"

    def over_plain_http(self) -> HTTPRequest:
        """Return the same request without encryption, and therefore without credentials."""
        kept = tuple(header for header in self.headers if header[0].lower() != "authorization")
        return replace(self, scheme="http", headers=kept)


class HTTPAnswer(Struct, frozen=True):
    """A response. A redirect is one only if it was not followed: to another host, or without a target."""

    status: int
    body: str


class HTTPFailure(Exception):
    """No response came. ``plain_http``: one came, but unencrypted. ``error_number``: the ``errno`` of a
    failed connection; 0 for other failures."""

    def __init__(self, message: str, *, plain_http: bool = False, error_number: int = 0) -> None:
        super().__init__(message)
        self.plain_http = plain_http
        self.error_number = error_number


def request_for(action: HTTPGetAction, container: Container, pod_ip: str, user_agent: str) -> HTTPRequest:
    """Return the request of ``action``. Raises ``UnknownPort``."""
    path = action.path or "/"
    if not path.startswith("/"):
        path = f"/{path}"
    given = [(header.name, header.value) for header in action.http_headers]
    names = {name.lower() for name, _ in given}
    headers = [] if "user-agent" in names else [("User-Agent", user_agent)]
    if "accept" not in names:
        headers.append(("Accept", "*/*"))
    # An empty Accept means: send no Accept header.
    headers += [(name, value) for name, value in given if value or name.lower() != "accept"]
    return HTTPRequest(
        scheme=(action.scheme or "HTTP").lower(),
        host=action.host or pod_ip,
        port=resolve_port(action.port, container),
        path=path,
        headers=tuple(headers),
    )


async def http_get(request: HTTPRequest, timeout_seconds: float) -> HTTPAnswer:
    """Send the request. Raises ``HTTPFailure``, and ``TimeoutError`` when the time is over."""
    import aiohttp
    from multidict import CIMultiDict

    connector = aiohttp.TCPConnector(ssl=False, force_close=True)
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    url = request.url
    skip = ("User-Agent", "Accept", "Accept-Encoding")
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            skip_auto_headers=skip,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            for _ in range(REDIRECTS_MAX + 1):
                headers = CIMultiDict(request.headers)
                async with session.get(url, headers=headers, allow_redirects=False) as response:
                    body = (await response.content.read(BODY_BYTES_MAX)).decode(errors="replace")
                    location = response.headers.get("Location")
                    if response.status not in (301, 302, 303, 307, 308) or not location:
                        return HTTPAnswer(response.status, body)
                    target = urljoin(url, location)
                    if urlsplit(target).hostname != urlsplit(url).hostname:
                        return HTTPAnswer(response.status, body)
                    url = target
            raise HTTPFailure(f"stopped after {REDIRECTS_MAX} redirects")
    except aiohttp.ClientConnectorSSLError as error:
        plain = "WRONG_VERSION_NUMBER" in str(error).upper()
        why = "http: server gave HTTP response to HTTPS client" if plain else str(error)
        raise HTTPFailure(f'Get "{url}": {why}', plain_http=plain) from error
    except aiohttp.ClientConnectorError as error:
        why, number = dial_failure(error.host, error.port, error.os_error), error.os_error.errno or 0
        raise HTTPFailure(f'Get "{url}": {why}', error_number=number) from error
    except aiohttp.ServerDisconnectedError as error:
        raise HTTPFailure(f'Get "{url}": EOF') from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, TimeoutError):
            raise
        number = (error.errno or 0) if isinstance(error, OSError) else 0
        raise HTTPFailure(f'Get "{url}": {error}', error_number=number) from error


def dial_failure(host: str, port: int | None, error: OSError) -> str:
    """Return why a connection failed, in the form of Go's errors that users know."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    why = f"connect: {os.strerror(error.errno).lower()}" if error.errno else str(error)
    return f"dial tcp {address}: {why}"
