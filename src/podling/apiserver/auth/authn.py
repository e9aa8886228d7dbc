"""Authentication of requests: client certificates, bearer tokens, or anonymous.

A client certificate signed by the cluster's authority names its user (common name) and groups
(organisations), and is identified by its fingerprint. A bearer token is a static one, a bootstrap token or a
service account's.
A request with an invalid token is refused, not treated as anonymous.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

from podling import clock
from podling.apiserver.admission.base import Objects
from podling.apiserver.auth import bootstrap_tokens
from podling.apiserver.auth.legacy_tokens import Warn
from podling.apiserver.auth.token_claims import CREDENTIAL_ID
from podling.apiserver.auth.tokens import Tokens
from podling.client.requests import User
from podling.machinery import errors

AUTHENTICATED = "system:authenticated"
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
REMEMBERED = 4096


class Authenticator:
    """Finds the user of a request.

    Args:
        static_tokens: bearer tokens that are good until the process ends, with their users.
        objects: has the Secrets of bootstrap tokens; without it, there are none.
    """

    def __init__(
        self,
        tokens: Tokens,
        static_tokens: Mapping[str, User] | None = None,
        objects: Objects | None = None,
    ) -> None:
        self._tokens = tokens
        self._objects = objects
        self._static = dict(static_tokens or {})
        self._certificates: dict[bytes, tuple[User, datetime]] = {}

    def user_of(self, certificate: bytes | None, authorization: str, warn: Warn = lambda text: None) -> User:
        """Return the user behind a request.

        Args:
            certificate: the client's certificate (DER) as TLS has verified it, if it showed one.
            authorization: the header's value, empty if there is none.
            warn: takes a warning about the token.

        Raises 401 for a token that is not good, and for a certificate that has expired.
        """
        if certificate is not None:
            holder, ends = self._certificates.get(certificate) or self._from_certificate(certificate)
            if ends < clock.machine_now():  # TLS verifies it once, and a connection may last longer
                raise errors.unauthorized()
            return holder
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        user = self.token_user(token.strip(), warn) if scheme.lower() == "bearer" else None
        if user is None:
            raise errors.unauthorized()
        return user

    def token_user(self, token: str, warn: Warn = lambda text: None) -> User | None:
        """Return the user that a bearer token names; None for a token that is not good."""
        if not token.isascii():
            return None
        for known, user in self._static.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                return user
        bootstrapping = bootstrap_tokens.user_of(token, self._objects) if self._objects is not None else None
        return bootstrapping or self._tokens.user_of(token, warn=warn)

    def _from_certificate(self, der: bytes) -> tuple[User, datetime]:
        """Return the user of a certificate, and the end of its time."""
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        certificate = x509.load_der_x509_certificate(der)
        subject = certificate.subject
        names = [str(each.value) for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        groups = [str(each.value) for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if not names:
            raise errors.unauthorized()
        shown = {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)}
        user = User(names[0], (*groups, AUTHENTICATED), extra=shown)
        if len(self._certificates) >= REMEMBERED:
            self._certificates.clear()
        known = self._certificates[der] = user, certificate.not_valid_after_utc
        return known
