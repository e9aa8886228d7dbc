"""Renews the leases of healthy simulated nodes together, which costs a fraction of as many requests.

A kubelet takes and renews its lease by requests as always. While nothing stands between it and the API
server, it leaves the further renewals to ``LeaseRenewals``, which writes them to the store every ten seconds:
each with a revision of its own and the new ``renewTime``, which readers and watches see. As soon as anything
is otherwise than at the last renewal (a fault, a cut connection, another writer, an admission policy, a
webhook for leases), the
kubelet renews its lease by requests again, with all that happens to requests.

Different from renewals by requests: all nodes renew at the same time, without the jitter of a twenty-fifth of
the period, and there are no requests to count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    RuleWithOperations,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from podling.api.coordination_v1 import Lease
from podling.apiserver.registry.objects import Stored, stored
from podling.machinery.scheme import resource_of
from podling.sim.connection import Connection
from podling.sim.machine_clock import forget_machine
from podling.store.base import Entry, Store
from podling.supervisor import Supervisor

POLICIES = tuple(
    resource_of(kind).key_prefix
    for kind in (ValidatingAdmissionPolicyBinding, MutatingAdmissionPolicyBinding)
)
"""The keys of what may refuse or change a renewal."""
CONFIGURATIONS = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
"""The kinds of what may do so by its rules."""


class _Form(Struct, frozen=True, gc=False):
    """The JSON of a lease around its revision and its renewal time, which stand there in this order."""

    head: bytes
    middle: bytes
    tail: bytes

    def value(self, revision: int, renewed: bytes) -> bytes:
        """Return the JSON at a revision with a time of renewal."""
        return b"%b%d%b%b%b" % (self.head, revision, self.middle, renewed, self.tail)


class _Kept(Struct, eq=False):
    """A node's lease that is renewed here."""

    connection: Connection | None
    lease: Lease
    entry: Entry
    form: _Form
    over: asyncio.Future[None]


class LeaseRenewals:
    """The leases that are renewed together.

    Args:
        store: returns the store of the API server that answers now; None while there is none, or its writes
            may fail.
    """

    def __init__(self, store: Callable[[], Store | None]) -> None:
        self._store = store
        self._groups: dict[float, dict[str, _Kept]] = {}
        """By the period, then by the key in the store."""
        self._tasks = Supervisor()
        self.renewals = 0
        """The number of renewals so far, each of which is one write to the store."""

    def kept(self, store: Store) -> list[str]:
        """Return the names of the leases that the next renewals find as they were."""
        return [
            key.rpartition("/")[2]
            for group in self._groups.values()
            for key, kept in group.items()
            if _is_as_before(store, key, kept)
        ]

    async def keep(self, connection: Connection | None, lease: Lease, seconds: float) -> None:
        """Renew a lease every ``seconds`` after a request has renewed it; return when a request is due.

        ``connection``: the kubelet's; None where it has no faults.
        """
        key = resource_of(Lease).key(lease.metadata.namespace, lease.metadata.name or "")
        store = self._store()
        entry = store.peek(key) if store is not None else None
        form = _form(entry, lease) if entry is not None else None
        if entry is None or form is None or (connection is not None and connection.machine.ahead):
            await clock.sleep(seconds)
            return
        kept = _Kept(connection, lease, entry, form, asyncio.get_running_loop().create_future())
        self._add(key, kept, seconds)
        try:
            await kept.over
        finally:
            group = self._groups.get(seconds, {})
            if group.get(key) is kept:
                del group[key]

    async def close(self) -> None:
        """Renew nothing any more."""
        await self._tasks.close()

    def _add(self, key: str, kept: _Kept, seconds: float) -> None:
        group = self._groups.get(seconds)
        if group is None:
            group = self._groups[seconds] = {}
            self._tasks.keep_running("simulation/leases", partial(self._renew_group, seconds))
        group[key] = kept

    async def _renew_group(self, seconds: float) -> None:
        """Renew the leases of one period until there are none."""
        forget_machine()  # it works for all nodes, and was started by one
        late = 0.0
        while group := self._groups.get(seconds):
            # The last renewal of those that a leap has passed over is made, at its time.
            late = await clock.sleep_until_round(seconds, late=late, is_heartbeat=True)
            store, now = self._store(), clock.steady_now() - timedelta(seconds=late)
            written = _micro_time(now)
            if store is not None and await _is_reviewed(store):
                store = None
            for key, kept in tuple(group.items()):
                if store is None or not await _renewed(store, key, kept, now, written):
                    group.pop(key, None)
                    _end(kept)
                else:
                    self.renewals += 1
        self._groups.pop(seconds, None)


async def _is_reviewed(store: Store) -> bool:
    """Return whether policies, or webhooks with rules for leases, may refuse or change a renewal.

    Selectors and conditions are not evaluated: a request does that.
    """
    if any(store.count(prefix) for prefix in POLICIES):
        return True
    for kind in CONFIGURATIONS:
        prefix = resource_of(kind).key_prefix
        if not store.count(prefix):
            continue
        for entry in (await store.list(prefix)).entries:
            webhooks = stored(entry, kind).object.webhooks
            if any(is_about_renewals(rule) for webhook in webhooks for rule in webhook.rules):
                return True
    return False


def is_about_renewals(rule: RuleWithOperations) -> bool:
    """Return whether a rule of a webhook names updates of leases, in any version. Pure."""
    return (
        not {"*", "UPDATE"}.isdisjoint(rule.operations)
        and not {"*", "coordination.k8s.io"}.isdisjoint(rule.api_groups)
        and not {"*", "*/*", "leases"}.isdisjoint(rule.resources)
        and rule.scope != "Cluster"
    )


async def _renewed(store: Store, key: str, kept: _Kept, now: datetime, written: bytes) -> bool:
    """Renew a lease; return whether everything was as at the last renewal. The store never suspends.

    ``written`` is ``now`` as it stands in JSON.
    """
    if not _is_as_before(store, key, kept):
        return False
    memo = Stored()

    def encode(revision: int) -> bytes:
        before = kept.lease
        metadata = replace(before.metadata, resource_version=str(revision))
        kept.lease = memo.object = replace(
            before, metadata=metadata, spec=replace(before.spec, renew_time=now)
        )
        return kept.form.value(revision, written)

    kept.entry = await store.put(key, encode, expect=kept.entry.revision, memo=memo)
    return True


def _is_as_before(store: Store, key: str, kept: _Kept) -> bool:
    """Return whether nothing stands between a kubelet and its lease, which is as it was renewed last."""
    connection = kept.connection
    if connection is not None and (connection.is_cut or connection.faults or connection.machine.ahead):
        return False
    return store.peek(key) is kept.entry


def _end(kept: _Kept) -> None:
    if not kept.over.done():
        kept.over.set_result(None)


def _form(entry: Entry, lease: Lease) -> _Form | None:
    """Return the form of a lease's JSON; None if the store has another state of it, or in another form."""
    revision, renewed = lease.metadata.resource_version, lease.spec.renew_time
    if not revision or renewed is None or int(revision) != entry.revision:
        return None
    head, mark, rest = entry.value.partition(b'"resourceVersion":"')
    middle, time_mark, tail = rest.partition(b'"renewTime":"')
    middle = middle[len(revision) :] + time_mark
    written = _micro_time(renewed)
    form = _Form(head + mark, middle, tail[len(written) :])
    return form if form.value(entry.revision, written) == entry.value else None


def _micro_time(moment: datetime) -> bytes:
    """Return a time as the API writes a ``MicroTime``."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
