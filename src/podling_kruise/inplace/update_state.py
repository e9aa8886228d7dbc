"""The record of an in-place update in a pod's annotations, and the pending update of a grace period. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from podling.api.core_v1 import Pod
from podling_kruise.common_types import MetadataPart, Resources
from podling_kruise.names import UPDATE_GRACE, UPDATE_STATE


class ContainerState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    image_id: str = msgspec.field(default="", name="imageID")


class ContainerBatch(Struct, frozen=True, kw_only=True):
    timestamp: str = ""
    containers: tuple[str, ...] = ()


class PreCheck(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    containers_required_ready: tuple[str, ...] = ()


class UpdateState(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The progress of an update: what was before, and what the next batches still change."""

    revision: str = ""
    update_timestamp: str = ""
    last_container_statuses: dict[str, ContainerState] = {}
    update_env_from_metadata: bool = False
    update_resources: bool = False
    update_images: bool = False
    next_container_images: dict[str, str] = {}
    next_container_ref_metadata: dict[str, MetadataPart] = {}
    next_container_resources: dict[str, Resources] = {}
    pre_check_before_next: PreCheck | None = None
    container_batches_record: tuple[ContainerBatch, ...] = ()

    @property
    def has_next_batch(self) -> bool:
        return bool(
            self.next_container_images or self.next_container_ref_metadata or self.next_container_resources
        )


class UpdateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The changes that bring a pod to another revision. ``meta_data_patch`` is a merge patch."""

    revision: str = ""
    container_images: dict[str, str] = {}
    container_ref_metadata: dict[str, MetadataPart] = {}
    container_resources: dict[str, Resources] = {}
    meta_data_patch: dict[str, Any] | None = None
    update_env_from_metadata: bool = False
    grace_seconds: int = 0

    @property
    def is_resize_only(self) -> bool:
        return (
            bool(self.container_resources) and not self.container_images and not self.update_env_from_metadata
        )


class UnreadableRecord(Exception):
    """An annotation of a pod that others have changed into something else."""


def update_state(pod: Pod) -> UpdateState | None:
    """Return the record; None for a pod that was never updated in place. Raises ``UnreadableRecord``."""
    text = pod.metadata.annotations.get(UPDATE_STATE)
    return None if text is None else _read(pod, UPDATE_STATE, text, UpdateState)


def pending_spec(pod: Pod) -> UpdateSpec | None:
    """Return the update that waits for the end of the grace period. Raises ``UnreadableRecord``."""
    text = pod.metadata.annotations.get(UPDATE_GRACE)
    if not text:
        return None
    try:
        plain = msgspec.json.decode(text)
        patch = plain.get("metaDataPatch")
        if patch is not None:
            plain["metaDataPatch"] = msgspec.json.decode(base64.b64decode(patch))
        return msgspec.convert(plain, UpdateSpec)
    except (msgspec.MsgspecError, AttributeError, ValueError) as error:
        raise UnreadableRecord(f"pod {pod.metadata.name}: {UPDATE_GRACE}: {error}") from error


def state_text(state: UpdateState) -> str:
    plain = msgspec.to_builtins(state)
    head = {"revision": state.revision, "updateTimestamp": state.update_timestamp}
    rest = {"lastContainerStatuses": plain.get("lastContainerStatuses")}
    return msgspec.json.encode({**head, **rest, **plain}).decode()


def spec_text(spec: UpdateSpec) -> str:
    """Return a pending update as its annotation has it: the patch is bytes, which Go writes in base 64."""
    plain = msgspec.to_builtins(spec)
    if spec.meta_data_patch is not None:
        plain["metaDataPatch"] = base64.b64encode(msgspec.json.encode(spec.meta_data_patch)).decode()
    return msgspec.json.encode({"revision": spec.revision, **plain}).decode()


def time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def annotated(pod: Pod, changes: Mapping[str, str | None]) -> Pod:
    """Return the pod with these annotations; None removes one."""
    kept = {key: text for key, text in pod.metadata.annotations.items() if key not in changes}
    added = {key: text for key, text in changes.items() if text is not None}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations={**kept, **added}))


def _read(pod: Pod, name: str, text: str, kind: type[UpdateState]) -> UpdateState:
    try:
        plain = {key: value for key, value in msgspec.json.decode(text).items() if value is not None}
        return msgspec.convert(plain, kind)
    except (msgspec.MsgspecError, AttributeError) as error:
        raise UnreadableRecord(f"pod {pod.metadata.name}: {name}: {error}") from error
