"""DaemonSets for tests of their controller and rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from podling.api.apps_v1 import (
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from podling.api.core_v1 import (
    Container,
    Node,
    NodeSpec,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    Taint,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads.daemonset_rules import pod_for

NOW = datetime(2026, 1, 2, tzinfo=UTC)


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


def node(name: str, taint: str = "", **labels: str) -> Node:
    """Return a node; ``taint`` is the effect of its taint, if it has one."""
    taints = (Taint(key="dedicated", effect=taint),) if taint else ()
    return Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(taints=taints))


PHASES = {"failed": "Failed", "done": "Succeeded"}


def daemon_pod(node: str, state: str, suffix: str = "") -> Pod:
    """Return a pod by a word: the hash of its revision, ``failed`` or ``done``.

    After it, ``+`` is ready, ``~`` only now, ``!`` is being deleted, ``@`` is not bound to the node yet.
    """
    word = state.rstrip("+~!@")
    made = pod_for(daemon_set(), node, word)
    metadata = structs.replace(
        made.metadata,
        name=f"{node}-{word}{suffix}",
        creation_timestamp=NOW,
        deletion_timestamp=NOW if "!" in state else None,
    )
    since = NOW if "~" in state else NOW - timedelta(hours=1)
    ready = PodCondition(
        type="Ready", status="True" if "+" in state or "~" in state else "False", last_transition_time=since
    )
    spec = structs.replace(made.spec, node_name="" if "@" in state else node)
    status = PodStatus(phase=PHASES.get(word, "Running"), conditions=(ready,))
    return structs.replace(made, metadata=metadata, spec=spec, status=status)
