"""Validation of the containers of SidecarSets, by themselves and as those of a pod. Pure.

Upstream: ``validateContainersForSidecarSet`` of ``pkg/webhook/sidecarset/validating``.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from podling.api.core_v1 import PodSpec
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.names import qualified_name_errors
from podling.machinery.pods import is_sidecar
from podling_kruise.sidecarset.expressions import ExpressionError, evaluate
from podling_kruise.sidecarset.types import (
    AFTER,
    BEFORE,
    DISABLED,
    ENABLED,
    MODE_MAX,
    MODE_SUM,
    ResourcesExpr,
    SidecarContainer,
    SidecarSetSpec,
    TransferEnv,
    plain_container,
)

Errors = list[FieldError]

_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]")


def container_errors(container: SidecarContainer, where: Path) -> Errors:
    """Return what is wrong with the parts of a container that only SidecarSets have."""
    found: Errors = []
    if container.pod_inject_policy not in (BEFORE, AFTER):
        text = "unsupported pod inject policy"
        found.append(fields.invalid(where.child("podInjectPolicy"), container.pod_inject_policy, text))
    shared = container.share_volume_policy.type
    if shared not in (ENABLED, DISABLED):
        text = "unsupported share volume policy"
        found.append(fields.invalid(where.child("shareVolumePolicy"), shared, text))
    for number, transfer in enumerate(container.transfer_env):
        found += _transfer_errors(transfer, where.child("transferEnv").index(number))
    return found + resources_errors(container, where)


def init_container_errors(container: SidecarContainer, where: Path) -> Errors:
    """Return what is wrong with the parts of an init container that only SidecarSets have."""
    found: Errors = []
    if container.resources_policy is not None and not is_sidecar(container):
        text = "resourcesPolicy is only supported for containers with RestartPolicy Always"
        found.append(fields.invalid(where.child("resourcesPolicy"), container.resources_policy, text))
    return found + resources_errors(container, where)


def resources_errors(container: SidecarContainer, where: Path) -> Errors:
    """Return what is wrong with a container's resources policy."""
    policy = container.resources_policy
    if policy is None:
        return []
    at = where.child("resourcesPolicy")
    if container.resources.limits or container.resources.requests:
        text = "resourcesPolicy and resources cannot be configured together"
        return [fields.invalid(at, policy, text)]
    found: Errors = []
    pattern, place = policy.target_containers_name_regex, at.child("targetContainersNameRegex")
    if policy.target_containers_mode not in (MODE_SUM, MODE_MAX):
        mode = policy.target_containers_mode
        found.append(fields.not_supported(at.child("targetContainersMode"), mode, (MODE_SUM, MODE_MAX)))
    if not pattern:
        found.append(fields.required(place, "invalid empty regex"))
    else:
        try:
            re.compile(pattern)
        except re.error as error:
            found.append(fields.invalid(place, pattern, f"invalid regex pattern: {error}"))
    return found + _expression_errors(policy.resources_expr, at.child("resourcesExpr"))


def _expression_errors(given: ResourcesExpr, where: Path) -> Errors:
    if given.limits is None and given.requests is None:
        return [fields.invalid(where, given, "at least one of limits or requests must be configured")]
    found: Errors = []
    for part, expressions in (("limits", given.limits), ("requests", given.requests)):
        if expressions is None:
            continue
        for name, text in (("cpu", expressions.cpu), ("memory", expressions.memory)):
            try:
                if text:
                    evaluate(text, {name: 1.0})
            except ExpressionError as error:
                at = where.child(part, name)
                found.append(fields.invalid(at, text, f"invalid expression: {error}"))
    return found


def _transfer_errors(transfer: TransferEnv, where: Path) -> Errors:
    source = transfer.source_container_name_from
    reference = source.field_ref if source is not None else None
    if reference is None:
        return []
    at = where.child("sourceContainerNameFrom", "fieldRef")
    if not reference.field_path:
        return [fields.required(at.child("fieldPath"))]
    match = _SUBSCRIPT.fullmatch(reference.field_path)
    if match is None:
        text = f"error converting fieldPath: field label not supported: {reference.field_path}"
        return [fields.invalid(at.child("fieldPath"), reference.field_path, text)]
    if match[1] not in ("metadata.labels", "metadata.annotations"):
        text = f"error converting fieldPath: field path not supported: {match[1]}"
        return [fields.invalid(at.child("fieldPath"), reference.field_path, text)]
    name = match[2].lower() if match[1] == "metadata.annotations" else match[2]
    return [fields.invalid(at, match[2], why) for why in qualified_name_errors(name)]


def pod_spec_of(spec: SidecarSetSpec) -> PodSpec:
    """Return a pod's spec with all containers and volumes, to be validated as pods are."""
    return PodSpec(
        init_containers=tuple(plain_container(each) for each in spec.init_containers),
        containers=tuple(plain_container(each) for each in spec.containers),
        volumes=spec.volumes,
    )


def with_place(error: FieldError) -> FieldError:
    """Return an error of a pod template under the path that it has in a SidecarSet."""
    field = error.field.replace("template.spec.", "spec.", 1)
    return FieldError(error.type, field, error.value, error.detail)


def filled(spec: SidecarSetSpec, defaulted: PodSpec) -> SidecarSetSpec:
    """Return the spec with the containers and volumes that the server has filled in."""

    def taken(sidecar: SidecarContainer, container: Any) -> SidecarContainer:
        return structs.replace(
            sidecar, **{name: getattr(container, name) for name in container.__struct_fields__}
        )

    return structs.replace(
        spec,
        containers=tuple(map(taken, spec.containers, defaulted.containers)),
        init_containers=tuple(map(taken, spec.init_containers, defaulted.init_containers)),
        volumes=defaulted.volumes,
    )
