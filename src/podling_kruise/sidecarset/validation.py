"""Validation of SidecarSets. Containers and volumes are validated by the caller, which knows the server.

Upstream: ``pkg/webhook/sidecarset/validating``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.meta_v1 import LabelSelector
from podling.machinery import fields, label_checks
from podling.machinery.fields import FieldError, Path
from podling.machinery.pods import is_sidecar
from podling_kruise import field_checks
from podling_kruise.object_names import name_errors
from podling_kruise.policies import IN_PLACE, ONLY
from podling_kruise.sidecarset.container_validation import (
    container_errors,
    init_container_errors,
    pod_spec_of,
)
from podling_kruise.sidecarset.metadata_validation import patch_errors
from podling_kruise.sidecarset.revision_data import hash_without_image
from podling_kruise.sidecarset.types import (
    ALWAYS,
    NOT_UPDATE,
    PARTIAL,
    ROLLING_UPDATE,
    STANDING_TYPES,
    SidecarContainer,
    SidecarSet,
    SidecarSetSpec,
    UpdateStrategy,
)
from podling_kruise.template_validation import (
    SPEC,
    change_beyond_images,
    priority_error,
    scatter_error,
)

Errors = list[FieldError]

STRATEGY = SPEC.child("updateStrategy")
ROLLING = (ROLLING_UPDATE, *IN_PLACE)
"""Types of strategies that update living pods. Articles have policies of other workloads as types here."""


def set_errors(new: SidecarSet, old: SidecarSet | None) -> Errors:
    """Return what is wrong with a SidecarSet by itself."""
    found = name_errors(new.metadata.name or "", "sidecarset") + _spec_errors(new.spec)
    if old is not None:
        found += _change_errors(new.spec.containers, old.spec.containers)
        found += _in_place_errors(new.spec, old.spec)
    return found


def _spec_errors(spec: SidecarSetSpec) -> Errors:
    found: Errors = []
    if spec.update_strategy.type in ROLLING and any(is_sidecar(each) for each in spec.init_containers):
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
    for number, container in enumerate(spec.init_containers):
        found += init_container_errors(container, SPEC.child("initContainers").index(number))
    for number, container in enumerate(spec.containers):
        found += container_errors(container, SPEC.child("containers").index(number))
    return found + patch_errors(spec)


def _selector_errors(selector: LabelSelector, where: Path) -> Errors:
    if selector == LabelSelector():
        return [fields.invalid(where, selector, "empty selector is not valid for sidecarset.")]
    return label_checks.label_selector(where, selector)


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
    if strategy.type not in ("", *ROLLING, *STANDING_TYPES):
        text = f"must be '{ROLLING_UPDATE}' or '{NOT_UPDATE}'"
        return [fields.invalid(STRATEGY.child("type"), strategy.type, text)]
    if strategy.type not in ROLLING:
        return []
    found: Errors = []
    if strategy.selector is not None:
        if strategy.partition not in (None, 0):
            text = "Partition and Selector cannot be used together"
            found.append(fields.invalid(STRATEGY, strategy.partition, text))
        found += _selector_errors(strategy.selector, STRATEGY.child("selector"))
    for name, value in (("partition", strategy.partition), ("maxUnavailable", strategy.max_unavailable)):
        found += field_checks.amount_errors(STRATEGY.child(name), value)
    if strategy.priority_strategy is not None and (why := priority_error(strategy.priority_strategy)):
        found.append(fields.required(STRATEGY.child("priorityStrategy"), why))
    if why := scatter_error(strategy.scatter_strategy):
        found.append(fields.required(STRATEGY.child("scatterStrategy"), why))
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


def _in_place_errors(new: SidecarSetSpec, old: SidecarSetSpec) -> Errors:
    """Return an error for a change that no living pod can follow, where the strategy allows no other."""
    if new.update_strategy.type != ONLY:
        return []
    text = f"only allowed to update images in spec for {ONLY}"
    change = change_beyond_images(pod_spec_of(old), pod_spec_of(new))
    if change is not None:
        return [fields.forbidden(SPEC, f"{text}, but found {change.name} {change.path}")]
    return [fields.forbidden(SPEC, text)] if hash_without_image(new) != hash_without_image(old) else []
