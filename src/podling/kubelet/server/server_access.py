"""Access to the kubelet's server: client certificates, bearer tokens and reviews, with caches.

Tokens are reviewed with TokenReview, rights with SubjectAccessReview. The latest answers are kept for the
configured times, so a client that polls costs the API server little. Clients that need a
review are refused without the API server.
Upstream: ``cmd/kubelet/app/auth.go``, ``k8s.io/apiserver`` (``plugin/pkg/authenticator/token/webhook``,
``plugin/pkg/authorizer/webhook``).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

from podling import clock
from podling.api.authentication_v1 import TokenReview, TokenReviewSpec
from podling.api.authorization_v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from podling.client.base import Client, Unreachable
from podling.kubelet.config import KubeletConfig
from podling.kubelet.server.server_auth import (
    ANONYMOUS,
    AUTHENTICATED,
    Attributes,
    Peer,
    attributes_of,
    forbidden_text,
    is_trusted,
    peer_of,
    review_failure_text,
    token_of,
)
from podling.machinery.errors import ApiError

logger = logging.getLogger(__name__)

ALWAYS_ALLOW = "AlwaysAllow"
CACHE_SIZE = 1024
REVIEW_SECONDS = 10.0
"""The time that a review may take."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The latest used answers, each until its time is over."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def get(self, key: K) -> V | None:
        found = self._kept.get(key)
        if found is None or found[1] <= clock.monotonic():
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, seconds: float) -> None:
        self._kept[key] = (value, clock.monotonic() + seconds)
        self._kept.move_to_end(key)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)


class ServerAccess:
    """The decision about each request to one kubelet's server.

    Args:
        node_name: the node, whose subresources a client needs access to.
        own: the API user of the node.
    """

    def __init__(self, client: Client, config: KubeletConfig, node_name: str, own: str = "") -> None:
        self._client = client
        self._config = config
        self._node_name = node_name
        self._own = own
        self._tokens: Cache[bytes, Peer] = Cache()
        self._rights: Cache[tuple[Peer, str, str], bool] = Cache()

    async def refusal(
        self, method: str, path: str, certificate: Mapping[str, Any] | None, authorization: str = ""
    ) -> tuple[int, str] | None:
        """Return code and text of the response to an unauthorized client; None for an authorized one.

        Args:
            certificate: the client's verified one, as ``ssl.SSLSocket.getpeercert`` returns it.
            authorization: the header ``Authorization``.
        """
        peer = await self._authenticate(certificate, token_of(authorization))
        if peer is None:
            return 401, "Unauthorized"
        if is_trusted(peer, path, self._own) or self._config.authorization_mode == ALWAYS_ALLOW:
            return None
        needed = attributes_of(method, path)
        try:
            return None if await self._is_allowed(peer, needed) else (403, forbidden_text(peer, needed))
        except (ApiError, Unreachable, TimeoutError) as error:
            logger.warning("the access of %s to the kubelet cannot be reviewed: %s", peer.name, error)
            return 500, review_failure_text(peer, needed)

    async def _authenticate(self, certificate: Mapping[str, Any] | None, token: str) -> Peer | None:
        peer = peer_of(certificate)
        if peer is not None:
            return peer
        if token and self._config.authentication_webhook_enabled:
            return await self._review_token(token)
        return ANONYMOUS if self._config.authentication_anonymous_enabled and not token else None

    async def _review_token(self, token: str) -> Peer | None:
        """Return the user of a token that the API server accepts. Only accepted ones are kept."""
        key = hashlib.sha256(token.encode()).digest()
        kept = self._tokens.get(key)
        if kept is not None:
            return kept
        try:
            async with asyncio.timeout(REVIEW_SECONDS):
                review = await self._client.create(TokenReview(spec=TokenReviewSpec(token=token)))
        except (ApiError, Unreachable, TimeoutError) as error:
            logger.warning("a token for the kubelet cannot be reviewed: %s", error)
            return None
        if not review.status.authenticated:
            return None
        user = review.status.user
        peer = Peer(user.username, tuple(user.groups), user.uid)
        self._tokens.put(key, peer, self._config.authentication_webhook_cache_ttl)
        return peer

    async def _is_allowed(self, peer: Peer, needed: Attributes) -> bool:
        """Return whether a client may use one of the subresources. Raises ``ApiError``, ``Unreachable``."""
        for subresource in needed.subresources:
            if await self._review_access(peer, needed.verb, subresource):
                return True
        return False

    async def _review_access(self, peer: Peer, verb: str, subresource: str) -> bool:
        key = (peer, verb, subresource)
        kept = self._rights.get(key)
        if kept is not None:
            return kept
        groups = peer.groups if peer is ANONYMOUS else (*peer.groups, AUTHENTICATED)
        wanted = ResourceAttributes(
            verb=verb, version="v1", resource="nodes", subresource=subresource, name=self._node_name
        )
        spec = SubjectAccessReviewSpec(
            user=peer.name, groups=tuple(dict.fromkeys(groups)), uid=peer.uid, resource_attributes=wanted
        )
        async with asyncio.timeout(REVIEW_SECONDS):
            review = await self._client.create(SubjectAccessReview(spec=spec))
        allowed = review.status.allowed
        config = self._config
        yes, no = (
            config.authorization_webhook_cache_authorized_ttl,
            config.authorization_webhook_cache_unauthorized_ttl,
        )
        self._rights.put(key, allowed, yes if allowed else no)
        return allowed
