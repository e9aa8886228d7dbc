"""Tests of ``matchLabelKeys``."""

from __future__ import annotations

from typing import Any

from podling.machinery.encoding import codec
from tests.support.manifests import pod


def plain(made: Any) -> Any:
    return codec.to_plain(made)


def test_match_label_keys_become_part_of_selector() -> None:
    made = pod(
        "metadata: {labels: {rev: '7'}}\n"
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,"
        " labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev, absent]}]}"
    )
    selector = made.spec.topology_spread_constraints[0].label_selector
    assert plain(selector) == {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "rev", "operator": "In", "values": ["7"]}],
    }
