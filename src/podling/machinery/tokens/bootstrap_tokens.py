"""Bootstrap tokens: the secrets with which new nodes join, and the Secrets that hold them.

A token is ``<id>.<secret>``. Its Secret lies in ``kube-system`` and is called ``bootstrap-token-<id>``; the
id is public, the secret is not. Pure.
Upstream: ``k8s.io/cluster-bootstrap/token`` and ``k8s.io/cluster-bootstrap/util``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.core_v1 import Secret
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import scalars

NAMESPACE = "kube-system"
SECRET_TYPE = "bootstrap.kubernetes.io/token"
SECRET_PREFIX = "bootstrap-token-"
USER_PREFIX = "system:bootstrap:"
GROUP = "system:bootstrappers"
NODE_GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""The group of tokens for nodes, which kubeadm gives the rights to join."""

ID_KEY = "token-id"
SECRET_KEY = "token-secret"
EXPIRATION_KEY = "expiration"
DESCRIPTION_KEY = "description"
GROUPS_KEY = "auth-extra-groups"
AUTHENTICATION_KEY = "usage-bootstrap-authentication"
SIGNING_KEY = "usage-bootstrap-signing"

ID_LENGTH, SECRET_LENGTH = 6, 16
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_SECRET_NAME = re.compile(re.escape(SECRET_PREFIX) + r"([a-z0-9]{6})")
_EXTRA_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapToken(Struct, frozen=True):
    """A token in its two parts."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"


def parse(text: str) -> BootstrapToken | None:
    """Return the token that ``text`` is; None for other text."""
    found = _TOKEN.fullmatch(text)
    return BootstrapToken(found[1], found[2]) if found else None


def secret_name(token_id: str) -> str:
    return f"{SECRET_PREFIX}{token_id}"


def id_of_secret(name: str) -> str:
    """Return the id of the token in the Secret of this name; empty where the name is another one."""
    found = _SECRET_NAME.fullmatch(name)
    return found[1] if found else ""


def new_secret(token: BootstrapToken, expires: datetime | None, description: str = "") -> Secret:
    """Return the Secret of a token with which nodes join, good until ``expires``; None for ever."""
    data = {
        ID_KEY: token.id,
        SECRET_KEY: token.secret,
        AUTHENTICATION_KEY: "true",
        SIGNING_KEY: "true",
        GROUPS_KEY: NODE_GROUP,
    }
    if expires is not None:
        data[EXPIRATION_KEY] = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
    if description:
        data[DESCRIPTION_KEY] = description
    metadata = ObjectMeta(name=secret_name(token.id), namespace=NAMESPACE)
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return Secret(metadata=metadata, type=SECRET_TYPE, data=encoded)


def value(secret: Secret, key: str) -> str:
    """Return a value of a Secret as text; empty where it is absent or no text."""
    try:
        return base64.b64decode(secret.data.get(key, "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def remaining(secret: Secret, now: datetime) -> timedelta | None:
    """Return for how long a token is still good: None for ever, zero once it has expired.

    A time that cannot be read counts as one that has passed.
    """
    text = value(secret, EXPIRATION_KEY)
    if not text:
        return None
    try:
        read = scalars.time(text)
        expires = datetime.fromisoformat(read) if read else now
    except ValueError:
        return timedelta()
    return max(expires - now, timedelta())


def has_expired(secret: Secret, now: datetime) -> bool:
    return remaining(secret, now) == timedelta()


def groups(secret: Secret) -> tuple[str, ...] | None:
    """Return the groups of a token's user, sorted; None if one of them is not a group for tokens."""
    extra = value(secret, GROUPS_KEY)
    named = extra.split(",") if extra else []
    if not all(_EXTRA_GROUP.fullmatch(each) for each in named):
        return None
    return tuple(sorted({GROUP, *named}))


def signing_tokens(secrets: Mapping[str, Secret], now: datetime) -> dict[str, BootstrapToken]:
    """Return the tokens that sign the cluster's public information, by id; ``secrets`` are by name."""
    found: dict[str, BootstrapToken] = {}
    for name, secret in secrets.items():
        token = BootstrapToken(value(secret, ID_KEY), value(secret, SECRET_KEY))
        if not token.id or not token.secret or id_of_secret(name) != token.id:
            continue
        if value(secret, SIGNING_KEY) == "true" and not has_expired(secret, now):
            found[token.id] = token
    return found
