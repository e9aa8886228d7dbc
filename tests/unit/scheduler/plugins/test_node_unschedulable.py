"""The NodeUnschedulable plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.plugins import node_unschedulable
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    facts,
    node,
    toleration,
    unresolvable,
)

CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "taken"),
    [
        ((), ["open"]),
        ((toleration(CORDON),), ["open", "cordoned"]),
        ((toleration(CORDON, effect="NoSchedule"),), ["open", "cordoned"]),
        ((toleration(CORDON, effect="NoExecute"),), ["open"]),
        ((toleration(),), ["open", "cordoned"]),
    ],
)
def test_cordoned_nodes_need_toleration(tolerations: tuple[Any, ...], taken: list[str]) -> None:
    cache = cache_of(node("open"), node("cordoned", unschedulable=True))
    one = facts(tolerations=tolerations)
    plugin = node_unschedulable.NodeUnschedulable()
    assert accepted(plugin, one, cache) == taken
    assert unresolvable(plugin, one, cache) == [name for name in ["cordoned"] if name not in taken]
