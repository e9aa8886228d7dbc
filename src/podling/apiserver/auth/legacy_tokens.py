"""The use of service account tokens in Secrets of the type ``kubernetes.io/service-account-token``.

The first use of a day becomes a label of the Secret, which a task writes beside the requests. A Secret with
the label that ``legacy-serviceaccount-token-cleaner-controller`` sets makes its token invalid. A Secret in
the list of its account counts as generated, and its token brings a warning with it.

Upstream: ``pkg/serviceaccount/legacy.go``.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from podling import clock
from podling.api.core_v1 import Secret, ServiceAccount
from podling.client.base import Client, Key, Unreachable, key_of
from podling.machinery.errors import ApiError
from podling.machinery.histograms import counters
from podling.machinery.tokens.legacy_tokens import INVALID_SINCE, LAST_USED, SECRET_TYPE, date_text
from podling.store.base import StoreError

log = logging.getLogger(__name__)

Warn = Callable[[str], object]
"""Takes a warning for the client."""
GENERATED = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated "
    "secret-based tokens."
)
_MANUAL = "serviceaccount_legacy_manual_token_uses"
_AUTOMATIC = "serviceaccount_legacy_auto_token_uses"
_INVALID = "serviceaccount_invalid_legacy_auto_token_uses"
_HELP = {
    _MANUAL: "Cumulative manually created legacy tokens used",
    _AUTOMATIC: "Cumulative auto-generated legacy tokens used",
    _INVALID: "Cumulative invalid auto-generated legacy tokens used",
}


def is_legacy(token: str, secret: Secret) -> bool:
    """Return whether a token that is bound to a Secret is the one in it."""
    held = secret.data.get("token", "") if secret.type == SECRET_TYPE else ""
    return hmac.compare_digest(held, base64.b64encode(token.encode()).decode())


class LegacyTokenUses:
    """Decides about the tokens, and notes their use."""

    def __init__(self) -> None:
        self._noted: dict[Key, Secret] = {}
        self._any = asyncio.Event()
        self._counts = dict.fromkeys(_HELP, 0)

    def admit(self, secret: Secret, account: ServiceAccount, warn: Warn) -> bool:
        """Return whether the token in ``secret`` is valid; either way it has been used."""
        self._note(secret)
        if secret.metadata.labels.get(INVALID_SINCE):
            self._counts[_INVALID] += 1
            log.warning(
                "the token in secret %s for service account %s has been marked invalid. Use tokens from the "
                "TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the "
                "secret to temporarily allow use of this token",
                key_of(secret),
                key_of(account),
                INVALID_SINCE,
            )
            return False
        is_generated = any(each.name == secret.metadata.name for each in account.secrets)
        self._counts[_AUTOMATIC if is_generated else _MANUAL] += 1
        if is_generated:
            warn(GENERATED)
        return True

    def _note(self, secret: Secret) -> None:
        now, used = clock.now(), secret.metadata.labels.get(LAST_USED)
        if used not in (date_text(now), date_text(now + timedelta(days=1))):
            self._noted[key_of(secret)] = secret
            self._any.set()

    async def run(self, client: Client) -> None:
        """Write what has been noted, until cancelled. A write that fails is made at the next use."""
        while True:
            await self._any.wait()
            self._any.clear()
            noted, self._noted = self._noted, {}
            for key, secret in noted.items():
                metadata = {"uid": secret.metadata.uid, "labels": {LAST_USED: date_text(clock.now())}}
                try:
                    await client.patch(Secret, key.name, {"metadata": metadata}, key.namespace)
                except (ApiError, StoreError, Unreachable) as error:
                    log.warning("the use of the token in secret %s is not labelled: %s", key, error)

    def collect(self) -> Iterator[Any]:
        """Yield the counts of uses, under Kubernetes' names."""
        for name, text in _HELP.items():
            yield counters(name, f"[ALPHA] {text}", (), {(): self._counts[name]})
