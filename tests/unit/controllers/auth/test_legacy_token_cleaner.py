"""The cleaner of unused tokens in Secrets: upstream's table, on virtual time.

Source: ``TestLegacyServiceAccountTokenCleanUp``. The tokens may be unused for a minute
here, and dates are days from now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec import Struct

from podling import clock
from podling.api.core_v1 import ConfigMap, ObjectReference, Secret, SecretVolumeSource, ServiceAccount, Volume
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth.legacy_token_cleaner import LegacyTokenCleanerController
from podling.controllers.base import ControllerContext
from podling.controllers.options import ControllerOptions
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.tokens.legacy_tokens import INVALID_SINCE, LAST_USED, TRACKING, date_text
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running

UNKNOWN = "2022-12-27-1"
"""No date."""


class Case(Struct, frozen=True, kw_only=True):
    """A row of the table. Numbers are days before the pass; the Secret is made two minutes before it."""

    minutes: int = 1
    """The time that a token may be unused."""
    since: int | str | None = 5
    """The day in the ConfigMap; empty: it has none; None: there is no ConfigMap."""
    used: int | str | None = None
    invalid: int | str | None = None
    type: str = "kubernetes.io/service-account-token"
    account: str = "robot"
    is_same_account: bool = True
    is_listed: bool = True
    is_mounted: bool = False
    is_kept: bool = False
    """It has a finalizer, and has been deleted."""
    ends: str = ""
    """The end that the pass makes: none, ``invalid`` or ``deleted``."""


CASES = {
    "no ConfigMap": Case(since=None),
    "ConfigMap without a date": Case(since=""),
    "not tracked for long enough": Case(since=0),
    "tracked for long enough": Case(since=2, ends="invalid"),
    "ConfigMap with another text": Case(since=UNKNOWN),
    "tracked since the last date there is": Case(since="9999-12-31"),
    "Secret of another type": Case(type="Opaque"),
    "account does not list the Secret": Case(is_listed=False),
    "created lately": Case(minutes=3),
    "being deleted": Case(is_kept=True),
    "used lately": Case(used=0),
    "last use is unknown": Case(used=UNKNOWN),
    "no such account": Case(account="other"),
    "account of the name is another one": Case(is_same_account=False),
    "no use": Case(ends="invalid"),
    "date of invalidity is unknown": Case(invalid=UNKNOWN, ends="invalid"),
    "invalid, but not for long enough": Case(invalid=0),
    "invalid for long": Case(invalid=2, ends="deleted"),
    "mounted": Case(is_mounted=True),
    "used long ago": Case(used=2, ends="invalid"),
    "used long ago, invalid but not for long enough": Case(used=4, invalid=0),
    "used long ago, invalid for long": Case(used=4, invalid=2, ends="deleted"),
}


def text_of(days: int | str | None) -> str | None:
    return date_text(clock.now() - timedelta(days=days)) if isinstance(days, int) else days


def cleaner(minutes: float) -> Callable[[ControllerContext], LegacyTokenCleanerController]:
    options = ControllerOptions(legacy_service_account_token_clean_up_period=minutes * 60)
    return lambda context: LegacyTokenCleanerController(context, options)


async def found(cluster: ControlPlane) -> Secret | None:
    try:
        return await cluster.client.get(Secret, "key", "default")
    except ApiError as error:
        if not is_not_found(error):
            raise
        return None


async def prepare(cluster: ControlPlane, case: Case) -> Secret:
    """Create the objects of a case, and let two minutes pass."""
    client = cluster.client
    account = ServiceAccount(
        metadata=ObjectMeta(name="robot", namespace="default"),
        secrets=(ObjectReference(name="key"),) if case.is_listed else (),
    )
    uid = (await client.create(account)).metadata.uid if case.is_same_account else "earlier"
    if not case.is_same_account:
        await client.create(account)
    prefix = "kubernetes.io/service-account"
    annotations = {f"{prefix}.name": case.account, f"{prefix}.uid": uid or ""}
    metadata = ObjectMeta(
        name="key",
        namespace="default",
        annotations=annotations,
        finalizers=("example.com/kept",) if case.is_kept else (),
    )
    await client.create(Secret(metadata=metadata, type=case.type))
    if case.is_kept:
        await client.delete(Secret, "key", "default")
    if case.is_mounted:
        volume = Volume(name="v", secret=SecretVolumeSource(secret_name="key"))
        await client.create(pod("user", volumes=(volume,)))
    await cluster.advance(minutes=2)
    dates = {LAST_USED: text_of(case.used), INVALID_SINCE: text_of(case.invalid)}
    labels = {name: text for name, text in dates.items() if text is not None}
    await track(cluster, case.since)
    return await client.patch(Secret, "key", {"metadata": {"labels": labels}}, "default")


async def track(cluster: ControlPlane, since: int | str | None) -> None:
    """Let uses be tracked since a day, by a server that does not repair what says no day."""
    loop = cluster.server._loops["start-legacy-token-tracking-controller"]
    loop.cancel()
    await asyncio.wait([loop])
    if since is None:
        await cluster.client.delete(ConfigMap, TRACKING, "kube-system")
    else:
        data = {"data": {"since": text_of(since) or None}}
        await cluster.client.patch(ConfigMap, TRACKING, data, "kube-system")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_pass_over_a_secret(cluster: ControlPlane, case: Case) -> None:
    before = await prepare(cluster, case)
    async with running(cluster.client, cleaner(case.minutes)) as manager:
        await cluster.advance(seconds=1)
        assert all(counters.failures == 0 for counters in manager.counters.values())
    after = await found(cluster)
    if case.ends == "deleted":
        assert after is None
    else:
        assert after is not None
        label = {INVALID_SINCE: date_text(clock.now())} if case.ends else {}
        assert after.metadata.labels == {**before.metadata.labels, **label}
