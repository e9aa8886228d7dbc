"""Service account tokens: signed statements of who a pod is, bound to what they were made for.

A token is good as long as its signature, its time and its audience hold, the service account still
exists under the same UID, and so does the pod, node or secret it is bound to. Verified tokens are
remembered until they expire; what may vanish before that is looked up every time.

Upstream counterpart: ``pkg/serviceaccount`` and ``pkg/registry/core/serviceaccount/storage/token.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from podling import clock, ids
from podling.api.authentication_v1 import BoundObjectReference, TokenRequest, TokenRequestStatus
from podling.api.core_v1 import Node, Pod, Secret, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.base import Objects
from podling.apiserver.auth.issuer import ALGORITHM, ISSUER, key_id
from podling.apiserver.auth.legacy_tokens import LegacyTokenUses, Warn, is_legacy
from podling.apiserver.auth.token_claims import PODS_SECONDS, Verified, claims_of, extended, verified
from podling.client.requests import Target, User, WriteOptions
from podling.machinery import errors, fields
from podling.machinery.fields import FieldError, Path

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

DEFAULT_SECONDS = 3600
MIN_SECONDS = 600
MAX_SECONDS = 1 << 32
LEEWAY = timedelta(minutes=1)
GROUP = "authentication.k8s.io"

REMEMBERED = 4096

_BOUND: dict[str, type[Any]] = {"Pod": Pod, "Secret": Secret, "Node": Node}


class Tokens:
    """Makes and checks tokens with one key.

    Args:
        key: the private key, PEM; None makes one for this process alone.
    """

    def __init__(self, objects: Objects, key: bytes | None = None) -> None:
        self._objects = objects
        self._pem = key
        self._key: EllipticCurvePrivateKey | None = None
        self._verified: dict[str, Verified] = {}
        self.legacy_uses = LegacyTokenUses()

    async def request(self, target: Target, user: User, body: Any, options: WriteOptions) -> TokenRequest:
        """``serviceaccounts/token``: a token for the account that ``target`` names."""
        wanted: TokenRequest = body
        found = _name_errors(wanted.metadata, target)
        if found:
            raise errors.invalid("TokenRequest", GROUP, target.name, found)
        account = self._objects.get(ServiceAccount, target.name, target.namespace)
        if account is None:
            raise errors.not_found("serviceaccounts", "", target.name)
        spec = structs.replace(
            wanted.spec,
            audiences=wanted.spec.audiences or (ISSUER,),
            expiration_seconds=DEFAULT_SECONDS
            if wanted.spec.expiration_seconds is None
            else wanted.spec.expiration_seconds,
        )
        found = _spec_errors(spec.expiration_seconds or 0)
        if found:
            raise errors.invalid("TokenRequest", GROUP, "", found)
        bound = self._bound(spec.bound_object_ref, target)
        now = clock.now()
        expires = clock.seconds_precision(now) + timedelta(seconds=spec.expiration_seconds or 0)
        claims = claims_of(account, spec.audiences, now, expires, bound, ids.uid())
        if spec.expiration_seconds == PODS_SECONDS and bound and bound[0] == "Pod":
            claims = extended(claims, now)
        metadata = structs.replace(
            wanted.metadata,
            name=target.name,
            namespace=target.namespace,
            creation_timestamp=clock.seconds_precision(now),
        )
        status = TokenRequestStatus(token=self._sign(claims), expiration_timestamp=expires)
        return TokenRequest(metadata=metadata, spec=spec, status=status)

    def user_of(
        self, token: str, audiences: Sequence[str] = (ISSUER,), warn: Warn = lambda text: None
    ) -> User | None:
        """Return the token's user; None if the token is not (any more) valid for any of ``audiences``."""
        verified = self.verify(token, warn)
        if verified is None or not set(verified.audiences) & set(audiences):
            return None
        return verified.user

    def verify(self, token: str, warn: Warn = lambda text: None) -> Verified | None:
        """Return the content of a token, or None if it is no longer valid.

        ``warn`` takes a warning for the client that uses it.
        """
        now = clock.now()
        known = self._verified.get(token)
        if known is None:
            if not token.isascii():
                return None
            known = self._decode(token, now)
            if known is None:
                return None
            if len(self._verified) >= REMEMBERED:
                self._verified.clear()
            self._verified[token] = known
        if known.expires + LEEWAY < now:
            del self._verified[token]
            return None
        return known if self._still_there(token, known, now, warn) else None

    def _still_there(self, token: str, known: Verified, now: datetime, warn: Warn) -> bool:
        account = self._objects.get(ServiceAccount, known.account, known.namespace)
        if account is None or not _is_there(account, known.user.uid, now):
            return False
        if known.bound is None:
            return True
        kind, name, uid = known.bound
        obj = self._objects.get(_BOUND[kind], name, "" if kind == "Node" else known.namespace)
        if not _is_there(obj, uid, now):
            return False
        if isinstance(obj, Secret) and is_legacy(token, obj):
            return self.legacy_uses.admit(obj, account, warn)
        return True

    def _bound(self, ref: BoundObjectReference | None, target: Target) -> tuple[str, Any, Node | None] | None:
        """The object a token is to be bound to, and for a pod its node."""
        if ref is None:
            return None
        group, _, version = (ref.api_version or "").rpartition("/")
        kind = None if group else _BOUND.get(ref.kind or "")
        if kind is None:
            raise errors.bad_request(
                f"cannot bind token to object of type {group}/{version}, Kind={ref.kind or ''}"
            )
        plural = f"{(ref.kind or '').lower()}s"
        obj: Any = self._objects.get(kind, ref.name or "", "" if kind is Node else target.namespace)
        if obj is None:
            raise errors.not_found(plural, "", ref.name or "")
        if kind is Pod and obj.spec.service_account_name != target.name:
            raise errors.bad_request(
                f'cannot bind token for serviceaccount "{target.name}" to pod running with different '
                "serviceaccount name."
            )
        if ref.uid and ref.uid != obj.metadata.uid:
            why = (
                f"the UID in the bound object reference ({ref.uid}) "
                f"does not match the UID in record. The object might have been deleted and then recreated"
            )
            raise errors.conflict(ref.kind or "", "", ref.name or "", why)
        node = None
        if kind is Pod and obj.spec.node_name:
            named = Node(metadata=ObjectMeta(name=obj.spec.node_name))
            node = self._objects.get(Node, obj.spec.node_name) or named
        return ref.kind or "", obj, node

    def _sign(self, claims: Mapping[str, Any]) -> str:
        import jwt

        return jwt.encode(dict(claims), self._private_key(), ALGORITHM, headers={"kid": self._key_id})

    def public_key(self) -> EllipticCurvePublicKey:
        """Return the public key that verifies the tokens."""
        return self._private_key().public_key()

    @cached_property
    def _key_id(self) -> str:
        return key_id(self.public_key())

    def _private_key(self) -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        if self._key is None:
            if self._pem is None:
                self._key = ec.generate_private_key(ec.SECP256R1())
            else:
                loaded = serialization.load_pem_private_key(self._pem, None)
                if not isinstance(loaded, ec.EllipticCurvePrivateKey):
                    raise ValueError("the service account key is not an elliptic-curve key")
                self._key = loaded
        return self._key

    def _decode(self, token: str, now: datetime) -> Verified | None:
        import jwt

        options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
        try:
            claims = jwt.decode(token, self.public_key(), [ALGORITHM], options=options, issuer=ISSUER)
        except jwt.PyJWTError:
            return None
        if datetime.fromtimestamp(claims.get("nbf", 0), UTC) - LEEWAY > now:
            return None
        return verified(claims)


def _is_there(obj: Any, uid: str, now: datetime) -> bool:
    """Return whether an object is the one that is meant, and not overdue to be gone."""
    if obj is None or obj.metadata.uid != uid:
        return False
    gone = obj.metadata.deletion_timestamp
    return gone is None or gone + LEEWAY >= now


def _name_errors(metadata: ObjectMeta, target: Target) -> list[FieldError]:
    """A request may leave out whom it is for, since its path says it."""
    for name, given, wanted in (
        ("name", metadata.name, target.name),
        ("namespace", metadata.namespace, target.namespace),
    ):
        if given and given != wanted:
            text = f"must match the service account {name} if specified"
            return [fields.invalid(Path("metadata").child(name), given, text)]
    return []


def _spec_errors(seconds: int) -> list[FieldError]:
    path = Path("spec").child("expirationSeconds")
    if seconds < MIN_SECONDS:
        return [fields.invalid(path, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > MAX_SECONDS:
        return [fields.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []
