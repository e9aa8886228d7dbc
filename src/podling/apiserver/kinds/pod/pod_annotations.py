"""Validation of the annotations that are older forms of pod fields.

Most of them no longer have an effect; invalid ones are still errors.

Upstream: ``ValidatePodSpecificAnnotations``, ``ValidatePodSpecificAnnotationUpdates``,
``validateSeccompAnnotationsAndFields`` and ``validateAppArmorAnnotationsAndFieldsMatchOnCreate`` in
``pkg/apis/core/validation/validation.go``; ``applyAppArmorVersionSkew`` in
``pkg/registry/core/pod/strategy.go``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from podling.api.core_v1 import (
    AppArmorProfile,
    Container,
    EphemeralContainer,
    Pod,
    PodSpec,
    SeccompProfile,
    SecurityContext,
    Toleration,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, map_items
from podling.apiserver.kinds.pod.pod_scope import each_container
from podling.apiserver.kinds.pod.scheduling_validation import validate_tolerations
from podling.apiserver.kinds.pod.security_validation import validate_app_armor
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import MIRROR_ANNOTATION

C = TypeVar("C", Container, EphemeralContainer)

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

_LOCALHOST = "localhost/"
_PROFILES = {"runtime/default": "RuntimeDefault", "unconfined": "Unconfined"}
_SECCOMP_PROFILES = {**_PROFILES, "docker/default": "RuntimeDefault"}
_ANNOTATIONS = Path("metadata.annotations")


def validate_annotations(path: Path, annotations: Mapping[str, str], spec: PodSpec) -> Errors:
    """Return the errors in the annotations at ``path`` of a pod or a template."""
    errors: Errors = []
    mirror = annotations.get(MIRROR_ANNOTATION)
    if mirror is not None and not spec.node_name:
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(fields.invalid(path.key(MIRROR_ANNOTATION), mirror, text))
    if annotations.get(TOLERATIONS):
        errors += _toleration_errors(path, annotations[TOLERATIONS])
    cost = annotations.get(DELETION_COST)
    if cost is not None and not _is_int32(cost):
        errors.append(fields.invalid(path.key(DELETION_COST), cost, "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            errors += _seccomp_profile_errors(path.child(key), value)
        elif key.startswith(APP_ARMOR):
            errors += _app_armor_profile_errors(path.key(key), key.removeprefix(APP_ARMOR), value, spec)
    return errors


def _toleration_errors(path: Path, text: str) -> Errors:
    try:
        found = msgspec.json.decode(text, type=tuple[Toleration, ...] | None)
    except msgspec.MsgspecError as problem:
        return [fields.invalid(path, TOLERATIONS, str(problem))]
    return validate_tolerations(path.child(TOLERATIONS), found or ())


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
        return False
    return (digits == "0" or not digits.startswith("0")) and -(2**31) <= int(text) < 2**31


def _seccomp_profile_errors(path: Path, value: str) -> Errors:
    if value in _SECCOMP_PROFILES:
        return []
    if value.startswith(_LOCALHOST):
        return checks.local_descending_path(path, value.removeprefix(_LOCALHOST))
    return [fields.invalid(path, value, "must be a valid seccomp profile")]


def _app_armor_profile_errors(path: Path, container: str, value: str, spec: PodSpec) -> Errors:
    errors: Errors = []
    if all(found.name != container for found, _ in each_container(spec, path)):
        errors.append(fields.invalid(path, container, "container not found"))
    if value and value not in _PROFILES and not value.startswith(_LOCALHOST):
        text = f"invalid AppArmor profile name: {json.dumps(value, ensure_ascii=False)}"
        errors.append(fields.invalid(path, value, text))
    return errors


def validate_profiles(path: Path, annotations: Mapping[str, str], spec: PodSpec) -> Errors:
    """Return an error for each profile that differs between its annotation and its field in the spec."""
    errors: Errors = []
    context = spec.security_context
    if context is not None and SECCOMP_POD in annotations:
        where = path.child("securityContext", "seccompProfile")
        errors += _agreement_errors(where, context.seccomp_profile, annotations[SECCOMP_POD])
    for container, here in each_container(spec, path):
        own, said = container.security_context, annotations.get(SECCOMP_CONTAINER + container.name)
        if own is not None and said is not None:
            where = here.child("securityContext", "seccompProfile")
            errors += _agreement_errors(where, own.seccomp_profile, said)
    if spec.os is not None and spec.os.name == "windows":
        return errors
    for container, here in each_container(spec, path):
        profile, said = _app_armor_of(spec, container), annotations.get(APP_ARMOR + container.name)
        if said is not None:
            errors += _agreement_errors(here.child("securityContext", "appArmorProfile"), profile, said)
    return errors


def _agreement_errors(path: Path, profile: SeccompProfile | AppArmorProfile | None, said: str) -> Errors:
    if profile is None:
        return []
    word, known = (
        ("seccomp", _SECCOMP_PROFILES) if isinstance(profile, SeccompProfile) else ("apparmor", _PROFILES)
    )
    if profile.type == "Localhost" and said.startswith(_LOCALHOST):
        if profile.localhost_profile == said.removeprefix(_LOCALHOST):
            return []
        text = f"{word} profile in annotation and field must match"
        return [fields.forbidden(path.child("localhostProfile"), text)]
    if profile.type not in ("Localhost", *known.values()) or profile.type == known.get(said):
        return []
    return [fields.forbidden(path.child("type"), f"{word} type in annotation and field must match")]


def _app_armor_of(spec: PodSpec, container: Container | EphemeralContainer) -> AppArmorProfile | None:
    """Return the profile in a container's fields, else the pod's."""
    for context in (container.security_context, spec.security_context):
        if context is not None and context.app_armor_profile is not None:
            return context.app_armor_profile
    return None


def annotation_changes(new: Pod, old: Pod) -> Errors:
    """Return errors for a changed mirror pod annotation or AppArmor profile."""
    before, after = old.metadata.annotations, new.metadata.annotations
    if before == after:
        return []
    errors: Errors = []
    for key in (*before, *(key for key in after if key not in before)):
        if before.get(key) == after.get(key):
            continue
        kind = "mirror pod annotation" if key == MIRROR_ANNOTATION else ""
        kind = "AppArmor annotations" if key.startswith(APP_ARMOR) else kind
        if kind:
            verb = "may not remove or update" if key in before else "may not add"
            errors.append(fields.forbidden(_ANNOTATIONS.key(key), f"{verb} {kind}"))
    return errors + validate_annotations(_ANNOTATIONS, after, new.spec)


def has_app_armor(annotations: Mapping[str, str]) -> bool:
    return any(key.startswith(APP_ARMOR) for key in annotations)


def with_app_armor_fields(pod: Pod) -> Pod:
    """Return ``pod`` with the profiles of its annotations in empty fields."""
    annotations, spec = pod.metadata.annotations, pod.spec
    if spec.os is not None and spec.os.name == "windows":
        return pod

    def fill(container: C) -> C:
        profile = app_armor_field(annotations.get(APP_ARMOR + container.name))
        if profile is None or profile == _app_armor_of(spec, container):
            return container
        context = container.security_context or SecurityContext()
        if context.app_armor_profile is not None:
            return container
        return change(container, security_context=change(context, app_armor_profile=profile))

    return change(
        pod,
        spec=change(
            spec,
            containers=map_items(spec.containers, fill),
            init_containers=map_items(spec.init_containers, fill),
            ephemeral_containers=map_items(spec.ephemeral_containers, fill),
        ),
    )


def app_armor_field(annotation: str | None) -> AppArmorProfile | None:
    """Return the field for an annotation's profile; None if it has none."""
    if annotation in _PROFILES:
        return AppArmorProfile(type=_PROFILES[annotation])
    name = (annotation or "").removeprefix(_LOCALHOST)
    if name == annotation or not name:
        return None
    profile = AppArmorProfile(type="Localhost", localhost_profile=name)
    return None if validate_app_armor(Path(), profile) else profile
