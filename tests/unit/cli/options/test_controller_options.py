"""Options for the node controllers: those given, else the last run's."""

from __future__ import annotations

import pytest

from podling.cli.common_options import Failure
from podling.cli.options.controller_options import HELP, chosen_controller_options
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions

NONE = dict.fromkeys(HELP)


def test_every_setting_has_an_option() -> None:
    assert set(HELP) == set(ControllerOptions.__struct_fields__)


def test_given_option_replaces_the_last_one() -> None:
    last = ControllerOptions(node_monitor_period=1.0, terminated_pod_gc_threshold=5)
    assert chosen_controller_options(NONE, last) == last
    chosen = chosen_controller_options({**NONE, "node_monitor_period": 2.0, "node_eviction_rate": 0.0}, last)
    expected = ControllerOptions(
        node_monitor_period=2.0, terminated_pod_gc_threshold=5, node_eviction_rate=0.0
    )
    assert chosen == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("node_monitor_grace_period", 0.0),
        ("node_startup_grace_period", -1.0),
        ("secondary_node_eviction_rate", -0.1),
        ("large_cluster_size_threshold", -1),
        ("unhealthy_zone_threshold", 1.5),
        ("horizontal_pod_autoscaler_sync_period", 0.0),
        ("horizontal_pod_autoscaler_tolerance", -0.1),
    ],
)
def test_impossible_value_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(Failure, match=f"--{name.replace('_', '-')} must"):
        chosen_controller_options({**NONE, name: value}, DEFAULT_OPTIONS)
