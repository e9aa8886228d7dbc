"""Authentication by bootstrap tokens, with which nodes that have no certificate yet request one.

A client sees 401 for every reason of a refusal.
Upstream: ``plugin/pkg/auth/authenticator/token/bootstrap``.
"""

from __future__ import annotations

import hmac

from podling import clock
from podling.api.core_v1 import Secret
from podling.apiserver.admission.base import Objects
from podling.client.requests import User
from podling.machinery.tokens import bootstrap_tokens

AUTHENTICATED = "system:authenticated"


def user_of(token: str, objects: Objects) -> User | None:
    """Return the user of a bootstrap token; None for a token that is not good."""
    given = bootstrap_tokens.parse(token)
    if given is None:
        return None
    secret = objects.get(Secret, bootstrap_tokens.secret_name(given.id), bootstrap_tokens.NAMESPACE)
    if secret is None or secret.type != bootstrap_tokens.SECRET_TYPE:
        return None
    held = bootstrap_tokens.value(secret, bootstrap_tokens.SECRET_KEY)
    if not hmac.compare_digest(held.encode(), given.secret.encode()):
        return None
    if bootstrap_tokens.value(secret, bootstrap_tokens.ID_KEY) != given.id:
        return None
    if secret.metadata.deletion_timestamp or bootstrap_tokens.has_expired(secret, clock.now()):
        return None
    if bootstrap_tokens.value(secret, bootstrap_tokens.AUTHENTICATION_KEY) != "true":
        return None
    groups = bootstrap_tokens.groups(secret)
    if groups is None:
        return None
    return User(f"{bootstrap_tokens.USER_PREFIX}{given.id}", (*groups, AUTHENTICATED))
