"""Settings of controllers that cannot hold."""

from __future__ import annotations

import pytest

from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions, option_problems


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ControllerOptions(node_monitor_period=0), ["--node-monitor-period must be greater than 0"]),
        (ControllerOptions(node_eviction_rate=-1), ["--node-eviction-rate must not be negative"]),
        (
            ControllerOptions(unhealthy_zone_threshold=-0.1),
            ["--unhealthy-zone-threshold must be between 0 and 1"],
        ),
        (ControllerOptions(node_eviction_rate=0, terminated_pod_gc_threshold=-1), []),
        (DEFAULT_OPTIONS, []),
    ],
)
def test_problem_names_the_option(options: ControllerOptions, words: list[str]) -> None:
    assert list(option_problems(options)) == words
