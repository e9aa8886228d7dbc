"""Impersonation of users: ``kubectl --as``. It needs the verb ``impersonate`` on each requested part.

Upstream counterpart: ``staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol
from urllib.parse import unquote

from multidict import istr

from podling.apiserver.auth.authz import RbacAuthorizer, refusal
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.auth.token_claims import service_account_user
from podling.client.requests import User
from podling.machinery import errors

USER, GROUP, UID = istr("Impersonate-User"), istr("Impersonate-Group"), istr("Impersonate-Uid")
EXTRA = "Impersonate-Extra-"
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = "system:anonymous"
SERVICE_ACCOUNT = "system:serviceaccount:"


class Headers(Protocol):
    """Request headers, where a name may come more than once."""

    def __iter__(self) -> Iterator[str]: ...

    def get(self, name: str, default: str) -> str: ...

    def getall(self, name: str, default: list[str]) -> list[str]: ...


def impersonated(user: User, headers: Headers, authorizer: RbacAuthorizer) -> User:
    """Return the impersonated user, or ``user``. Raises 400, or 403 if it is not allowed."""
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
    wanted = User(name, groups, uid, extra)
    for asked in _asked(wanted):
        decision = authorizer.decide(user, asked)
        if not decision.allowed:
            raise refusal(user, asked, decision.reason)
    return _completed(wanted)


def _text(value: str) -> str:
    """Replace bytes that are no UTF-8, as Go does when it encodes them."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


def _asked(wanted: User) -> Iterator[Attributes]:
    """One question for each part of the other user."""
    verb = "impersonate"
    if wanted.name.startswith(SERVICE_ACCOUNT) and wanted.name.count(":") == 3:
        _, _, namespace, account = wanted.name.split(":")
        yield Attributes(verb, resource="serviceaccounts", namespace=namespace, name=account)
    else:
        yield Attributes(verb, resource="users", name=wanted.name)
    for group in wanted.groups:
        yield Attributes(verb, resource="groups", name=group)
    if wanted.uid:
        yield Attributes(verb, "authentication.k8s.io", "uids", name=wanted.uid)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(verb, "authentication.k8s.io", "userextras", key, name=value)


def _completed(wanted: User) -> User:
    """Return the user with the groups that every such user has."""
    groups = wanted.groups
    if wanted.name.startswith(SERVICE_ACCOUNT) and wanted.name.count(":") == 3 and not groups:
        _, _, namespace, account = wanted.name.split(":")
        groups = service_account_user(namespace, account).groups
    elif wanted.name == ANONYMOUS:
        groups = groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(wanted.name, groups, wanted.uid, wanted.extra)
