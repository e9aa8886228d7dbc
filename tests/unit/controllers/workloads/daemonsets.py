"""DaemonSets for tests of their controller and rules."""

from __future__ import annotations

from typing import Any

from podling.api.apps_v1 import (
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from podling.api.core_v1 import (
    Container,
    PodSpec,
    PodTemplateSpec,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta


def daemon_set(
    image: str = "agent:1", strategy: DaemonSetUpdateStrategy | None = None, **pod: Any
) -> DaemonSet:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "agent"}),
        spec=PodSpec(containers=(Container(name="main", image="agent:1"),), restart_policy="Always", **pod),
    )
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace="default"),
        spec=DaemonSetSpec(
            selector=LabelSelector(match_labels={"app": "agent"}),
            template=template,
            update_strategy=strategy or rolling(max_unavailable=1),
        ),
    )


def rolling(**update: Any) -> DaemonSetUpdateStrategy:
    return DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdateDaemonSet(**update))
