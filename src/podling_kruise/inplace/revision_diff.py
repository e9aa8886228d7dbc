"""The difference of two revisions: whether a pod can go from one to the other in place, and by what. Pure.

Upstream: ``defaultCalculateInPlaceUpdateSpec``, ``inplace_update_vertical.go``, and the operations of
``appscode/jsonpatch``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Container, EnvVar, PodSpec, PodTemplateSpec
from podling.machinery import quantity
from podling.machinery.encoding import codec, plain
from podling.machinery.pods import qos_class
from podling_kruise.common_types import MetadataPart, Resources, plain_template
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.names import ENV_FROM_METADATA, IN_PLACE_VERTICAL_SCALING

IMAGE = re.compile(r"/spec/containers/(\d+)/image")
RESOURCES = re.compile(r"/spec/containers/(\d+)/resources/(.*)")
RESIZABLE = ("cpu", "memory")
SIDECAR_VERSIONS = ("SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT")
DELETED_FINALIZERS = "$deleteFromPrimitiveList/finalizers"
_REFERENCE = re.compile(r"(metadata\.(?:labels|annotations))\['(.*)'\]")


class Operation(Struct, frozen=True):
    """One operation of a JSON patch."""

    name: str
    path: str
    value: Any = None


def operations(old: Any, new: Any, path: str = "") -> Iterator[Operation]:
    """Yield the operations that turn ``old`` plain data into ``new``, keys in order.

    Lists of equal length are compared item by item; of others, items that only one has are removed and added.
    """
    if plain.equal(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_maps(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, path)
    else:
        yield Operation("replace", path, new)


def _of_maps(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Operation]:
    for key in sorted({*old, *new}):
        where = f"{path}/{_escaped(key)}"
        if key not in new:
            yield Operation("remove", where)
        elif key not in old:
            yield Operation("add", where, new[key])
        else:
            yield from operations(old[key], new[key], where)


def _of_lists(old: list[Any], new: list[Any], path: str) -> Iterator[Operation]:
    if len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from operations(before, after, f"{path}/{number}")
        return
    for number in _only_in(old, new):
        yield Operation("remove", f"{path}/{number}")
    for number in _only_in(new, old):
        yield Operation("add", f"{path}/{number}", new[number])


def _only_in(items: list[Any], others: list[Any]) -> list[int]:
    """Return the positions of items without an equal among ``others``; each of those counts once."""
    left, found = list(others), []
    for number, item in enumerate(items):
        match = next((at for at, other in enumerate(left) if plain.equal(item, other)), None)
        if match is None:
            found.append(number)
        else:
            del left[match]
    return found


def update_spec(
    old: Any, new: Any, revision: str, gates: Mapping[str, bool], grace_seconds: int = 0
) -> UpdateSpec | None:
    """Return the changes from the data of one revision to that of another; None if not possible in place.

    Args:
        revision: the name of the new revision.
        gates: the feature gates.
    """
    before, after = plain_template(old), plain_template(new)
    containers = [each.get("name", "") for each in before.get("spec", {}).get("containers", ())]
    images: dict[str, str] = {}
    resources: dict[str, Resources] = {}
    about_metadata = []
    for operation in operations(before, after):
        if operation.path.startswith("/metadata/"):
            about_metadata.append(operation)
            continue
        if operation.path == "/metadata":  # one of both has none: an add or a remove of all
            about_metadata.extend(
                _of_maps(before.get("metadata", {}), after.get("metadata", {}), "/metadata")
            )
            continue
        if operation.name != "replace":
            return None
        image = IMAGE.fullmatch(operation.path)
        if image is not None and isinstance(operation.value, str):
            images[containers[int(image[1])]] = operation.value
        elif not gates[IN_PLACE_VERTICAL_SCALING] or not _take_resource(operation, containers, resources):
            return None
    if resources and _qos(before) != _qos(after):
        return None
    spec = UpdateSpec(
        revision=revision,
        container_images=images,
        container_resources=resources,
        grace_seconds=grace_seconds,
    )
    return _with_metadata(spec, about_metadata, before, after, gates) if about_metadata else spec


def _take_resource(operation: Operation, containers: list[str], found: dict[str, Resources]) -> bool:
    """Note the new quantity of a request or limit. Return whether it can be changed in place."""
    match = RESOURCES.fullmatch(operation.path)
    if match is None:
        return False
    part, _, name = match[2].partition("/")
    if name not in RESIZABLE or part not in ("limits", "requests"):
        return False
    try:
        text = quantity.canonical(str(operation.value))
    except ValueError:
        return False
    own = found.setdefault(containers[int(match[1])], Resources(limits={}, requests={}))
    (own.limits if part == "limits" else own.requests)[name] = text
    return True


def _qos(template: Mapping[str, Any]) -> str:
    return qos_class(codec.from_plain(template.get("spec", {}), PodSpec))


def _with_metadata(
    spec: UpdateSpec,
    changes: list[Operation],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    gates: Mapping[str, bool],
) -> UpdateSpec:
    """Return the changes with those of labels and annotations.

    Those that containers read as environment go with the containers; all others are made at once.
    """
    references: dict[str, MetadataPart] = {}
    separate: set[tuple[str, str]] = set()
    if gates[ENV_FROM_METADATA]:
        template = codec.from_plain(
            {key: after[key] for key in ("metadata", "spec") if key in after}, PodTemplateSpec
        )
        for part, key, value in _values(changes):
            for container in template.spec.containers:
                if reads(container, f"metadata.{part}", key):
                    own = references.setdefault(container.name, MetadataPart(labels={}, annotations={}))
                    (own.labels if part == "labels" else own.annotations)[key] = value
                    separate.add((part, key))
    parts = {part: _merge_patch(before, after, part, separate) for part in ("labels", "annotations")}
    patch: dict[str, Any] = {part: changed for part, changed in parts.items() if changed}
    patch |= _finalizer_patch(before, after)
    return UpdateSpec(
        revision=spec.revision,
        container_images=spec.container_images,
        container_resources=spec.container_resources,
        container_ref_metadata=references,
        update_env_from_metadata=bool(references),
        meta_data_patch={"metadata": patch} if patch else {},
        grace_seconds=spec.grace_seconds,
    )


def _values(changes: list[Operation]) -> Iterator[tuple[str, str, str]]:
    """Yield the part, the key and the value of labels and annotations that are new or changed."""
    for each in changes:
        _, _, part, *rest = each.path.split("/", 3)
        if each.name == "remove" or part not in ("labels", "annotations"):
            continue
        if rest:
            yield part, rest[0].replace("~1", "/").replace("~0", "~"), each.value
        else:
            yield from ((part, key, value) for key, value in each.value.items())


def _finalizer_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the part of a strategic merge patch that changes finalizers."""
    old, new = (each.get("metadata", {}).get("finalizers") or [] for each in (before, after))
    if old == new:
        return {}
    gone, added = [each for each in old if each not in new], [each for each in new if each not in old]
    parts = {DELETED_FINALIZERS: gone, "$setElementOrder/finalizers": new, "finalizers": added}
    return {name: part for name, part in parts.items() if part}


def _merge_patch(
    before: Mapping[str, Any], after: Mapping[str, Any], part: str, separate: set[tuple[str, str]]
) -> dict[str, str | None]:
    old = before.get("metadata", {}).get(part) or {}
    new = after.get("metadata", {}).get(part) or {}
    changed: dict[str, str | None] = {key: value for key, value in new.items() if old.get(key) != value}
    removed = {key: None for key in old if key not in new}
    return {key: value for key, value in {**changed, **removed}.items() if (part, key) not in separate}


def reads(container: Container, path: str, key: str) -> bool:
    """Return whether an environment variable of the container is this label or annotation of the pod."""
    for variable in container.env:
        if (found := metadata_reference(variable)) is not None and found == (path, key):
            return True
    return False


def metadata_reference(variable: EnvVar) -> tuple[str, str] | None:
    """Return the path and key of the label or annotation that a variable is; None for any other variable.

    The versions of sidecars do not count: a hot upgrade changes them while the containers run.
    """
    source = variable.value_from.field_ref if variable.value_from is not None else None
    if variable.value or source is None or variable.name in SIDECAR_VERSIONS:
        return None
    match = _REFERENCE.fullmatch(source.field_path)
    return (match[1], match[2]) if match is not None else None


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
