"""The pods with their addresses, and which pod an address belongs to. Pure but for itself.

An address belongs to one pod: to the one of this node to which it is leased, else to the one that named it
last. A pod whose address now belongs to another has no right by it, however long its status names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from podling.network.policy.values import PolicyPod, family_of


class Claims:
    """All pods of the cluster, by key, by namespace and by address."""

    def __init__(self, families: Collection[int]) -> None:
        self._families = families
        self._pods: dict[str, PolicyPod] = {}
        self._in_namespace: dict[str, dict[str, PolicyPod]] = {}
        self._claimants: dict[str, list[str]] = {}
        """The pods that name an address, the last to do so last."""

    def get(self, key: str) -> PolicyPod | None:
        return self._pods.get(key)

    def all(self) -> Iterable[PolicyPod]:
        return self._pods.values()

    def in_namespace(self, namespace: str) -> Mapping[str, PolicyPod]:
        return self._in_namespace.get(namespace, {})

    def concerned(self, key: str, new: PolicyPod | None) -> list[str]:
        """Return the keys of the pods whose addresses a change of one pod may give or take."""
        addresses = {each for pod in (self._pods.get(key), new) if pod for each in pod.addresses}
        others = (one for each in addresses for one in self._claimants.get(each, ()))
        return list(dict.fromkeys([key, *others]))

    def put(self, key: str, new: PolicyPod | None) -> None:
        """Replace the pod of a key, or remove it. A pod that keeps an address keeps its place there."""
        old = self._pods.pop(key, None)
        if old is not None:
            held = self._in_namespace[old.namespace]
            del held[key]
            if not held:
                del self._in_namespace[old.namespace]
        if new is not None:
            self._pods[key] = new
            self._in_namespace.setdefault(new.namespace, {})[key] = new
        self._update(key, set(old.addresses) if old else set(), set(new.addresses) if new else set())

    def _update(self, key: str, old: set[str], new: set[str]) -> None:
        for address in old - new:
            self._claimants[address].remove(key)
            if not self._claimants[address]:
                del self._claimants[address]
        for address in new - old:
            self._claimants.setdefault(address, []).append(key)

    def owned(self, pod: PolicyPod) -> list[str]:
        """Return the addresses of the node's families that belong to the pod."""
        return [
            each
            for each in pod.addresses
            if family_of(each) in self._families and self._owner(each) == pod.key
        ]

    def _owner(self, address: str) -> str:
        claimants = self._claimants[address]
        if len(claimants) == 1:
            return claimants[0]
        local = [key for key in claimants if self._pods[key].local]
        return (local or claimants)[-1]
