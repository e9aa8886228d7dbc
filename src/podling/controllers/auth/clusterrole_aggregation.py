"""Aggregation of cluster roles: the rules of those with an ``aggregationRule``.

Their rules are the rules of all cluster roles that a selector names, in the order of names, each once.
Rules that other clients write into them are replaced. Upstream: ``pkg/controller/clusterroleaggregation``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import structs

from podling.api.rbac_v1 import ClusterRole, PolicyRule
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling.machinery.selectors import SelectorError, from_label_selector


def aggregated(role: ClusterRole, everyone: Iterable[ClusterRole]) -> tuple[PolicyRule, ...]:
    """Return the rules that the role should have; ``everyone`` in the order of names."""
    selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule is not None else ()
    rules: list[PolicyRule] = []
    for each in selectors:
        try:
            selector = from_label_selector(each)
        except SelectorError:
            continue
        for other in everyone:
            if other.metadata.name != role.metadata.name and selector.matches(other.metadata.labels):
                rules += [rule for rule in other.rules if rule not in rules]
    return tuple(rules)


class ClusterRoleAggregationController(Controller):
    name: ClassVar[str] = "clusterrole-aggregation-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._roles = context.informers.informer(ClusterRole)
        self._roles.add_handler(self._wake, lambda old, new: self._wake(new), self._wake)

    def _wake(self, role: ClusterRole) -> None:
        """A role may be part of any sum, also of one that is a part itself."""
        for each in self._roles.values():
            if each.aggregation_rule is not None:
                self.enqueue(each)

    async def reconcile(self, key: Key) -> AwaitChange:
        role = self._roles.get(key)
        if role is None or role.aggregation_rule is None or role.metadata.deletion_timestamp is not None:
            return AwaitChange()
        rules = aggregated(role, self._roles.values())
        if rules != role.rules:
            with unless_gone():
                await self.client.update(structs.replace(role, rules=rules))
        return AwaitChange()
