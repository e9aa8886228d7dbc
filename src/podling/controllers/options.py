"""Settings of controllers under the names of kube-controller-manager's flags. Pure.

Defaults are Kubernetes'. Durations are seconds, rates are nodes a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class ControllerOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of the controllers that have any."""

    node_monitor_period: float = 5.0
    node_monitor_grace_period: float = 50.0
    node_startup_grace_period: float = 60.0
    node_eviction_rate: float = 0.1
    secondary_node_eviction_rate: float = 0.01
    large_cluster_size_threshold: int = 50
    unhealthy_zone_threshold: float = 0.55
    terminated_pod_gc_threshold: int = 12500
    """The number of ended pods that are kept; 0 or less: all of them."""
    legacy_service_account_token_clean_up_period: float = 365 * 24 * 3600.0
    """The time without use after which a generated token in a Secret is made invalid, and then deleted."""
    horizontal_pod_autoscaler_sync_period: float = 15.0
    horizontal_pod_autoscaler_downscale_stabilization: float = 300.0
    horizontal_pod_autoscaler_tolerance: float = 0.1
    horizontal_pod_autoscaler_cpu_initialization_period: float = 300.0
    horizontal_pod_autoscaler_initial_readiness_delay: float = 30.0


DEFAULT_OPTIONS = ControllerOptions()
POSITIVE = (
    "node_monitor_period",
    "node_monitor_grace_period",
    "node_startup_grace_period",
    "legacy_service_account_token_clean_up_period",
    "horizontal_pod_autoscaler_sync_period",
)
NOT_NEGATIVE = (
    "node_eviction_rate",
    "secondary_node_eviction_rate",
    "large_cluster_size_threshold",
    "horizontal_pod_autoscaler_downscale_stabilization",
    "horizontal_pod_autoscaler_tolerance",
    "horizontal_pod_autoscaler_cpu_initialization_period",
    "horizontal_pod_autoscaler_initial_readiness_delay",
)


def option_problems(options: ControllerOptions) -> Iterator[str]:
    """Return why settings cannot hold."""
    for name in POSITIVE:
        if getattr(options, name) <= 0:
            yield f"--{name.replace('_', '-')} must be greater than 0"
    for name in NOT_NEGATIVE:
        if getattr(options, name) < 0:
            yield f"--{name.replace('_', '-')} must not be negative"
    if not 0 <= options.unhealthy_zone_threshold <= 1:
        yield "--unhealthy-zone-threshold must be between 0 and 1"
