"""Service account tokens for pods: requested once, renewed before they expire.

A token is bound to its pod and becomes invalid with it. It is renewed when four fifths of its lifetime are
over, or after a day (``pkg/kubelet/token/token_manager.go``).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from podling import clock, ids
from podling.api.authentication_v1 import BoundObjectReference, TokenRequest, TokenRequestSpec
from podling.api.core_v1 import Pod, ServiceAccount
from podling.client.base import Client
from podling.kubelet.failures import MissingReference
from podling.machinery.errors import ApiError

MAX_AGE = timedelta(hours=24)
MAX_JITTER_SECONDS = 10.0
DEFAULT_SECONDS = 3600


class _Held(Struct, frozen=True):
    token: str
    renew_at: datetime


def renewal_time(issued: datetime, expires: datetime, jitter: timedelta) -> datetime:
    """Return the moment at which a token is to be replaced."""
    lifetime = expires - issued
    return issued + min(lifetime * 0.8, MAX_AGE) - jitter


class Tokens:
    """The tokens of one node's pods."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._held: dict[tuple[str, str, int], _Held] = {}

    async def token(self, pod: Pod, audience: str, seconds: int) -> str:
        """Return a token that stays valid for some time. Raises ``MissingReference``."""
        key = (pod.metadata.uid or "", audience, seconds)
        held = self._held.get(key)
        now = clock.steady_now()
        if held is not None and now < held.renew_at:
            return held.token
        account = pod.spec.service_account_name or "default"
        request = TokenRequest(
            spec=TokenRequestSpec(
                audiences=(audience,) if audience else (),
                expiration_seconds=seconds,
                bound_object_ref=BoundObjectReference(
                    api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid
                ),
            )
        )
        try:
            answer = await self._client.create_subresource(
                ServiceAccount, account, "token", request, pod.metadata.namespace
            )
        except ApiError as error:
            raise MissingReference(f"failed to fetch token: {error}") from error
        if not isinstance(answer, TokenRequest) or not answer.status.token:
            raise MissingReference("failed to fetch token: the answer holds none")
        # The time of expiry is on the API server's clock, which may be another than this node's.
        expires = now + timedelta(seconds=answer.spec.expiration_seconds or seconds)
        jitter = timedelta(seconds=ids.uniform(0, MAX_JITTER_SECONDS))
        self._held[key] = _Held(answer.status.token, renewal_time(now, expires, jitter))
        return answer.status.token

    def forget(self, pod_uid: str) -> None:
        for key in [key for key in self._held if key[0] == pod_uid]:
            del self._held[key]
