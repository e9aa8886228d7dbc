"""Settings of the autoscaler, with the defaults of kube-controller-manager's flags of the same names."""

from __future__ import annotations

from msgspec import Struct

from podling.controllers.options import ControllerOptions


class AutoscalerSettings(Struct, frozen=True, kw_only=True):
    """``--horizontal-pod-autoscaler-...`` of kube-controller-manager; times are seconds."""

    sync_period: float = 15.0
    """The time between two looks at an autoscaler."""
    downscale_stabilization: float = 300.0
    """The window of scaling down for autoscalers that do not say."""
    tolerance: float = 0.1
    """The part by which a metric may miss its target without effect, for autoscalers that do not say."""
    cpu_initialization_period: float = 300.0
    """The time after a pod's start in which CPU samples count only while it is ready."""
    initial_readiness_delay: float = 30.0
    """The time after a pod's start in which becoming unready means that it has never been ready."""


DEFAULT_SETTINGS = AutoscalerSettings()


def autoscaler_settings(options: ControllerOptions) -> AutoscalerSettings:
    """Return the autoscaler's part of the options of controllers."""
    return AutoscalerSettings(
        sync_period=options.horizontal_pod_autoscaler_sync_period,
        downscale_stabilization=options.horizontal_pod_autoscaler_downscale_stabilization,
        tolerance=options.horizontal_pod_autoscaler_tolerance,
        cpu_initialization_period=options.horizontal_pod_autoscaler_cpu_initialization_period,
        initial_readiness_delay=options.horizontal_pod_autoscaler_initial_readiness_delay,
    )
