"""Admission's decisions about ContainerRecreateRequests: checks, and what a request takes from its pod. Pure.

Upstream: ``pkg/webhook/containerrecreaterequest/mutating``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.core_v1 import Container, Node, Pod
from podling.controllers.pod_state import is_active
from podling.machinery.conditions import find
from podling_kruise.recreate.conversion import BETA
from podling_kruise.recreate.types import (
    ACTIVE,
    FAIL,
    IGNORE,
    NODE_NAME,
    POD_UID,
    UNREADY_ACQUIRED,
    ContainerRecreateRequest,
    PreStop,
    RecreateContainer,
    RecreateSpec,
    StatusContext,
)

MIN_DEADLINE_SECONDS = 3
SIDECAR_TERMINATED = "SidecarTerminated"
_VIRTUAL_KEY, _VIRTUAL_VALUE = "type", "virtual-kubelet"


class Refused(Exception):
    """The request cannot be admitted."""


def check_spec(spec: RecreateSpec) -> None:
    """Raise ``Refused`` for a spec that is wrong in itself."""
    strategy = spec.strategy
    if not spec.pod_name:
        raise Refused("podName can not be empty")
    if not spec.containers:
        raise Refused("containers list can not be null")
    deadline = spec.active_deadline_seconds
    if deadline is not None and deadline < MIN_DEADLINE_SECONDS:
        raise Refused(f"activeDeadlineSeconds can not be less than {MIN_DEADLINE_SECONDS}s")
    for name, value in (
        ("terminationGracePeriodSeconds", strategy.termination_grace_period_seconds),
        ("unreadyGracePeriodSeconds", strategy.unready_grace_period_seconds),
    ):
        if value is not None and value < 0:
            raise Refused(f"{name} must be non-negative integer")
    if strategy.failure_policy not in ("", FAIL, IGNORE):
        raise Refused(f"unknown failurePolicy {strategy.failure_policy}")


def check_pod(pod: Pod) -> None:
    """Raise ``Refused`` for a pod whose containers cannot be recreated."""
    if not is_active(pod) and find(pod.status.conditions, SIDECAR_TERMINATED) is None:
        raise Refused("not allowed to recreate containers in an inactive Pod")
    if not pod.spec.node_name:
        raise Refused("not allowed to recreate containers in a pending Pod")


def filled(request: ContainerRecreateRequest, pod: Pod, node: Node) -> ContainerRecreateRequest:
    """Return the request with its labels, defaults, and what its containers are now. Raises ``Refused``."""
    strategy, metadata = request.spec.strategy, request.metadata
    labels = {**metadata.labels, ACTIVE: "true"}
    labels |= {NODE_NAME: pod.spec.node_name or "", POD_UID: pod.metadata.uid or ""}
    if node.metadata.labels.get(_VIRTUAL_KEY) == _VIRTUAL_VALUE:
        labels[_VIRTUAL_KEY] = _VIRTUAL_VALUE
    grace = strategy.termination_grace_period_seconds
    if grace is None:
        grace = pod.spec.termination_grace_period_seconds
    names: set[str] = set()
    containers = []
    for each in request.spec.containers:
        if each.name in names:
            raise Refused(f"can not recreate {each.name} multi times")
        names.add(each.name)
        containers.append(_of_pod(each, pod))
    made = structs.replace(
        strategy,
        failure_policy=strategy.failure_policy or FAIL,
        termination_grace_period_seconds=grace,
    )
    spec = structs.replace(request.spec, containers=tuple(containers), strategy=made)
    return structs.replace(request, metadata=structs.replace(metadata, labels=labels), spec=spec)


def _of_pod(wanted: RecreateContainer, pod: Pod) -> RecreateContainer:
    if wanted.pre_stop is not None or wanted.ports or wanted.status_context is not None:
        raise Refused("preStop, ports, statusContext in container are ready-only fields")
    name = wanted.name
    every = (*pod.spec.init_containers, *pod.spec.containers)
    container = next((each for each in every if each.name == name), None)
    if container is None:
        raise Refused(f"container {name} not found in Pod")
    status = next((each for each in pod.status.container_statuses if each.name == name), None)
    if status is None:
        raise Refused(f"not found {name} containerStatus in Pod Status")
    if not status.container_id:
        text = f"no containerID in {name} containerStatus, maybe the container has not been initialized"
        raise Refused(text)
    hook = _hook(container)
    return RecreateContainer(
        name=name,
        pre_stop=hook,
        ports=container.ports if hook is not None and hook.http_get is not None else (),
        status_context=StatusContext(container_id=status.container_id, restart_count=status.restart_count),
    )


def _hook(container: Container) -> PreStop | None:
    handler = container.lifecycle.pre_stop if container.lifecycle is not None else None
    if handler is None:
        return None
    return PreStop(exec=handler.exec, http_get=handler.http_get, tcp_socket=handler.tcp_socket)


def immutability_problem(new: Any, old: Any) -> str:
    """Return why an update is refused; empty if it is not. The objects are plain custom ones.

    ``v1alpha1`` has the start of the grace period, which is status in ``v1beta1``, in an annotation.
    """
    if new.content.get("spec") != old.content.get("spec"):
        return "spec of ContainerRecreateRequest is immutable"
    for key in (POD_UID, NODE_NAME):
        if new.metadata.labels.get(key) != old.metadata.labels.get(key):
            return f"not allowed to update immutable label {key}"
    since = old.metadata.annotations.get(UNREADY_ACQUIRED, "") if old.api_version != BETA else ""
    if since and new.metadata.annotations.get(UNREADY_ACQUIRED) != since:
        return f"not allowed to update immutable annotation {UNREADY_ACQUIRED}"
    return ""
