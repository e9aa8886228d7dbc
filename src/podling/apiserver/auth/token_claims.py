"""Claims of service account tokens: making and parsing them. Pure.

Upstream counterpart: ``pkg/serviceaccount/claims.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Node, ServiceAccount
from podling.apiserver.auth.issuer import ISSUER
from podling.client.requests import User

POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

PRIVATE = "kubernetes.io"
"""The claim that holds namespace, service account and bound object."""
PODS_SECONDS = 3607
"""Lifetime of the tokens in pods, unless a pod requests another one."""
EXTENDED = timedelta(days=365)
"""Actual lifetime of such tokens: for programs that read theirs only once."""


class Verified(Struct, frozen=True):
    """A token whose signature is good: who it names, until when, and what must still exist."""

    user: User
    audiences: tuple[str, ...]
    expires: datetime
    namespace: str
    account: str
    bound: tuple[str, str, str] | None
    """(kind, name, UID)"""


def claims_of(
    account: ServiceAccount,
    audiences: Sequence[str],
    now: datetime,
    expires: datetime,
    bound: tuple[str, Any, Node | None] | None,
    identifier: str,
) -> dict[str, Any]:
    """Return the claims of a new token; ``identifier`` makes it unique."""
    metadata = account.metadata
    private: dict[str, Any] = {
        "namespace": metadata.namespace,
        "serviceaccount": {"name": metadata.name, "uid": metadata.uid},
    }
    if bound is not None:
        kind, obj, node = bound
        private[kind.lower()] = {"name": obj.metadata.name, "uid": obj.metadata.uid}
        if node is not None:
            private["node"] = {"name": node.metadata.name}
            if node.metadata.uid:
                private["node"]["uid"] = node.metadata.uid
    issued = int(now.timestamp())
    return {
        "iss": ISSUER,
        "sub": f"system:serviceaccount:{metadata.namespace}:{metadata.name}",
        "aud": list(audiences),
        "iat": issued,
        "nbf": issued,
        "exp": int(expires.timestamp()),
        "jti": identifier,
        PRIVATE: private,
    }


def extended(claims: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The claims of a pod's own token: it goes on holding for long after it should have been renewed."""
    if claims["aud"] != [ISSUER]:
        return claims
    private = {**claims[PRIVATE], "warnafter": claims["exp"]}
    return {**claims, "exp": int((now + EXTENDED).timestamp()), PRIVATE: private}


def verified(claims: Mapping[str, Any]) -> Verified | None:
    private = claims.get(PRIVATE)
    if not isinstance(private, Mapping) or "serviceaccount" not in private:
        return None
    namespace, account = private["namespace"], private["serviceaccount"]
    extra = {CREDENTIAL_ID: (f"JTI={claims['jti']}",)} if "jti" in claims else {}
    bound: tuple[str, str, str] | None = None
    for kind, name_key, uid_key in (("Node", NODE_NAME, NODE_UID), ("Pod", POD_NAME, POD_UID)):
        part = private.get(kind.lower())
        if part:
            extra |= {name_key: (part["name"],)} | ({uid_key: (part["uid"],)} if "uid" in part else {})
            bound = (kind, part["name"], part.get("uid", ""))
    if "secret" in private:
        bound = ("Secret", private["secret"]["name"], private["secret"]["uid"])
    user = replace(service_account_user(namespace, account["name"]), uid=account["uid"], extra=extra)
    return Verified(
        user=user,
        audiences=tuple(claims.get("aud", ())),
        expires=datetime.fromtimestamp(claims["exp"], UTC),
        namespace=namespace,
        account=account["name"],
        bound=bound,
    )


def service_account_user(namespace: str, name: str) -> User:
    """Return the user that a service account is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)
