"""Validation of SidecarSets. Containers and volumes are validated by the caller, which knows the server.

Upstream: ``pkg/webhook/sidecarset/validating``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from podling.api.core_v1 import PodSpec
from podling.api.meta_v1 import LabelSelector
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.names import qualified_name_errors
from podling.machinery.pods import is_sidecar
from podling.machinery.selectors import SelectorError, from_label_selector
from podling_kruise.sidecarset.annotations import BASE
from podling_kruise.sidecarset.types import (
    AFTER,
    ALWAYS,
    BEFORE,
    DISABLED,
    ENABLED,
    NOT_UPDATE,
    OVERWRITE,
    PARTIAL,
    RETAIN,
    ROLLING_UPDATE,
    SidecarContainer,
    SidecarSet,
    SidecarSetSpec,
    TransferEnv,
    UpdateStrategy,
    plain_container,
)
from podling_kruise.template_validation import priority_error, scatter_error

Errors = list[FieldError]

SPEC = Path("spec")
STRATEGY = SPEC.child("updateStrategy")
PATCHES = SPEC.child("patchPodMetadata")
_NAME = re.compile(r"[a-zA-Z0-9\-]+")
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]")


def set_errors(new: SidecarSet, old: SidecarSet | None) -> Errors:
    """Return what is wrong with a SidecarSet by itself."""
    found = _name_errors(new.metadata.name or "") + _spec_errors(new.spec)
    if old is not None:
        found += _change_errors(new.spec.containers, old.spec.containers)
    return found


def pod_spec_of(spec: SidecarSetSpec) -> PodSpec:
    """Return a pod's spec with all containers and volumes, to be validated as pods are."""
    return PodSpec(
        init_containers=tuple(plain_container(each) for each in spec.init_containers),
        containers=tuple(plain_container(each) for each in spec.containers),
        volumes=spec.volumes,
    )


def canary_errors(new: SidecarSet, old: SidecarSet | None, base: SidecarSet | None, name: str) -> Errors:
    """Return what is wrong with a canary. ``base``: the SidecarSet that it replaces, if it exists."""
    where, shown = Path("metadata"), new.metadata.annotations
    found: Errors = []
    if name == new.metadata.name:
        found.append(fields.invalid(where, shown, "base sidecarSet cannot be itself"))
    if old is not None and old.metadata.annotations.get(BASE) != name:
        found.append(fields.invalid(where, shown, f"annotations[{BASE}] is immutable"))
    if base is None:
        text = f'fetch base sidecarSet[{name}] failed: SidecarSet.apps.kruise.io "{name}" not found'
        found.append(fields.invalid(where, shown, text))
    if new.spec.update_strategy.type != NOT_UPDATE:
        text = "RollingUpdate is not supported for canary sidecarSet"
        found.append(fields.invalid(where, shown, text))
    return found


def conflict_errors(new: SidecarSet, others: Iterable[SidecarSet]) -> Errors:
    """Return the conflicts with other SidecarSets that may select the same pods."""
    found: Errors = []
    containers = SPEC.child("containers")
    for other in others:
        if other.metadata.name == new.metadata.name or not _overlap(new.spec, other.spec):
            continue
        name = other.metadata.name
        for mine, theirs in (
            (new.spec.init_containers, other.spec.init_containers),
            (new.spec.containers, other.spec.containers),
        ):
            taken = {each.name for each in theirs}
            found += [
                fields.invalid(containers, each.name, f"container {each.name} already exist in {name}")
                for each in mine
                if each.name in taken
            ]
        volumes = {each.name: each for each in other.spec.volumes}
        found += [
            fields.invalid(
                SPEC.child("volumes"), each.name, f"volume {each.name} is in conflict with sidecarset {name}"
            )
            for each in new.spec.volumes
            if volumes.get(each.name, each) != each
        ]
        found += _patch_conflicts(new, other)
    return found


def whitelist_errors(new: SidecarSet, data: Mapping[str, str] | None, *, allowed: bool) -> Errors:
    """Return an error for annotations that the cluster does not let SidecarSets give to pods.

    Args:
        data: that of the ConfigMap ``kruise-configuration``; None without one.
        allowed: what has no rule is allowed.
    """
    if not new.spec.patch_pod_metadata:
        return []
    text = (data or {}).get("SidecarSet_PatchPodMetadata_WhiteList")
    if text is None:
        why = "SidecarSet patch metadata whitelist not found"
        return [] if allowed else [fields.required(PATCHES, why)]
    try:
        patterns = [re.compile(each) for each in _expressions(text, new.metadata.labels)]
    except (ValueError, TypeError, AttributeError, re.error, msgspec.MsgspecError) as error:
        return [fields.required(PATCHES, str(error))]
    if not patterns:
        why = "sidecarSet patch metadata annotation is not allowed"
        return [] if allowed else [fields.required(PATCHES, why)]
    for patch in new.spec.patch_pod_metadata:
        for key in patch.annotations:
            if not any(each.search(key) for each in patterns):
                why = f"sidecarSet patch metadata annotation({key}) is not allowed"
                return [fields.required(PATCHES, why)]
    return []


def _expressions(text: str, labels: Mapping[str, str]) -> Iterable[str]:
    for rule in msgspec.json.decode(text).get("rules") or ():
        selector = rule.get("selector")
        if selector is not None:
            wanted = from_label_selector(msgspec.convert(selector, LabelSelector))
            if not wanted.matches(labels):
                continue
        yield from rule.get("allowedAnnotationKeyExprs") or ()


def _name_errors(name: str) -> Errors:
    where = Path("metadata").child("name")
    found = []
    if not _NAME.fullmatch(name):
        text = (
            "sidecarset name must consist of alphanumeric characters or '-' (e.g. 'example-com', "
            "regex used for validation is '^[a-zA-Z0-9\\-]+$')"
        )
        found.append(fields.invalid(where, name, text))
    if len(name) > 63:
        found.append(fields.invalid(where, name, "must be no more than 63 characters"))
    return found


def _spec_errors(spec: SidecarSetSpec) -> Errors:
    found: Errors = []
    if spec.update_strategy.type == ROLLING_UPDATE and any(is_sidecar(each) for each in spec.init_containers):
        text = "The initContainer in-place upgrade is not currently supported."
        found.append(fields.required(STRATEGY, text))
    if spec.selector is None:
        found.append(fields.required(SPEC.child("selector"), "no selector defined for SidecarSet"))
    else:
        found += _selector_errors(spec.selector, SPEC.child("selector"))
    if spec.namespace_selector is not None:
        found += _selector_errors(spec.namespace_selector, SPEC.child("namespaceSelector"))
    found += _injection_errors(spec) + _strategy_errors(spec.update_strategy)
    if not spec.init_containers and not spec.containers:
        found.append(fields.required(SPEC, "no initContainer or container defined for SidecarSet"))
    for number, container in enumerate(spec.containers):
        found += _container_errors(container, SPEC.child("containers").index(number))
    return found + _patch_errors(spec)


def _selector_errors(selector: LabelSelector, where: Path) -> Errors:
    if selector == LabelSelector():
        return [fields.invalid(where, selector, "empty selector is not valid for sidecarset.")]
    try:
        from_label_selector(selector)
    except SelectorError as error:
        return [fields.invalid(where, selector, str(error))]
    return []


def _injection_errors(spec: SidecarSetSpec) -> Errors:
    wanted = spec.injection_strategy.revision
    if wanted is None:
        return []
    where = SPEC.child("injectionStrategy", "revision")
    found: Errors = []
    if wanted.revision_name is None and wanted.custom_version is None:
        text = "revisionName and customVersion cannot be empty simultaneously"
        found.append(fields.invalid(where, wanted, text))
    if wanted.policy not in ("", ALWAYS, PARTIAL):
        text = f"Invalid policy {wanted.policy}, supported: [{ALWAYS}, {PARTIAL}]"
        found.append(fields.invalid(where.child("policy"), wanted.policy, text))
    return found


def _strategy_errors(strategy: UpdateStrategy) -> Errors:
    if strategy.type not in ("", ROLLING_UPDATE, NOT_UPDATE):
        text = f"must be '{ROLLING_UPDATE}' or '{NOT_UPDATE}'"
        return [fields.invalid(STRATEGY.child("type"), strategy.type, text)]
    if strategy.type != ROLLING_UPDATE:
        return []
    found: Errors = []
    if strategy.selector is not None:
        if strategy.partition not in (None, 0):
            text = "Partition and Selector cannot be used together"
            found.append(fields.invalid(STRATEGY, strategy.partition, text))
        found += _selector_errors(strategy.selector, STRATEGY.child("selector"))
    for name, value in (("partition", strategy.partition), ("maxUnavailable", strategy.max_unavailable)):
        found += _amount_errors(STRATEGY.child(name), value)
    if strategy.priority_strategy is not None and (why := priority_error(strategy.priority_strategy)):
        found.append(fields.required(STRATEGY.child("priorityStrategy"), why))
    if why := scatter_error(strategy.scatter_strategy):
        found.append(fields.required(STRATEGY.child("scatterStrategy"), why))
    return found


def _amount_errors(where: Path, value: int | str | None) -> Errors:
    """Source: ``ValidatePositiveIntOrPercent``."""
    if isinstance(value, int):
        text = "must be greater than or equal to 0"
        return [fields.invalid(where, value, text)] if value < 0 else []
    try:
        scaled(value, 1, round_up=True)
    except ValueError:
        text = "must be an integer or percentage (e.g '5%%')"
        return [fields.invalid(where, value, text)]
    return []


def _container_errors(container: SidecarContainer, where: Path) -> Errors:
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


def _patch_errors(spec: SidecarSetSpec) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for patch in spec.patch_pod_metadata:
        if not patch.annotations:
            found.append(fields.required(PATCHES, "no annotations defined for SidecarSet"))
        if not patch.patch_policy:
            found.append(fields.required(PATCHES, "no patchPolicy defined for patchPodMetadata"))
        for key in patch.annotations:
            if key in seen:
                found.append(fields.required(PATCHES, f"patch annotation[{key}] already exist"))
            seen.add(key)
    return found


def _change_errors(new: Sequence[SidecarContainer], old: Sequence[SidecarContainer]) -> Errors:
    """Return an error for containers that are new, or are updated in another way than before."""
    where = SPEC.child("containers")
    before = {each.name: each.upgrade_strategy.upgrade_type for each in old}
    found: Errors = []
    for each in new:
        if each.name not in before:
            text = f"container {each.name} is not found"
            found.append(fields.invalid(where.child("name"), each.name, text))
        elif before[each.name] not in ("", each.upgrade_strategy.upgrade_type):
            text = f"container {each.name} upgradeType is immutable"
            found.append(fields.invalid(where.child("upgradeStrategy", "upgradeType"), each.name, text))
    return found


def _patch_conflicts(new: SidecarSet, other: SidecarSet) -> Errors:
    theirs = {
        key: patch.patch_policy
        for patch in other.spec.patch_pod_metadata
        if patch.patch_policy != RETAIN
        for key in patch.annotations
    }
    return [
        fields.invalid(PATCHES, key, f"annotation {key} is in conflict with sidecarset {other.metadata.name}")
        for patch in new.spec.patch_pod_metadata
        if patch.patch_policy != RETAIN
        for key in patch.annotations
        if key in theirs and OVERWRITE in (patch.patch_policy, theirs[key])
    ]


def _overlap(one: SidecarSetSpec, other: SidecarSetSpec) -> bool:
    places = (one.namespace_selector, other.namespace_selector)
    if places[0] is not None and places[1] is not None and not selectors_overlap(places[0], places[1]):
        return False
    return selectors_overlap(one.selector or LabelSelector(), other.selector or LabelSelector())


def selectors_overlap(one: LabelSelector, other: LabelSelector) -> bool:
    """Return whether some object may match both selectors. Source: ``IsSelectorOverlapping``."""
    return not (_excludes(one, other) or _excludes(other, one))


def _excludes(one: LabelSelector, other: LabelSelector) -> bool:
    """Return whether what ``one`` requires contradicts ``other``."""
    wanted: dict[str, Any] = {key: [value] for key, value in one.match_labels.items()}
    for each in one.match_expressions:
        if each.operator == "In":
            wanted.setdefault(each.key, []).extend(each.values)
        elif each.operator == "Exists":
            wanted[each.key] = None  # any value
    for key, value in other.match_labels.items():
        if wanted.get(key) is not None and value not in wanted[key]:
            return True
    for each in other.match_expressions:
        values = wanted.get(each.key)
        known = each.key in wanted
        contradicts = {
            "In": values is not None and not set(values) & set(each.values),
            "NotIn": values is not None and set(values) <= set(each.values),
            "Exists": not known,
            "DoesNotExist": known,
        }
        if contradicts.get(each.operator, False):
            return True
    return False


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
