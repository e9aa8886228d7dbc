"""URLs as Go's ``net/url`` reads them (``ParseRequestURI``), in its words where they are none. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PATH_SAFE = "$&+,/:;=@-_.~"
_ENCODED_PATH = re.compile(r"(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]]|%[0-9a-fA-F]{2})*")
_BAD_IN_HOST = re.compile(r"[ \"<>^`{}|\\]")


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute URI, or an absolute path."""

    scheme: str = ""
    host: str = ""
    path: str = ""
    query: str = ""

    @property
    def host_name(self) -> str:
        """The host without its port and without brackets."""
        if self.host.startswith("["):
            return self.host[1 : self.host.index("]")]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        after = self.host.rpartition("]")[2] if self.host.startswith("[") else self.host
        return after.partition(":")[2]

    @property
    def escaped_path(self) -> str:
        if _ENCODED_PATH.fullmatch(self.path):
            return self.path
        return quote(unquote(self.path), safe=_PATH_SAFE)


def parse_request_uri(text: str) -> Url:
    """A URL as Kubernetes' rules take it. Raises ``ValueError``."""
    try:
        _demand_request(text)
        before, _, _ = text.partition("#")
        return _parse(before)
    except ValueError as error:
        raise ValueError(f'parse "{text}": {error}') from None


def _demand_request(text: str) -> None:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if not _SCHEME.match(text) and not text.startswith("/"):
        if text.startswith(":"):
            raise ValueError("missing protocol scheme")
        raise ValueError("invalid URI for request")


def _parse(text: str) -> Url:
    found = _SCHEME.match(text)
    scheme = found.group(1).lower() if found else ""
    rest, _, query = text[found.end() if found else 0 :].partition("?")
    if not rest.startswith("/"):
        return Url(scheme, query=query)  # opaque: mailto:somebody
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority.rpartition("@")[2]), slash + path
    bad = _BAD_ESCAPE.search(rest)
    if bad:
        raise ValueError(f'invalid URL escape "{rest[bad.start() : bad.start() + 3]}"')
    return Url(scheme, host, rest, query)


def _host(text: str) -> str:
    if text.startswith("["):
        end = text.rfind("]")
        if end < 0:
            raise ValueError("missing ']' in host")
        port = text[end + 1 :]
    else:
        at = text.find(":")
        port = text[at:] if at >= 0 else ""
    if port and not re.fullmatch(":[0-9]*", port):
        raise ValueError(f'invalid port "{port}" after host')
    bad = _BAD_IN_HOST.search(text)
    if bad:
        raise ValueError(f'invalid character "{bad.group()}" in host name')
    return text
