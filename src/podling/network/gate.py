"""The gate before a pod's network: what must be in place before the pod can send its first packet.

``BridgeNetwork`` calls the gate after it has leased the pod's addresses and before the pod has an interface,
and again when the interface is gone and before an address can be leased anew.
"""

from __future__ import annotations

from typing import Protocol

from podling.network.leases import Lease


class PodGate(Protocol):
    """Prepares the node for the traffic of a pod. Each call can be repeated."""

    async def admit(self, lease: Lease) -> None:
        """Return once the pod may be connected. Raises ``RuntimeFailure``: it is not connected then."""
        ...

    async def release(self, lease: Lease) -> None:
        """Return once nothing refers to the pod's addresses. Raises ``RuntimeFailure``: they stay leased."""
        ...


class OpenGate:
    """Lets every pod through: a network whose node has no rules about pods."""

    async def admit(self, lease: Lease) -> None:
        pass

    async def release(self, lease: Lease) -> None:
        pass
