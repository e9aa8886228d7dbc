"""The record of a pod's running containers, which the node writes into an annotation. Pure.

It has a hash of the variables that a container took from labels and annotations. The update of such a pod is
complete when all hashes are those of the pod's metadata.
Upstream: ``pkg/util/containermeta``, ``pkg/daemon/containermeta``, ``checkAllContainersHashConsistent``.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.kubelet.node_controllers import NodeContainer
from podling.machinery.conditions import find
from podling_kruise.inplace.revision_diff import metadata_reference
from podling_kruise.names import IN_PLACE_UPDATE_READY, RUNTIME_CONTAINERS_META


class RuntimeHashes(Struct, frozen=True, kw_only=True, rename="camel"):
    plain_hash: int = 0
    extracted_env_from_metadata_hash: int = 0


class RuntimeContainer(Struct, frozen=True, kw_only=True, rename="camel"):
    """One container as it runs."""

    name: str = ""
    container_id: str = msgspec.field(default="", name="containerID")
    restart_count: int = 0
    hashes: RuntimeHashes = RuntimeHashes()


class _RuntimeContainers(Struct, frozen=True):
    containers: tuple[RuntimeContainer, ...] = ()


def runtime_records(pod: Pod) -> Sequence[RuntimeContainer] | None:
    """Return the records in the pod's annotation; None without one, or with one that is no record."""
    text = pod.metadata.annotations.get(RUNTIME_CONTAINERS_META)
    try:
        return msgspec.json.decode(text, type=_RuntimeContainers).containers if text is not None else None
    except msgspec.MsgspecError:
        return None


def records_text(records: Sequence[RuntimeContainer]) -> str:
    return msgspec.json.encode(_RuntimeContainers(containers=tuple(records))).decode()


def wanted_environment(pod: Pod, container: Container) -> dict[str, str]:
    """Return the variables that the container gets from the pod's metadata as it is now."""
    found = {}
    for variable in container.env:
        reference = metadata_reference(variable)
        if reference is not None:
            path, key = reference
            held = pod.metadata.labels if path == "metadata.labels" else pod.metadata.annotations
            found[variable.name] = held.get(key, "")
    return found


def reads_metadata(pod: Pod) -> bool:
    """Return whether a container of the pod has variables from its metadata."""
    return any(metadata_reference(each) for container in pod.spec.containers for each in container.env)


def environment_hash(variables: Mapping[str, str]) -> int:
    """Return a hash that is never 0: that is the hash of an environment which is not known."""
    return zlib.crc32(msgspec.json.encode(sorted(variables.items()))) or 1


def has_own_environment(pod: Pod, records: Sequence[RuntimeContainer]) -> bool:
    """Return whether all containers of the status are recorded with the variables that they should have."""
    by_name = {each.name: each for each in records}
    statuses = {each.name: each for each in pod.status.container_statuses}
    for container in pod.spec.containers:
        status, record = statuses.get(container.name), by_name.get(container.name)
        if status is None or record is None or record.container_id != status.container_id:
            return False
        wanted = environment_hash(wanted_environment(pod, container))
        if record.hashes.extracted_env_from_metadata_hash != wanted:
            return False
    return True


def records_of(pod: Pod, found: Sequence[NodeContainer]) -> list[RuntimeContainer]:
    """Return the records of the containers that the pod's status has, as the node has them."""
    by_name, specs = {each.name: each for each in found}, {each.name: each for each in pod.spec.containers}
    made = []
    for status in pod.status.container_statuses:
        own, spec = by_name.get(status.name), specs.get(status.name)
        if own is not None and spec is not None:
            taken = {name: own.metadata_environment.get(name, "") for name in wanted_environment(pod, spec)}
            hashes = RuntimeHashes(
                plain_hash=own.definition_hash,
                extracted_env_from_metadata_hash=environment_hash(taken),
            )
            record = RuntimeContainer(
                name=own.name, container_id=own.id, restart_count=own.restart_count, hashes=hashes
            )
            made.append(record)
    return made


def stale_containers(pod: Pod, found: Sequence[NodeContainer]) -> list[NodeContainer]:
    """Return the running containers that must be started again, while the readiness gate is closed.

    One whose image has changed is left to the kubelet, which stops it when it has the new image.
    """
    gate = find(pod.status.conditions, IN_PLACE_UPDATE_READY)
    if gate is None or gate.status != "False":
        return []
    specs = {each.name: each for each in pod.spec.containers}
    return [
        each
        for each in found
        if each.is_running
        and (spec := specs.get(each.name)) is not None
        and each.image == (spec.image or "")
        and any(
            each.metadata_environment.get(name) != value
            for name, value in wanted_environment(pod, spec).items()
        )
    ]
