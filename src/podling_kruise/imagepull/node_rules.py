"""Decisions about NodeImages: what is left of their images, and what is said of nodes that are silent. Pure.

Upstream: ``pkg/controller/nodeimage``, ``pkg/webhook/nodeimage``, ``pkg/daemon/imagepuller``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.api.core_v1 import Node, ObjectReference
from podling.clock import seconds_precision
from podling.machinery.conditions import find
from podling_kruise.imagepull.job_rules import tag_status
from podling_kruise.imagepull.references import full_reference
from podling_kruise.imagepull.types import (
    FAILED,
    PULLING,
    SUCCEEDED,
    WAITING,
    ImageStatus,
    NodeImage,
    NodeImageSpec,
    NodeImageStatus,
    TagSpec,
    TagStatus,
)

CREATION_DELAY_SECONDS = 30
"""The time between a node's readiness and its NodeImage."""
RESPONSE_SECONDS = 600
NO_RESPONSE = "node has not responded for a long time"
DEADLINE = "pulling exceeds the activeDeadlineSeconds"
IMAGES_MAX = 256


def seconds_to_creation(node: Node, now: datetime) -> float | None:
    """Return the time until the node gets its NodeImage; None while it is not ready."""
    ready = find(node.status.conditions, "Ready")
    if ready is None or ready.status != "True" or ready.last_transition_time is None:
        return None
    return max(_left(ready.last_transition_time, CREATION_DELAY_SECONDS, now), 0.0)


def problem_of(image: NodeImage) -> str:
    """Return what is wrong with a spec; empty if nothing is."""
    images = image.spec.images
    if len(images) > IMAGES_MAX:
        return f"spec images length {len(images)} can not be more than {IMAGES_MAX}"
    for name, spec in images.items():
        if not name:
            return "image name can not be empty"
        tags: set[str] = set()
        for each in spec.tags:
            if not each.tag:
                return f"tag for image {name} can not be empty"
            if each.tag in tags:
                return f"duplicated tag {each.tag} for image {name}"
            tags.add(each.tag)
            if each.version < 0:
                return f"version for {name}/{each.tag} can not be less than 0"
            if each.pull_policy is None or each.pull_policy.ttl_seconds_after_finished is None:
                return f"pullPolicy.ttlSecondsAfterFinished for {name}/{each.tag} must set"
    return ""


def remaining_spec(
    image: NodeImage, has_job: Callable[[ObjectReference], bool], now: datetime
) -> tuple[NodeImageSpec, float | None]:
    """Return the spec without tags that no job wants, or whose time is over; and the time to the next end."""
    made, waits = {}, list[float]()
    for name, spec in image.spec.images.items():
        tags = []
        for each in spec.tags:
            owners = tuple(owner for owner in each.owner_references if has_job(owner))
            left = _seconds_to_end(image, name, each, now)
            if (each.owner_references and not owners) or (left is not None and left <= 0):
                continue
            if left is not None:
                waits.append(left)
            tags.append(structs.replace(each, owner_references=owners))
        if tags:
            made[name] = structs.replace(spec, tags=tuple(tags))
    return structs.replace(image.spec, images=made), min(waits, default=None)


def _seconds_to_end(image: NodeImage, name: str, spec: TagSpec, now: datetime) -> float | None:
    status = tag_status(image, name, spec.tag)
    ttl = spec.pull_policy.ttl_seconds_after_finished if spec.pull_policy is not None else None
    if ttl is None or status is None or status.version != spec.version or status.completion_time is None:
        return None
    return _left(status.completion_time, ttl, now)


class Silence(Struct, frozen=True):
    """A tag that the node has not seen to in time. ``reference`` is the whole name of the image."""

    name: str
    reference: str
    owners: tuple[ObjectReference, ...]
    status: TagStatus


def silences(image: NodeImage, now: datetime) -> tuple[list[Silence], float | None]:
    """Return the tags that fail now, as the node is silent; and the time until the next one would."""
    found, waits = list[Silence](), list[float]()
    for name, spec in image.spec.images.items():
        for each in spec.tags:
            status = tag_status(image, name, each.tag)
            left, message = _seconds_to_failure(each, status, now)
            if left is None:
                continue
            if left > 0:
                waits.append(left)
                continue
            failed = TagStatus(
                tag=each.tag,
                phase=FAILED,
                completion_time=seconds_precision(now),
                version=each.version,
                message=message,
            )
            found.append(Silence(name, full_reference(name, each.tag), each.owner_references, failed))
    return found, min(waits, default=None)


def _seconds_to_failure(spec: TagSpec, status: TagStatus | None, now: datetime) -> tuple[float | None, str]:
    if spec.created_at is None:
        return None, ""
    if status is None or status.version != spec.version:
        return _left(spec.created_at, RESPONSE_SECONDS, now), NO_RESPONSE
    deadline = spec.pull_policy.active_deadline_seconds if spec.pull_policy is not None else None
    if status.completion_time is not None or deadline is None:
        return None, ""
    return _left(spec.created_at, deadline + RESPONSE_SECONDS, now), DEADLINE


def with_tag_status(image: NodeImage, name: str, new: TagStatus) -> NodeImage:
    """Return the NodeImage with the status of one tag; statuses of tags that are not wanted go."""
    wanted = {key: {each.tag for each in spec.tags} for key, spec in image.spec.images.items()}
    held = {**image.status.image_statuses}
    others = [each for each in held.get(name, ImageStatus()).tags if each.tag != new.tag]
    held[name] = ImageStatus(tags=tuple(sorted([*others, new], key=lambda each: each.tag)))
    statuses = {
        key: ImageStatus(tags=kept)
        for key, status in held.items()
        if (kept := tuple(each for each in status.tags if each.tag in wanted.get(key, ())))
    }
    return structs.replace(image, status=counted(image, statuses))


def counted(image: NodeImage, statuses: dict[str, ImageStatus]) -> NodeImageStatus:
    """Return the status with the numbers of tags in each phase."""
    counts = Counter(each.phase for status in statuses.values() for each in status.tags)
    return structs.replace(
        image.status,
        image_statuses=statuses,
        desired=sum(len(spec.tags) for spec in image.spec.images.values()),
        succeeded=counts[SUCCEEDED],
        failed=counts[FAILED],
        pulling=counts[PULLING],
        waiting=counts[WAITING],
    )


def work_left(image: NodeImage, name: str, tag: str) -> TagSpec | None:
    """Return the tag if the node has still to pull it."""
    spec = image.spec.images.get(name)
    found = next((each for each in spec.tags if each.tag == tag), None) if spec is not None else None
    status = tag_status(image, name, tag)
    if found is None or image.metadata.deletion_timestamp is not None:
        return None
    is_done = status is not None and status.version == found.version and status.completion_time is not None
    return None if is_done else found


def _left(since: datetime, seconds: int, now: datetime) -> float:
    return (since + timedelta(seconds=seconds) - now) / timedelta(seconds=1)
