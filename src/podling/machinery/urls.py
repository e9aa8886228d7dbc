"""URLs as Go's ``net/url`` reads and writes them, with its errors. Pure.

A proxy that reads a link and writes it again changes its spelling: what is not escaped is escaped, what need
not be is not. Clients compare, so it is changed in the same way.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_IN_HOST = re.compile(r"[ \"<>^`{}|\\]")
_BAD_ESCAPE_IN_HOST = re.compile(r"%(?!25|[89a-fA-F][0-9a-fA-F])[^%]{0,2}")
"""Only what is not ASCII may be escaped there, and the sign itself, before the zone of an address."""
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
PATH_SAFE = "$&+,/:;=@-_.~"
"""Beside letters and digits; ``?`` would begin the query."""
FRAGMENT_SAFE = PATH_SAFE + "?!()*"
_VALID_PATH = re.compile(r"[A-Za-z0-9$&+,/:;=@\-_.~!'()*\[\]%]*")
_VALID_FRAGMENT = re.compile(r"[A-Za-z0-9$&+,/:;=@\-_.~?!'()*\[\]%]*")


class GoUrl(Struct, frozen=True):
    """A URL in parts. ``path`` is decoded; ``raw_path`` is how it was written, if that is another way."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: bytes = b""
    raw_path: str = ""
    omit_host: bool = False
    force_query: bool = False
    query: str = ""
    fragment: str = ""

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            text += self._authority()
            path = self.escaped_path
            if path and not path.startswith("/") and self.host:
                text += "/"
            if not text and ":" in path.partition("/")[0]:
                text += "./"
            text += path
        if self.force_query or self.query:
            text += f"?{self.query}"
        return f"{text}#{self.fragment}" if self.fragment else text

    def _authority(self) -> str:
        named = bool(self.host) or self.user is not None
        if not (self.scheme or named) or (self.omit_host and not named):
            return ""
        text = "//" if named or self.path else ""
        return text + (f"{self.user}@" if self.user is not None else "") + self.host

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
        """The path as it was written, if that is a way to write it."""
        raw = self.raw_path
        if raw and _VALID_PATH.fullmatch(raw) and unquote_to_bytes(raw) == self.path:
            return raw
        return "*" if self.path == b"*" else quote_from_bytes(self.path, PATH_SAFE)

    def with_path(self, path: bytes) -> GoUrl:
        return replace(self, path=path)


def parse_request_uri(text: str) -> GoUrl:
    """Read an absolute URL or an absolute path, as Go's function of that name. Raises ``ValueError``."""
    try:
        if not text:
            raise ValueError("empty url")
        if not _SCHEME.match(text) and text[0] not in "/:" and not _CONTROL.search(text):
            raise ValueError("invalid URI for request")
        return parse(text.partition("#")[0])
    except ValueError as error:
        raise ValueError(f'parse "{text}": {error}') from None


def parse(text: str) -> GoUrl:
    """Read a URL or a reference. Raises ``ValueError``."""
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    rest, _, fragment = text.partition("#")
    if rest == "*":
        return GoUrl(path=b"*", fragment=_fragment(fragment))
    if rest.startswith(":"):
        raise ValueError("missing protocol scheme")
    scheme = ""
    if found := _SCHEME.match(rest):
        scheme, rest = found[1].lower(), rest[found.end() :]
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, rest, force_query=force_query, query=query, fragment=_fragment(fragment))
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user, host, omit_host = None, "", False
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        user, host = _user_and_host(authority)
    elif scheme and rest.startswith("/"):
        omit_host = True
    _check_escapes(rest)
    path = unquote_to_bytes(rest.encode(errors="surrogateescape"))
    raw = "" if quote_from_bytes(path, PATH_SAFE) == rest else rest
    return GoUrl(scheme, "", user, host, path, raw, omit_host, force_query, query, _fragment(fragment))


def _user_and_host(authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    if not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    _check_escapes(user)
    _check_host(host)
    return (user if at else None), host


def _fragment(text: str) -> str:
    """Return a fragment as it is written again. Raises ``ValueError``."""
    _check_escapes(text)
    if _VALID_FRAGMENT.fullmatch(text):
        return text
    return quote_from_bytes(unquote_to_bytes(text.encode(errors="surrogateescape")), FRAGMENT_SAFE)


def _check_host(text: str) -> None:
    if text.startswith("["):
        end = text.rfind("]")
        if end < 0:
            raise ValueError("missing ']' in host")
        port = text[end + 1 :]
    else:
        port = text[at:] if (at := text.find(":")) >= 0 else ""
    if port and not re.fullmatch(":[0-9]*", port):
        raise ValueError(f'invalid port "{port}" after host')
    if escape := _BAD_ESCAPE_IN_HOST.search(text):
        raise ValueError(f'invalid URL escape "{escape.group()}"')
    if bad := _BAD_IN_HOST.search(text):
        raise ValueError(f'invalid character "{bad.group()}" in host name')


def _check_escapes(text: str) -> None:
    if bad := _BAD_ESCAPE.search(text):
        raise ValueError(f'invalid URL escape "{text[bad.start() : bad.start() + 3]}"')


def join(prefix: bytes, path: bytes) -> bytes:
    """Join two paths and resolve ``.`` and ``..``, as Go's ``path.Join``."""
    whole = b"/".join(part for part in (prefix, path) if part)
    rooted = whole.startswith(b"/")
    kept: list[bytes] = []
    for part in whole.split(b"/"):
        if part == b".." and kept and kept[-1] != b"..":
            kept.pop()
        elif part == b"..":
            kept += [] if rooted else [part]
        elif part not in (b"", b"."):
            kept.append(part)
    clean = b"/" * rooted + b"/".join(kept)
    return clean or (b"." if whole else b"")
