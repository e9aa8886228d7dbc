"""Explanations of pods whose update in place is not complete, for ``podling why``. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import ContainerStatus, Pod
from podling.extensions.explanations import Explanation, Source
from podling.machinery.conditions import find
from podling_kruise.inplace.completion import unfinished_containers
from podling_kruise.inplace.pod_plan import waits_for
from podling_kruise.inplace.update_state import (
    UnreadableRecord,
    UpdateState,
    moment_of,
    pending_spec,
    update_state,
)
from podling_kruise.names import IN_PLACE_UPDATE_READY, UPDATE_STATE

IMAGE_CHANGE_PENDING = "podling.dev/ImageChangePending"
"""The condition of a pod whose container runs on, because its new image cannot be had."""


def explain_update(pod: Pod, answer: Explanation, now: datetime) -> Explanation | None:
    """Return what the pod's update in place waits for; None if none is under way.

    Args:
        answer: what is wrong with the pod otherwise.
    """
    try:
        pending, state = pending_spec(pod), update_state(pod)
    except UnreadableRecord as error:
        text = f"The record of its update cannot be read: {error}."
        return _answer(pod, "UnreadableRecord", text, f"Remove the annotation {UPDATE_STATE}.")
    if state is None:
        return None
    if pending is not None:
        begun = moment_of(state.update_timestamp) or now
        left = begun + timedelta(seconds=pending.grace_seconds) - now
        text = f"It is not ready yet for {max(left.total_seconds(), 0):.0f} s more: the grace period of "
        text += f"{pending.grace_seconds} s, after which its containers change."
        return _answer(pod, "GracePeriod", text, "")
    waits = unfinished_containers(pod, state)
    if waits:
        return _unchanged(pod, state, waits, answer)
    if state.has_next_batch:
        names = ", ".join(
            sorted(
                {
                    *state.next_container_images,
                    *state.next_container_ref_metadata,
                    *state.next_container_resources,
                }
            )
        )
        text = f"Its next containers ({names}) change after those before them: {waits_for(pod, state)}."
        return _answer(pod, "NextBatch", text, answer.advice)
    return None


def _unchanged(pod: Pod, state: UpdateState, waits: str, answer: Explanation) -> Explanation:
    images = {each.name: each.image for each in pod.spec.containers}
    status = next((each for each in pod.status.container_statuses if _is_old(each, state)), None)
    name = status.name if status is not None else ""
    pending = find(pod.status.conditions, IMAGE_CHANGE_PENDING)
    if pending is not None:
        text = (
            f"Its new image cannot be had: {(pending.message or '').rstrip('.')}. The old container runs on."
        )
        advice = "Correct the image in the template, or change it back."
        source = Source(
            kind="condition", name=IMAGE_CHANGE_PENDING, detail=f"True ({pending.reason}: {pending.message})"
        )
        return _answer(pod, pending.reason or "", text, advice, source, container=name)
    if status is None:
        text = f"It waits: {waits}."
        if state.update_env_from_metadata:
            text = f"Not all containers have the environment of its new labels and annotations yet: {waits}."
        return _answer(pod, "InPlaceUpdate", text, answer.advice)
    own = "" if answer.healthy else f" {answer.text}"
    text = f"Its container {name} is to have image {images.get(name)}, and still has {status.image} "
    text += f"({status.image_id}).{own}"
    return _answer(pod, "InPlaceUpdate", text, answer.advice, container=name)


def _is_old(status: ContainerStatus, state: UpdateState) -> bool:
    old = state.last_container_statuses.get(status.name)
    return old is not None and old.image_id == status.image_id


def _answer(
    pod: Pod, reason: str, text: str, advice: str, *evidence: Source, container: str = ""
) -> Explanation:
    gate = find(pod.status.conditions, IN_PLACE_UPDATE_READY)
    closed: tuple[Source, ...] = ()
    if gate is not None and gate.status != "True":
        closed = (Source(kind="condition", name=gate.type or "", detail=f"{gate.status} ({gate.reason})"),)
    return Explanation(
        area="workload",
        reason=reason,
        container=container,
        text=f"Pod {pod.metadata.name} is updated in place. {text}",
        advice=advice,
        evidence=(*evidence, *closed),
    )
