"""Lifecycle states and hooks of pods. Pure.

Upstream: ``refreshPodState`` of workloads; ``lifecycle``, ``podreadiness`` and ``revision`` in ``pkg/util``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.machinery.conditions import is_true
from podling_kruise.common_types import Lifecycle, LifecycleHook
from podling_kruise.inplace.completion import DONE, has_condition
from podling_kruise.inplace.pod_plan import has_readiness_gate
from podling_kruise.inplace.update_state import time_text
from podling_kruise.names import (
    LIFECYCLE_STATE,
    LIFECYCLE_TIMESTAMP,
    PREPARING_UPDATE_AS_UPDATE,
    REVISION_HASH,
    SHORT_HASH,
    TEMPLATE_HASH,
    UPDATE_GRACE,
)
from podling_kruise.pod_readiness import with_entry, without_entry

PREPARING_NORMAL, NORMAL = "PreparingNormal", "Normal"
PREPARING_UPDATE, UPDATING, UPDATED = "PreparingUpdate", "Updating", "Updated"
PREPARING_DELETE = "PreparingDelete"

_WRITER = "Lifecycle"
_CLOSES = {PREPARING_DELETE: "preDeleteHook", PREPARING_UPDATE: "preUpdateHook"}
"""States in which a hook may make a pod not ready, and the keys of that in the gate's message."""


def state_of(pod: Pod) -> str:
    return pod.metadata.labels.get(LIFECYCLE_STATE, "")


def is_hooked(hook: LifecycleHook | None, pod: Pod) -> bool:
    """Return whether a label or finalizer of the hook holds the pod back."""
    if hook is None:
        return False
    labels, finalizers = pod.metadata.labels, pod.metadata.finalizers
    return any(name in finalizers for name in hook.finalizers_handler) or any(
        labels.get(key) == value for key, value in hook.labels_handler.items()
    )


def has_whole_hook(hook: LifecycleHook | None, pod: Pod) -> bool:
    """Return whether the pod has all labels and finalizers of the hook."""
    if hook is None:
        return False
    labels, finalizers = pod.metadata.labels, pod.metadata.finalizers
    return all(name in finalizers for name in hook.finalizers_handler) and all(
        labels.get(key) == value for key, value in hook.labels_handler.items()
    )


def marks_not_ready(lifecycle: Lifecycle | None) -> bool:
    hooks = (lifecycle.pre_delete, lifecycle.in_place_update) if lifecycle is not None else ()
    return any(hook is not None and hook.mark_pod_not_ready for hook in hooks)


def with_state(pod: Pod, state: str, now: datetime) -> Pod:
    """Return the pod in another state."""
    metadata = structs.replace(
        pod.metadata,
        labels={**pod.metadata.labels, LIFECYCLE_STATE: state},
        annotations={**pod.metadata.annotations, LIFECYCLE_TIMESTAMP: time_text(now)},
    )
    return structs.replace(pod, metadata=metadata)


def state_patch(state: str, now: datetime, hook: LifecycleHook | None = None) -> dict[str, Any]:
    """Return the merge patch that brings a pod into a state, with the labels of ``hook``."""
    labels = {LIFECYCLE_STATE: state, **(hook.labels_handler if hook is not None else {})}
    return {"metadata": {"labels": labels, "annotations": {LIFECYCLE_TIMESTAMP: time_text(now)}}}


def refreshed_state(pod: Pod, lifecycle: Lifecycle | None, of_update: bool, *, is_done: bool) -> str:
    """Return the state that follows the pod's own; empty if it stays.

    Args:
        of_update: the pod is of the update revision.
        is_done: its update in place is complete.
    """
    hook = lifecycle.in_place_update if lifecycle is not None else None
    after = UPDATED if lifecycle is not None and not has_whole_hook(hook, pod) else NORMAL
    match state_of(pod):
        case "PreparingNormal":
            before = lifecycle.pre_normal if lifecycle is not None else None
            scheduled = is_true(pod.status.conditions, "PodScheduled")
            return NORMAL if (scheduled if before is None else has_whole_hook(before, pod)) else ""
        case "PreparingUpdate" if of_update:
            return after
        case "Updating" if is_done:
            return after
        case "Updated" if hook is None or has_whole_hook(hook, pod):
            return NORMAL
    return ""


def is_quiet(pod: Pod) -> bool:
    """Return whether the pod is in no state, and at no step of an update, that can be brought forward."""
    return (
        state_of(pod) in ("", NORMAL)
        and UPDATE_GRACE not in pod.metadata.annotations
        and (not has_readiness_gate(pod) or has_condition(pod, DONE))
    )


# Revisions


def short_hash(name: str) -> str:
    """Return the hash at the end of a revision's name."""
    return name.rpartition("-")[2]


def is_of_revision(pod: Pod, revision: str) -> bool:
    own = pod.metadata.labels.get(REVISION_HASH, "")
    return own == revision or short_hash(own) == short_hash(revision)


def counts_as_updated(pod: Pod, revision: str, gates: Mapping[str, bool]) -> bool:
    """Return whether scaling takes the pod for one of the revision."""
    if gates[PREPARING_UPDATE_AS_UPDATE] and state_of(pod) == PREPARING_UPDATE:
        return True
    return is_of_revision(pod, revision)


def with_revision(pod: Pod, revision: str, gates: Mapping[str, bool]) -> Pod:
    """Return the pod with the labels of a revision."""
    short = short_hash(revision)
    own = {REVISION_HASH: short if gates[SHORT_HASH] else revision, TEMPLATE_HASH: short}
    metadata = structs.replace(pod.metadata, labels={**pod.metadata.labels, **own})
    return structs.replace(pod, metadata=metadata)


# The readiness gate with several writers


def with_readiness_of(pod: Pod, state: str, now: datetime) -> Pod:
    """Return the pod with the gate ``KruisePodReady`` that a state implies, for hooks that close it."""
    if state in _CLOSES:
        return with_entry(pod, (_WRITER, _CLOSES[state]), now)
    if state == UPDATED:
        return without_entry(pod, (_WRITER, _CLOSES[PREPARING_UPDATE]), now)
    return pod
