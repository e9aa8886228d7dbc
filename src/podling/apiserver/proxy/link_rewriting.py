"""Links in answers of proxied servers, led through the proxy. Pure.

A server behind ``.../proxy`` does not know under which path its clients see it; its absolute links and
redirects would leave the proxy. Source: ``apimachinery/pkg/util/proxy/transport.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_from_bytes

from msgspec import Struct
from msgspec.structs import replace

from podling.machinery import urls
from podling.machinery.urls import GoUrl, join

CORS = frozenset(
    (
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
    )
)
"""Headers by which a proxied server would allow something in the API server's name."""


class Links(Struct, frozen=True):
    """The rewriting of links in one answer.

    Attributes:
        prefix: the path under which clients see the server's root, without a slash at its end.
        source_host: the host and port of the server that sent the answer.
        request_host: the host in the client's request.
        scheme, host: the beginning of rewritten links; both empty for links without them.
    """

    prefix: str
    source_host: str
    request_host: str
    scheme: str = ""
    host: str = ""

    def rewrite(self, url: GoUrl) -> str:
        """Return ``url`` as a link through the proxy, if it leads to the same server by an absolute path."""
        elsewhere = url.host not in ("", self.source_host, self.request_host)
        if elsewhere or not url.path.startswith(b"/"):
            return str(url)
        if url.host != self.request_host or self.scheme or self.host:
            url = replace(url, scheme=self.scheme, host=self.host)
        prefix = self.prefix.encode()
        if url.path.startswith(prefix):
            return str(url)
        path = join(prefix, url.path)
        return str(url.with_path(path + b"/" if url.path.endswith(b"/") else path))

    def rewrite_text(self, text: str) -> str:
        """As ``rewrite``; what is no URL stays as it is."""
        try:
            return self.rewrite(urls.parse(text))
        except ValueError:
            return text

    def location(self, text: str) -> str:
        """Return a ``Location`` header. Raises ``ValueError`` for what is no URL."""
        return self.rewrite(urls.parse(text))

    def forwarded_headers(self, path: str) -> dict[str, str]:
        """Return the ``X-Forwarded-*`` headers of a request; ``path`` is decoded."""
        escaped = quote_from_bytes(path.encode(errors="surrogateescape"), urls.PATH_SAFE)
        uri = join(self.prefix.encode(), escaped.encode()).decode()
        headers = {"X-Forwarded-Uri": uri + "/" * path.endswith("/")}
        if self.host:
            headers["X-Forwarded-Host"] = self.host
        if self.scheme:
            headers["X-Forwarded-Proto"] = self.scheme
        return headers


def proxy_prefix(path: str, tail: str) -> str:
    """Return the part of a request's ``path`` that names the proxy; ``tail`` is the path behind it."""
    suffix = f"/{tail}" if tail else ""
    if path.endswith("/") and not suffix.endswith("/"):
        suffix += "/"
    return path.removesuffix(suffix)


def is_html(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Type", "").partition(";")[0].strip() == "text/html"
