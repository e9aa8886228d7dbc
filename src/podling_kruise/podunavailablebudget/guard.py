"""Spending of PodUnavailableBudgets.

A budget is spent before the operation, by a write of its status that names the revision it was read at: so
two operations never spend the same unit. A writer that was slower reads the budget again and decides anew.
Upstream: ``PodUnavailableBudgetValidatePod`` of ``pub_control_utils.go``.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, Key
from podling.machinery import errors
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling_kruise.podunavailablebudget.protection import budget_name, costs, is_exempt, spent
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget

TRIES = 20
RETRY_AFTER_SECONDS = 10


class BudgetGuard:
    """Spends budgets. ``client`` knows OpenKruise's kinds, and may write the status of budgets."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        """Those who spend one budget in this process wait for one another instead of meeting in the store."""

    async def allows(self, pod: Pod, operation: str) -> bool:
        """Return whether the pod's budget was spent for an operation, or has no say."""
        try:
            await self.spend(pod, operation)
        except ApiError as error:
            if error.code == 403:
                return False
            raise
        return True

    async def spend(self, pod: Pod, operation: str, *, dry_run: bool = False) -> None:
        """Spend the pod's budget for an operation. Raises 403 if nothing is left, 504 after many conflicts.

        A dry run decides alike and writes nothing.
        """
        name, namespace = budget_name(pod), pod.metadata.namespace or ""
        if not name or is_exempt(pod):
            return
        key = Key(namespace, name)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            for _ in range(TRIES):
                if await self._try(pod, operation, key, dry_run=dry_run):
                    return
        text = f"couldn't update PodUnavailableBudget {name} due to conflicts"
        raise errors.gateway_timeout(text, RETRY_AFTER_SECONDS)

    async def _try(self, pod: Pod, operation: str, key: Key, *, dry_run: bool) -> bool:
        """Return false if another writer was faster."""
        try:
            budget = await self._client.get(PodUnavailableBudget, key.name, key.namespace)
            if not costs(pod, budget, operation):
                return True
            left = spent(budget, pod, operation, clock.now())
            if not dry_run:
                await self._client.update(left, subresource="status")
        except ApiError as error:
            if is_conflict(error):
                return False
            if not is_not_found(error):
                raise
        return True
