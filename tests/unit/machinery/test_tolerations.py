"""Taints that a toleration tolerates."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Taint, Toleration
from podling.machinery.tolerations import tolerates

SLOW = Taint(key="slow", value="disk", effect="NoExecute")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key="slow", operator="Equal", value="disk", effect="NoExecute"), True),
        (Toleration(key="slow", value="disk"), True),
        (Toleration(key="slow", value="net"), False),
        (Toleration(key="slow", operator="Exists"), True),
        (Toleration(key="fast", operator="Exists"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(key="slow", operator="Exists", effect="NoSchedule"), False),
        (Toleration(), False),
    ],
)
def test_toleration_matches_key_value_and_effect(toleration: Toleration, tolerated: bool) -> None:
    assert tolerates(toleration, SLOW) is tolerated
