"""The end of generated service account tokens in Secrets that no client has used for a year.

A Secret counts as generated if its account lists it. It is first labelled, which makes its token invalid,
and deleted after the same time again. Nothing is touched before uses have been tracked for as long. A pass
over the Secrets is made once a day, as long as there are any. Upstream:
``pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go``.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import ClassVar

from podling import clock
from podling.api.core_v1 import ConfigMap, Pod, Secret, ServiceAccount
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.options import ControllerOptions
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.pod_references import SECRETS, named_in
from podling.machinery.tokens.legacy_tokens import (
    ACCOUNT_NAME,
    ACCOUNT_UID,
    INVALID_SINCE,
    LAST_USED,
    SECRET_TYPE,
    SINCE,
    TRACKING,
    TRACKING_NAMESPACE,
    date_of,
    date_text,
)

log = logging.getLogger(__name__)

PASS = Key("", "")
PASS_SECONDS = 24 * 3600.0


class LegacyTokenCleanerController(Controller):
    """One key: a pass over all Secrets."""

    name: ClassVar[str] = "legacy-serviceaccount-token-cleaner-controller"

    def __init__(self, context: ControllerContext, options: ControllerOptions) -> None:
        super().__init__(context)
        self._period = timedelta(seconds=options.legacy_service_account_token_clean_up_period)
        self._began = clock.monotonic()
        """The time from which the days count."""
        self._secrets = context.informers.informer(Secret)
        self._accounts = context.informers.informer(ServiceAccount)
        self._pods = context.informers.informer(Pod)
        self._secrets.add_handler(self._added)
        self.queue.add(PASS)

    def _added(self, secret: Secret) -> None:
        if secret.type == SECRET_TYPE:
            self.queue.add_after(PASS, self._seconds_to_next_pass())

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        tokens = [secret for secret in self._secrets.values() if secret.type == SECRET_TYPE]
        if not tokens:
            return AwaitChange()
        now = clock.now()
        if await self._is_tracked_since(now - self._period):
            for secret in tokens:
                if self._is_unused(secret, now):
                    await self._invalidate_or_delete(secret, now)
        return RequeueAfter(self._seconds_to_next_pass())

    def _seconds_to_next_pass(self) -> float:
        return PASS_SECONDS - (clock.monotonic() - self._began) % PASS_SECONDS

    async def _is_tracked_since(self, moment: datetime) -> bool:
        """Return whether uses have been tracked at this moment: from the day after the first one on."""
        try:
            tracking = await self.client.get(ConfigMap, TRACKING, TRACKING_NAMESPACE)
        except ApiError as error:
            log.warning("uses of tokens in Secrets are not known to be tracked: %s", error)
            return False
        since = date_of(tracking.data.get(SINCE, ""))
        if since is None:
            log.warning("the ConfigMap %s does not say since when tokens are tracked", TRACKING)
            return False
        return since < moment.date()

    def _is_unused(self, secret: Secret, now: datetime) -> bool:
        """Return whether a token is generated, no pod has its Secret, and no client has used it for long."""
        metadata, limit = secret.metadata, now - self._period
        if metadata.deletion_timestamp is not None:
            return False
        if metadata.creation_timestamp is None or metadata.creation_timestamp >= limit:
            return False
        used = metadata.labels.get(LAST_USED)
        if used is not None and (date_of(used) is None or used >= date_text(limit)):
            return False
        return self._is_generated(secret) and not self._is_mounted(secret)

    def _is_generated(self, secret: Secret) -> bool:
        metadata = secret.metadata
        account = self._accounts.get(
            Key(metadata.namespace or "", metadata.annotations.get(ACCOUNT_NAME, ""))
        )
        if account is None or metadata.annotations.get(ACCOUNT_UID, "") not in ("", account.metadata.uid):
            return False
        return any(each.name == metadata.name for each in account.secrets)

    def _is_mounted(self, secret: Secret) -> bool:
        wanted = (SECRETS, *key_of(secret))
        return any(wanted in named_in(pod) for pod in self._pods.values())

    async def _invalidate_or_delete(self, secret: Secret, now: datetime) -> None:
        metadata = secret.metadata
        name, namespace = metadata.name or "", metadata.namespace
        invalid = metadata.labels.get(INVALID_SINCE, "")
        try:
            if date_of(invalid) is None:
                label = {"uid": metadata.uid, "labels": {INVALID_SINCE: date_text(now)}}
                await self.client.patch(Secret, name, {"metadata": label}, namespace)
            elif invalid < date_text(now - self._period):
                version = metadata.resource_version or ""
                await self.client.delete(Secret, name, namespace, resource_version=version)
        except ApiError as error:  # the next pass tries again
            if not (is_not_found(error) or is_conflict(error)):
                log.warning("the unused token in secret %s/%s stays: %s", namespace, name, error)
