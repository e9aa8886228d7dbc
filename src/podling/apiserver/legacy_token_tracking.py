"""The ConfigMap with the date since which the use of tokens in Secrets is tracked.

It is created when it is missing, though not again within half an hour, and gets the date of today in place of
what is no date. Upstream: ``pkg/controlplane/controller/legacytokentracking``.
"""

from __future__ import annotations

from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.background_tasks import Selected, changed, keep_at
from podling.client.local import LocalClient
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.tokens.legacy_tokens import SINCE, TRACKING, TRACKING_NAMESPACE, date_of, date_text

CREATE_SECONDS = 1800.0
"""The time between two creations."""
RETRY_SECONDS = 10.0
_SELECTOR = f"metadata.name={TRACKING}"


class LegacyTokenTracking:
    """Keeps the ConfigMap."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._created_at = clock.monotonic() - CREATE_SECONDS

    async def run(self) -> None:
        """Follow the ConfigMap, until cancelled or the store closes."""
        await keep_at(self._look, "the ConfigMap of legacy token tracking", seconds=RETRY_SECONDS)

    async def _look(self) -> None:
        version, wait = await self._sync()
        selected = Selected(TRACKING_NAMESPACE, fields=_SELECTOR)
        await changed(self._client, ConfigMap, version, within=wait, selected=selected)

    async def sync(self) -> None:
        """Create or repair the ConfigMap. Raises ``ApiError``."""
        await self._sync()

    async def _sync(self) -> tuple[str, float | None]:
        """``sync``; return the revision that was looked at, and the seconds until the next look."""
        listed = await self._client.list(ConfigMap, TRACKING_NAMESPACE, field_selector=_SELECTOR)
        wait = await self._bring(listed.items[0] if listed.items else None)
        return listed.resource_version, wait

    async def _bring(self, found: ConfigMap | None) -> float | None:
        """Bring the ConfigMap to where it should be; return the seconds until it may be created."""
        today = {SINCE: date_text(clock.now())}
        if found is not None:
            if date_of(found.data.get(SINCE, "")) is None:
                await self._repair(structs.replace(found, data={**found.data, **today}))
            return None
        left = self._created_at + CREATE_SECONDS - clock.monotonic()
        if left > 0:
            return left
        metadata = ObjectMeta(name=TRACKING, namespace=TRACKING_NAMESPACE)
        try:
            await self._client.create(ConfigMap(metadata=metadata, data=today))
        except ApiError as error:
            if not errors.is_already_exists(error):
                raise
        self._created_at = clock.monotonic()
        return None

    async def _repair(self, wanted: ConfigMap) -> None:
        try:
            await self._client.update(wanted)
        except ApiError as error:  # a change that came between is looked at next
            if not (errors.is_not_found(error) or errors.is_conflict(error)):
                raise
