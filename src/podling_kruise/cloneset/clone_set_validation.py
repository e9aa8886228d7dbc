"""Validation of CloneSets.

The messages are OpenKruise's. The template is validated by its caller, which knows the server.
Upstream: ``pkg/webhook/cloneset/validating/validation.go``, ``ValidateCloneSetUpdate`` of ``core``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from podling.api.core_v1 import Pod
from podling.controllers.owner_references import controller_of
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.numbers import INT32_MAX
from podling_kruise.cloneset.types import (
    IF_POSSIBLE,
    ON_DELETE,
    ONLY,
    RECREATE,
    ROLLING_UPDATE,
    CloneSet,
    CloneSetSpec,
    RollingUpdate,
)
from podling_kruise.field_checks import integer_problem, non_negative
from podling_kruise.template_validation import (
    SPEC,
    Errors,
    change_beyond_images,
    pod_errors,
    priority_error,
    scatter_error,
    selector_errors,
)

STRATEGY = SPEC.child("updateStrategy")
POLICIES = ("", RECREATE, IF_POSSIBLE, ONLY)
_IMMUTABLE = (
    "updates to cloneset spec for fields other than 'replicas', 'template', 'lifecycle', 'scaleStrategy', "
    "'updateStrategy', 'minReadySeconds', 'progressDeadlineSeconds', 'volumeClaimTemplates' and "
    "'revisionHistoryLimit' are forbidden"
)


def spec_errors(spec: CloneSetSpec, *, flat: bool = False) -> Errors:
    """Return what is wrong with a spec, but for its template. ``flat``: as ``v1alpha1`` has the strategy."""
    errors = non_negative(SPEC.child("replicas"), spec.wanted)
    errors += selector_errors(spec.selector, spec.template, "cloneset")
    errors += pod_errors(spec.template, "cloneset")
    names = Counter(spec.scale_strategy.pods_to_delete)
    if twice := [name for name, count in names.items() if count > 1]:
        where = SPEC.child("scaleStrategy", "podsToDelete")
        text = f"duplicated items [{' '.join(twice)}]"
        errors.append(fields.invalid(where, list(spec.scale_strategy.pods_to_delete), text))
    errors += _strategy_errors(spec, flat=flat)
    return errors + _deadline_errors(spec)


def update_errors(new: CloneSet, old: CloneSet) -> Errors:
    """Return what is wrong with a change of a CloneSet."""
    errors: Errors = []
    if new.spec.selector != old.spec.selector:
        errors.append(fields.forbidden(SPEC, _IMMUTABLE))
    if new.spec.rolling.pod_update_policy == ONLY:
        found = change_beyond_images(old.spec.template.spec, new.spec.template.spec)
        if found is not None:
            text = f"only allowed to update images in spec for {ONLY}, but found {found.name} {found.path}"
            errors.append(fields.forbidden(SPEC, text))
    return errors


def pods_to_delete_errors(owner: CloneSet, names: Iterable[str], pods: dict[str, Pod]) -> Errors:
    """Return an error for each pod that is newly to be deleted, but is not the owner's. ``pods``: by name."""
    where, errors = SPEC.child("scaleStrategy", "podsToDelete"), []
    for name in sorted(names):
        pod = pods.get(name)
        reference = controller_of(pod) if pod is not None else None
        if pod is None:
            text = f'find pod {name} failed: Pod "{name}" not found'
        elif pod.metadata.deletion_timestamp is not None:
            text = f"find pod {name} already terminating"
        elif reference is None or reference.uid != owner.metadata.uid:
            text = f"find pod {name} owner is not this CloneSet"
        else:
            continue
        errors.append(fields.invalid(where, name, text))
    return errors


def _strategy_errors(spec: CloneSetSpec, *, flat: bool) -> Errors:
    strategy, where = spec.update_strategy, STRATEGY if flat else STRATEGY.child("rollingUpdate")
    errors: Errors = []
    if strategy.type not in ("", ROLLING_UPDATE, ON_DELETE):
        text = f"must be '{ROLLING_UPDATE}' or '{ON_DELETE}'"
        errors.append(fields.invalid(STRATEGY.child("type"), strategy.type, text))
    rolling = strategy.rolling_update
    if rolling is None:
        return errors
    if rolling.pod_update_policy not in POLICIES:
        text = f"must be '{RECREATE}', '{IF_POSSIBLE}' or '{ONLY}'"
        errors.append(fields.invalid(where.child("podUpdatePolicy"), rolling.pod_update_policy, text))
    if rolling.priority_strategy is not None and (why := priority_error(rolling.priority_strategy)):
        errors.append(fields.required(where.child("priorityStrategy"), why))
    if why := scatter_error(rolling.scatter_strategy):
        errors.append(fields.required(where.child("scatterStrategy"), why))
    return errors + _number_errors(rolling, spec.wanted, where, flat=flat) + _download_errors(rolling, where)


def _number_errors(rolling: RollingUpdate, replicas: int, where: Path, *, flat: bool) -> Errors:
    errors: Errors = []
    partition, found = _scaled("partition", rolling.partition, replicas, where)
    errors += found or non_negative(where.child("partition"), partition)
    unavailable, found = _scaled("maxUnavailable", rolling.max_unavailable, replicas, where)
    errors += found
    surge, found = _scaled("maxSurge", rolling.max_surge, replicas, where)
    errors += found
    if rolling.pod_update_policy == ONLY and surge > 0:
        text = f"can not use maxSurge with {'strategy type' if flat else 'podUpdatePolicy'} {ONLY}"
        errors.append(fields.invalid(where.child("maxSurge"), str(rolling.max_surge), text))
    if replicas > 0 and unavailable < 1 and surge < 1:
        text = "maxUnavailable and maxSurge should not both be less than 1"
        errors.append(fields.invalid(where.child("maxUnavailable"), rolling.max_unavailable, text))
    return errors


def _scaled(name: str, value: int | str | None, replicas: int, where: Path) -> tuple[int, Errors]:
    try:
        return scaled(value, replicas, round_up=True), []
    except ValueError as error:
        text = f"failed GetScaledValueFromIntOrPercent for {name}: {error}"
        return 0, [fields.invalid(where.child(name), str(value), text)]


def _download_errors(rolling: RollingUpdate, where: Path) -> Errors:
    own, path = rolling.in_place_update_strategy, where.child("inPlaceUpdateStrategy")
    if own is None:
        return []
    errors = non_negative(
        path.child("imagePreDownloadTimeoutSeconds"), own.image_pre_download_timeout_seconds
    )
    errors += non_negative(
        path.child("imagePreDownloadMinUpdatedReadyPods"), own.image_pre_download_min_updated_ready_pods
    )
    value, at = own.image_pre_download_parallelism, path.child("imagePreDownloadParallelism")
    if isinstance(value, str) and value.endswith("%"):
        text = "imagePreDownloadParallelism does not support percentage value"
        return [*errors, fields.invalid(at, value, text)]
    if isinstance(value, str) and (why := integer_problem(value)):
        text = f"imagePreDownloadParallelism must be a valid integer: {why}"
        return [*errors, fields.invalid(at, value, text)]
    if int(value or 0) < 0:
        errors.append(fields.invalid(at, value, "imagePreDownloadParallelism must be non-negative"))
    return errors


def _deadline_errors(spec: CloneSetSpec) -> Errors:
    value, where = spec.progress_deadline_seconds, SPEC.child("progressDeadlineSeconds")
    errors = non_negative(where, value)
    if value is not None and value != INT32_MAX and value <= spec.min_ready_seconds:
        errors.append(fields.invalid(where, value, "must be greater than minReadySeconds"))
    return errors
