"""Pods and settings for the tests of the autoscaler's calculations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from podling.api.core_v1 import Container, Pod, PodCondition, PodSpec, PodStatus, ResourceRequirements
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.autoscaling.pod_groups import PodMetric
from podling.controllers.autoscaling.replica_calculator import Scaled, Tolerances
from podling.controllers.autoscaling.settings import AutoscalerSettings
from podling.sim.loop import EPOCH

NOW = EPOCH
SETTINGS = AutoscalerSettings(cpu_initialization_period=120, initial_readiness_delay=10)
"""Those of upstream's tests."""
COOL = timedelta(minutes=3)
WINDOW = timedelta(minutes=1)


def pod(
    name: str,
    request: str = "1",
    *,
    ready: bool = True,
    age: timedelta = COOL,
    phase: str = "Running",
    deleted: bool = False,
) -> Pod:
    """Return a pod of one container that has been as it is since its start."""
    started = NOW - age
    resources = ResourceRequirements(requests={"cpu": request} if request else {})
    condition = PodCondition(type="Ready", status="True" if ready else "False", last_transition_time=started)
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace="test", labels={"app": "x"}, deletion_timestamp=NOW if deleted else None
        ),
        spec=PodSpec(containers=(Container(name="main", resources=resources),)),
        status=PodStatus(phase=phase, start_time=started, conditions=(condition,)),
    )


def scaled(pods: Sequence[Pod], replicas: int, tolerance: float = 0.1, now: datetime = NOW) -> Scaled:
    return Scaled(
        namespace="test",
        pods=pods,
        replicas=replicas,
        seen=replicas,
        tolerances=Tolerances(tolerance, tolerance),
        settings=SETTINGS,
        now=now,
    )


def levels(values: Sequence[int], at: datetime = NOW) -> dict[str, PodMetric]:
    """Return the metrics of the first pods."""
    return {f"p{place}": PodMetric(value, at, WINDOW) for place, value in enumerate(values)}
