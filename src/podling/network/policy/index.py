"""Follows pods, namespaces and policies, and keeps the tables that they require. Pure but for itself.

The cost of a pod's change depends on its own labels and the policies of its namespace, not on the number of
pods or policies: sets are kept for selections, not for policies, and only for those of chains that apply to a
pod of this node. A set is filled from all pods once, when the first such chain appears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from podling.network.policy.chains import DNS_NAMESPACE, Compiled, Context, compile_chain, group_of
from podling.network.policy.claims import Claims
from podling.network.policy.in_use import InUse
from podling.network.policy.policies import Policy
from podling.network.policy.tables import Changes, RecordedTables, Tables
from podling.network.policy.values import DIRECTIONS, Members, NodeFacts, PolicyPod, family_of

_Subject = dict[tuple[str, str], str]
"""The group for each set of groups and address of a pod."""


class PolicyIndex:
    """The desired tables of one node."""

    def __init__(self, facts: NodeFacts) -> None:
        self._facts = facts
        self._tables = RecordedTables(facts.families)
        self._pods = Claims(facts.families)
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._policies: dict[str, dict[str, Policy]] = {}
        self._compiled: dict[tuple[str, str, str], Compiled] = {}
        self._in_use = InUse(self._tables, facts.families, self._fill)
        self._subjects: dict[str, _Subject] = {}

    def tables(self) -> Tables:
        return self._tables.tables()

    def take_changes(self) -> Changes:
        """Return the changes of the tables since the last call."""
        return self._tables.take()

    @property
    def has_changes(self) -> bool:
        return self._tables.has_changes

    # ---- pods

    def put_pod(self, pod: PolicyPod) -> None:
        """Add a pod, or replace the one of its key."""
        if self._pods.get(pod.key) != pod:
            self._change_pod(pod.key, pod)

    def remove_pod(self, key: str) -> None:
        if self._pods.get(key) is not None:
            self._change_pod(key, None)

    def _change_pod(self, key: str, new: PolicyPod | None) -> None:
        concerned = self._pods.concerned(key, new)
        self._change_elements(concerned, lambda: self._pods.put(key, new))
        self._refresh_subjects(concerned)

    def _change_elements(self, keys: Iterable[str], change: Callable[[], object]) -> None:
        """Make a change that moves only the pods with these keys between sets."""
        before = self._elements(keys)
        change()
        after = self._elements(keys)
        for name, element in before - after:
            self._tables.remove(name, element)
        for name, element in after - before:
            self._tables.put(name, element)

    def _elements(self, keys: Iterable[str]) -> set[tuple[str, str]]:
        """Return the elements of the sets in use that the pods with these keys are."""
        return {
            element
            for key in keys
            if (pod := self._pods.get(key)) is not None and not pod.ended
            for members in self._in_use.index.matching(pod, self._namespaces.get(pod.namespace))
            for element in self._elements_in(members, pod)
        }

    def _elements_in(self, members: Members, pod: PolicyPod) -> list[tuple[str, str]]:
        return [
            (f"{members.name}_{family_of(address)}", element)
            for address in self._pods.owned(pod)
            for element in members.elements(pod, address)
        ]

    def _fill(self, members: Members) -> Iterator[tuple[str, str]]:
        chosen = members.selection
        for pod in (
            self._pods.in_namespace(chosen.namespace).values() if chosen.namespace else self._pods.all()
        ):
            known = self._namespaces.get(pod.namespace)
            if not pod.ended and chosen.matches(pod.namespace, known, pod.labels):
                yield from self._elements_in(members, pod)

    # ---- namespaces

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        if self._namespaces.get(name) != labels:
            self._change_namespace(name, lambda: self._namespaces.update({name: labels}))

    def remove_namespace(self, name: str) -> None:
        if name in self._namespaces:
            self._change_namespace(name, lambda: self._namespaces.pop(name))

    def _change_namespace(self, name: str, change: Callable[[], object]) -> None:
        self._change_elements(list(self._pods.in_namespace(name)), change)
        if name == DNS_NAMESPACE and self._facts.dns:  # chains depend on its labels
            self._compiled.clear()
            self._refresh_subjects([pod.key for pod in self._pods.all() if pod.local])

    # ---- policies

    def put_policy(self, policy: Policy) -> None:
        """Add a policy, or replace the one of its name."""
        held = self._policies.setdefault(policy.namespace, {})
        if held.get(policy.name) != policy:
            held[policy.name] = policy
            self._refresh_namespace(policy.namespace, policy.name)

    def remove_policy(self, namespace: str, name: str) -> None:
        held = self._policies.get(namespace, {})
        if held.pop(name, None) is not None:
            if not held:
                del self._policies[namespace]
            self._refresh_namespace(namespace, name)

    def _refresh_namespace(self, namespace: str, changed: str) -> None:
        for direction in DIRECTIONS:
            self._compiled.pop((namespace, changed, direction), None)
        pods = self._pods.in_namespace(namespace).values()
        self._refresh_subjects([pod.key for pod in pods if pod.local])

    # ---- the pods of this node

    def _refresh_subjects(self, keys: Iterable[str]) -> None:
        """Give the pods with these keys their groups. The old groups are released last, so that those which
        are still used stay as they are."""
        released: list[str] = []
        for key in keys:
            pod, old = self._pods.get(key), self._subjects.pop(key, {})
            new = self._subject(pod) if pod is not None and pod.local else {}
            if new:
                self._subjects[key] = new
            for place in old.keys() - new.keys():
                self._tables.remove(*place)
            for place, group in new.items():
                if old.get(place) != group:
                    self._tables.put(*place, group)
            released += filter(None, old.values())
        for group in released:
            self._in_use.release(group)

    def _subject(self, pod: PolicyPod) -> _Subject:
        """Return the places of an isolated pod's addresses. Each group is acquired once for each address."""
        addresses = self._pods.owned(pod)
        places: _Subject = {}
        for direction in DIRECTIONS:
            chains = self._chains_for(pod, direction)
            if chains is None:
                continue
            group = group_of(direction, (each.chain.name for each in chains))
            for address in addresses:
                self._in_use.acquire(group, chains)
                places[f"{direction}_{family_of(address)}", address] = group.name
                places[f"self_{family_of(address)}", f"{address} . {address}"] = ""
        return places

    def _chains_for(self, pod: PolicyPod, direction: str) -> list[Compiled] | None:
        """Return the chains that apply to a pod; None if no policy isolates it in this direction."""
        selecting = [
            policy
            for policy in self._policies.get(pod.namespace, {}).values()
            if policy.rules(direction) is not None and policy.pods.matches(pod.labels)
        ]
        return [self._compile(policy, direction) for policy in selecting] or None

    def _compile(self, policy: Policy, direction: str) -> Compiled:
        key = (policy.namespace, policy.name, direction)
        if key not in self._compiled:
            context = Context(facts=self._facts, dns_namespace=self._namespaces.get(DNS_NAMESPACE))
            rules = policy.rules(direction) or ()
            self._compiled[key] = compile_chain(direction, policy.namespace, rules, context)
        return self._compiled[key]
