"""Enforces the network policies of the API on the pods of one node.

While the cluster has no policy, the node follows only the policies, and its kernel has no rules for them.
With the first policy it reads all pods and namespaces, writes its table, and follows them from then on.

It is the gate of the pod network. A pod is connected when its addresses are in the table, so no policy that
existed when the pod was started misses its first packet; an address is leased anew when it has left the
table. A pod waits as long as the policies are not known or cannot be written. Only a static pod starts
without them, on a node that has not reached the API server since its start; they apply once they are known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from podling import clock
from podling.api.networking_v1 import NetworkPolicy
from podling.client.base import Client, Key, Unreachable, key_of
from podling.client.informer import Informer, revision_number
from podling.machinery.errors import ApiError
from podling.network.leases import Lease, LeasedPod
from podling.network.pod_network import BridgeNetwork
from podling.network.policy.inputs import PolicyInputs
from podling.network.policy.kernel import PolicyTable
from podling.network.policy.pod_records import local_key
from podling.network.policy.policies import policy_of
from podling.network.policy.values import NodeFacts
from podling.runtime.base import RuntimeFailure
from podling.supervisor import Supervisor

CHECK_SECONDS = 4.0
"""Interval of the look whether another program changed the table."""
WAIT_SECONDS = 10.0
"""The time that a pod's start waits for its policies. The kubelet tries again after a failure."""

RESTORED = "NetworkPolicyTableRestored"
FAILED = "NetworkPoliciesNotEnforced"

Report = Callable[[str, str], object]
"""Reports a fault of the node: a reason for machines, and a message for people."""


class NetworkPolicies:
    """The network policies on the node ``node``."""

    def __init__(
        self, node: str, client: Client, network: BridgeNetwork, table: PolicyTable, report: Report
    ) -> None:
        self._node = node
        self._client = client
        self._network = network
        self._table = table
        self._report = report
        self._wake = asyncio.Event()
        self._changed = asyncio.Condition()
        self._flushing = asyncio.Lock()
        self._policies: Informer[NetworkPolicy] | None = None
        self._dirty: dict[Key, None] = {}
        """The policies that changed."""
        self._inputs: PolicyInputs | None = None
        """Everything that the table follows from; None while there is no policy."""
        self._is_settled = False
        """The policies are known, and the table is as they require."""

    # ---- the gate

    async def admit(self, lease: Lease) -> None:
        """Return when the pod's addresses are in the table, or when there is no policy.

        Raises ``RuntimeFailure``.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._catch_up(lease.pod)
        except TimeoutError:
            text = "the network policies of the pod's namespace are not in place yet"
            raise RuntimeFailure(text) from None
        if self._inputs is not None:
            self._inputs.put_lease(lease)
            await self._flush()

    async def release(self, lease: Lease) -> None:
        """Return when the pod's addresses have left the table. Raises ``RuntimeFailure``.

        While the table is being written anew they leave it with that; no other pod is admitted before.
        """
        if self._inputs is not None:
            self._inputs.index.remove_pod(local_key(lease.sandbox_id))
            if self._is_settled:
                await self._flush()

    async def _catch_up(self, pod: LeasedPod) -> None:
        """Wait until every policy that exists now in the pod's namespace is followed.

        The informer may lag behind the API. While the API is unreachable no client can add a policy, so the
        policies that the informer holds are enough then.
        """
        newest = 0
        try:
            listing = await self._client.list(NetworkPolicy, pod.namespace)
            newest = max(map(revision_number, listing.items), default=0)
        except Unreachable:
            if pod.is_static and (self._policies is None or not self._policies.has_synced):
                return
        except ApiError:
            pass  # the policies of the informer are enough
        if not self._is_ready(newest):
            self._wake.set()
            async with self._changed:
                await self._changed.wait_for(lambda: self._is_ready(newest))

    def _is_ready(self, revision: int) -> bool:
        """Return whether the policies of this revision are followed, with the node's facts of today."""
        if not self._is_settled or self._policies is None or self._policies.revision < revision:
            return False
        if self._inputs is None:
            return not len(self._policies)
        return self._inputs.facts == facts_of(self._network)

    # ---- the loop

    async def run(self) -> None:
        """Keep the table as the API requires until cancelled."""
        try:
            async with Supervisor() as tasks:
                self._policies = policies = Informer(self._client, NetworkPolicy)
                policies.add_handler(self._note, lambda _, new: self._note(new), self._note)
                tasks.keep_running("network/policy-objects", policies.run, self._node)
                await policies.synced()
                while True:
                    if len(policies):
                        await self._enforce(policies)
                    else:
                        await self._rest(policies)
        finally:
            self._is_settled = False
            self._inputs = self._policies = None

    def _note(self, policy: NetworkPolicy) -> None:
        self._dirty[key_of(policy)] = None
        self._wake.set()

    async def _rest(self, policies: Informer[NetworkPolicy]) -> None:
        """Wait for the first policy."""
        if self._network.leases:  # rules of an earlier run would still apply to the pods of that run
            await self._table.remove()
        while not len(policies):
            self._wake.clear()
            await self._settle()
            await self._wake.wait()
        self._is_settled = False

    async def _enforce(self, policies: Informer[NetworkPolicy]) -> None:
        """Follow pods and namespaces, and keep the table, until the last policy is deleted."""
        facts = facts_of(self._network)
        inputs = PolicyInputs(self._node, self._client, self._network, facts, self._wake)
        async with Supervisor() as tasks:
            try:
                self._dirty.update(dict.fromkeys(map(key_of, policies.values())))
                await inputs.start(tasks)
                self._inputs = inputs
                next_check = clock.monotonic() + CHECK_SECONDS
                while len(policies) and facts == facts_of(self._network):
                    self._wake.clear()
                    self._take_policies()
                    await inputs.take_changes()
                    await self._flush()
                    await self._settle()
                    if clock.monotonic() >= next_check:
                        await self._check()
                        next_check = clock.monotonic() + CHECK_SECONDS
                    await clock.wait_for(self._wake, next_check - clock.monotonic())
            finally:
                self._is_settled = False
                self._inputs = None
                await tasks.close()
        if not len(policies):
            await self._table.remove()

    async def _settle(self) -> None:
        async with self._changed:
            self._is_settled = True
            self._changed.notify_all()

    # ---- writing

    def _take_policies(self) -> None:
        if self._inputs is None or self._policies is None:
            return
        for key in tuple(self._dirty):
            del self._dirty[key]
            if (found := self._policies.get(key)) is not None:
                self._inputs.index.put_policy(policy_of(found))
            else:
                self._inputs.index.remove_policy(*key)

    async def _flush(self) -> None:
        """Write all changes so far, those of callers that wait included. Raises ``RuntimeFailure``."""
        async with self._flushing:
            if self._inputs is None:
                return
            self._take_policies()
            await self._write(self._inputs)

    async def _write(self, inputs: PolicyInputs) -> None:
        """Bring the table up to date; whole if the kernel's is not known, or refuses a change."""
        if not inputs.is_written:
            await self._write_whole(inputs)
        elif changes := inputs.index.take_changes():
            inputs.is_written = False
            try:
                await self._table.change(changes)
            except RuntimeFailure as error:
                await self._write_whole(inputs)
                self._report(RESTORED, f"the nftables table {self._table.name}: {first_line(error)}")
            inputs.is_written = True

    async def _write_whole(self, inputs: PolicyInputs) -> None:
        inputs.index.take_changes()
        try:
            await self._table.write(inputs.facts.families, inputs.index.tables())
        except RuntimeFailure as error:
            self._report(FAILED, first_line(error))
            raise
        inputs.is_written = True

    async def _check(self) -> None:
        """Restore the table if another program changed it."""
        async with self._flushing:
            inputs = self._inputs
            if inputs is None or not await self._table.may_be_changed():
                return
            await self._write(inputs)
            if inputs.index.has_changes:  # made while the last ones were written
                return
            if damage := await self._table.damage(inputs.index.tables()):
                await self._write_whole(inputs)
                self._report(RESTORED, damage)


def facts_of(network: BridgeNetwork) -> NodeFacts:
    """Return what the policies depend on of the node's pod network. Raises ``RuntimeFailure``."""
    blocks = network.blocks
    gateways = (blocks.gateway,) if blocks.gateway6 is None else (blocks.gateway, blocks.gateway6)
    return NodeFacts(families=tuple(each.version for each in gateways), dns=tuple(map(str, gateways)))


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
