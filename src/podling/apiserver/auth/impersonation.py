"""Impersonation of users by the headers of a request: ``kubectl --as``.

Upstream counterpart: ``staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol
from urllib.parse import unquote

from multidict import istr

from podling.apiserver.auth.authz import RbacAuthorizer
from podling.apiserver.auth.impersonation_modes import allowed_user
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import User
from podling.machinery import errors

USER, GROUP, UID = istr("Impersonate-User"), istr("Impersonate-Group"), istr("Impersonate-Uid")
EXTRA = "Impersonate-Extra-"


class Headers(Protocol):
    """Request headers, where a name may come more than once."""

    def __iter__(self) -> Iterator[str]: ...

    def get(self, name: str, default: str) -> str: ...

    def getall(self, name: str, default: list[str]) -> list[str]: ...


def impersonated(user: User, headers: Headers, asked: Attributes, authorizer: RbacAuthorizer) -> User:
    """Return the impersonated user, or ``user``. Raises 400, or 403 if it may not be it in this request."""
    name = _text(headers.get(USER, ""))
    groups = tuple(map(_text, headers.getall(GROUP, [])))
    uid = _text(headers.get(UID, ""))
    extra: dict[str, tuple[str, ...]] = {}
    for header in headers:
        if header.lower().startswith(EXTRA.lower()):
            extra[unquote(header[len(EXTRA) :].lower())] = tuple(map(_text, headers.getall(header, [])))
    if not name:
        if groups or uid or extra:
            raise errors.bad_request(f"requested {groups or uid or extra} without impersonating a user")
        return user
    return allowed_user(user, User(name, groups, uid, extra), asked, authorizer)


def _text(value: str) -> str:
    """Replace bytes that are no UTF-8, as Go does when it encodes them."""
    return value.encode(errors="surrogateescape").decode(errors="replace")
