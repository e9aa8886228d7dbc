"""Options of ``podling up`` for controllers, under the names of kube-controller-manager's flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from msgspec import structs

from podling.cli.common_options import Failure
from podling.cli.options.param_type import ParamType
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions, option_problems
from podling.machinery.durations import go_duration, seconds_of

HELP = {
    "node_monitor_period": "The interval between two examinations of the nodes' health.",
    "node_monitor_grace_period": "The time without a sign of life after which a node is not healthy.",
    "node_startup_grace_period": "The same for a node that has not shown any yet.",
    "node_eviction_rate": "Nodes a second whose pods are evicted while a zone is healthy.",
    "secondary_node_eviction_rate": "Nodes a second in a large zone that is not healthy.",
    "large_cluster_size_threshold": "The number of nodes above which a zone is large.",
    "unhealthy_zone_threshold": "The share of nodes that are not Ready from which a zone is not healthy.",
    "terminated_pod_gc_threshold": "The number of ended pods that are kept; 0 keeps all.",
    "legacy_service_account_token_clean_up_period": "The time without use after which a generated token in a "
    "Secret is made invalid, and then deleted.",
    "horizontal_pod_autoscaler_sync_period": "The interval between two looks at an autoscaler.",
    "horizontal_pod_autoscaler_downscale_stabilization": "The window in which the highest recommendation "
    "counts before an autoscaler scales down.",
    "horizontal_pod_autoscaler_tolerance": "The part by which a metric may miss its target without effect.",
    "horizontal_pod_autoscaler_cpu_initialization_period": "The time after a pod's start in which its CPU "
    "samples may be left out.",
    "horizontal_pod_autoscaler_initial_readiness_delay": "The time after a pod's start in which changes of "
    "readiness count as its first.",
}


DURATIONS = ("period", "stabilization", "delay")
"""The ends of the names of options that are durations."""


class _Duration(ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return seconds_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def controller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for name, text in HELP.items():
        default = getattr(DEFAULT_OPTIONS, name)
        is_duration = name.endswith(DURATIONS)
        shown = go_duration(default) if is_duration else default
        command = click.option(
            f"--{name.replace('_', '-')}",
            type=_Duration() if is_duration else type(default),
            metavar="DURATION" if is_duration else "NUMBER",
            help=f"{text}  [default: the last value, or {shown}]",
        )(command)
    return command


def chosen_controller_options(chosen: Mapping[str, Any], last: ControllerOptions) -> ControllerOptions:
    """Return this run's options: those given, else the last run's. Raises ``Failure`` for invalid ones."""
    options = structs.replace(last, **{name: chosen[name] for name in HELP if chosen[name] is not None})
    problem = next(option_problems(options), "")
    if problem:
        raise Failure(problem)
    return options
