"""The records of SidecarSets in the annotations of pods. Pure.

Upstream: ``pkg/control/sidecarcontrol``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Pod
from podling_kruise.inplace.update_state import ContainerState, UpdateState, time_text

SET_HASH = "kruise.io/sidecarset-hash"
SET_HASH_WITHOUT_IMAGE = "kruise.io/sidecarset-hash-without-image"
INJECTED_LIST = "kruise.io/sidecarset-injected-list"
UPDATE_STATE = "kruise.io/sidecarset-inplace-update-state"
WORKING_CONTAINERS = "kruise.io/sidecarset-working-hotupgrade-container"
SET_NAME = "kruise.io/sidecarset-name"
CUSTOM_VERSION = "apps.kruise.io/sidecarset-custom-version"
CANARY = "apps.kruise.io/sidecarset-canary"
BASE = "apps.kruise.io/sidecarset-base"

IS_INJECTED = "IS_INJECTED"
"""The environment variable of injected containers."""
VERSION, VERSION_ALT = "SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT"


class Injected(Struct, frozen=True, kw_only=True):
    """The form of a SidecarSet that a pod has."""

    update_timestamp: str | None = msgspec.field(default=None, name="updateTimestamp")
    hash: str = ""
    sidecar_set_name: str = msgspec.field(default="", name="sidecarSetName")
    sidecar_list: tuple[str, ...] | None = msgspec.field(default=None, name="sidecarList")
    controller_revision: str | msgspec.UnsetType = msgspec.field(
        default=msgspec.UNSET, name="controllerRevision"
    )

    @property
    def revision(self) -> str:
        return self.controller_revision or ""


class UnreadableRecord(Exception):
    """An annotation of a pod that others have changed into something else."""


def version_annotation(container: str) -> str:
    return f"version.sidecarset.kruise.io/{container}"


def version_alt_annotation(container: str) -> str:
    return f"versionalt.sidecarset.kruise.io/{container}"


def records(annotations: Mapping[str, str], name: str) -> dict[str, Injected]:
    """Return a record by the names of SidecarSets. Early releases wrote hashes only.

    Raises ``UnreadableRecord``.
    """
    text = annotations.get(name)
    if not text:
        return {}
    try:
        plain = msgspec.json.decode(text, type=dict[str, Injected | str])
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(
            f"invalid annotations[{name}] value {text}, unmarshal failed: {error}"
        ) from error
    return {
        each: Injected(hash=found, sidecar_set_name=each) if isinstance(found, str) else found
        for each, found in plain.items()
    }


def record_of(pod: Pod, set_name: str, name: str = SET_HASH) -> Injected:
    """Return a pod's record of one SidecarSet; an empty one where there is none to be read."""
    try:
        return records(pod.metadata.annotations, name).get(set_name) or Injected()
    except UnreadableRecord:
        return Injected()


def records_text(found: Mapping[str, Injected]) -> str:
    return msgspec.json.encode(dict(sorted(found.items()))).decode()


def new_record(
    set_name: str, digest: str, containers: Sequence[str], now: datetime, revision: str = ""
) -> Injected:
    return Injected(
        update_timestamp=time_text(now),
        hash=digest,
        sidecar_set_name=set_name,
        sidecar_list=tuple(containers),
        controller_revision=revision or msgspec.UNSET,
    )


def injected_names(pod: Pod) -> list[str]:
    """Return the names of the SidecarSets that a pod has."""
    text = pod.metadata.annotations.get(INJECTED_LIST, "")
    return text.split(",") if text else []


def working_containers(pod: Pod) -> dict[str, str]:
    """Return which of the two containers of each sidecar with hot upgrades does the work."""
    try:
        text = pod.metadata.annotations.get(WORKING_CONTAINERS, "{}")
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError:
        return {}


def update_states(pod: Pod) -> dict[str, UpdateState] | None:
    """Return the records of updates by the names of SidecarSets; None for an annotation without any."""
    text = pod.metadata.annotations.get(UPDATE_STATE)
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, UpdateState])
    except msgspec.MsgspecError:
        return None


def with_changed_containers(
    pod: Pod, set_name: str, digest: str, changed: Sequence[str], now: datetime
) -> str:
    """Return the annotation that records the image IDs which containers have before they are changed."""
    states = update_states(pod) or {}
    ids = {each.name: each.image_id for each in pod.status.container_statuses}
    held = states.get(set_name) or UpdateState(revision=digest, update_timestamp=time_text(now))
    before = dict(held.last_container_statuses)
    before.update({name: ContainerState(image_id=ids.get(name, "")) for name in changed})
    plain: dict[str, Any] = {name: msgspec.to_builtins(each) for name, each in states.items()}
    plain[set_name] = {
        **msgspec.to_builtins(held),
        "lastContainerStatuses": {name: msgspec.to_builtins(each) for name, each in before.items()},
    }
    return msgspec.json.encode(dict(sorted(plain.items()))).decode()
