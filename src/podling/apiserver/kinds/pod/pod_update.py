"""Permitted changes of existing pods, for the main resource and each subresource.

The pod itself permits few changes (images, deadlines, more tolerations, fewer gates). ``resize`` changes
resources, ``ephemeralcontainers`` adds ephemeral containers, and ``status`` may not restart ended containers.

Upstream: ``ValidatePodUpdate``, ``ValidatePodResize``, ``ValidatePodEphemeralContainersUpdate`` and
``ValidatePodStatusUpdate`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import Affinity, Container, NodeAffinity, NodeSelector, Pod, PodSpec, Toleration
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.differences import describe
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.container_validation import image_whitespace
from podling.apiserver.kinds.pod.pod_annotations import annotation_changes
from podling.apiserver.kinds.pod.pod_validation import SPEC, validate_pod
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import MIRROR_ANNOTATION

ONLY_THESE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)

_ADDITIONS_TO_SELECTOR = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"


def validate_pod_update(new: Pod, old: Pod) -> Errors:
    """Return the errors in an update of the main resource."""
    errors = validate_pod(new) + annotation_changes(new, old)
    for field, after, before in (
        ("containers", new.spec.containers, old.spec.containers),
        ("initContainers", new.spec.init_containers, old.spec.init_containers),
    ):
        if len(after) != len(before):
            text = "pod updates may not add or remove containers"
            return [*errors, fields.forbidden(SPEC.child(field), text)]
        for position, container in enumerate(after):
            here = SPEC.child(field).index(position)
            errors += [] if container.image else [fields.required(here.child("image"))]
            errors += image_whitespace(here, container)
    found, stop = _deadline_errors(SPEC.child("activeDeadlineSeconds"), new.spec, old.spec)
    errors += found
    if stop:
        return errors
    errors += _toleration_errors(SPEC.child("tolerations"), new.spec.tolerations, old.spec.tolerations)
    errors += _gate_errors(SPEC.child("schedulingGates"), new.spec, old.spec)
    if new.spec == old.spec:
        return errors
    rest, found = _without_mutable(new.spec, old.spec)
    errors += found
    if rest != old.spec:
        errors.append(fields.forbidden(SPEC, f"{ONLY_THESE}\n{describe(old.spec, rest)}"))
    return errors


def with_new_managed_fields(new: ObjectMeta, old: ObjectMeta) -> ObjectMeta:
    """Return ``old`` with the new managed fields only, for subresources that change no metadata."""
    return change(old, managed_fields=new.managed_fields)


def _deadline_errors(path: Path, new: PodSpec, old: PodSpec) -> tuple[Errors, bool]:
    """Return errors unless a deadline was set or lowered; True as second value stops further checks."""
    after, before = new.active_deadline_seconds, old.active_deadline_seconds
    if after is None:
        text = "must not update from a positive integer to nil value"
        return ([fields.invalid(path, None, text)] if before is not None else []), False
    if not 0 <= after <= checks.MAX_INT32:
        return checks.within(path, after, 0, checks.MAX_INT32), True
    if before is not None and before < after:
        return [fields.invalid(path, after, "must be less than or equal to previous value")], True
    return [], False


def _toleration_errors(path: Path, new: tuple[Toleration, ...], old: tuple[Toleration, ...]) -> Errors:
    kept = {_without_seconds(toleration) for toleration in new}
    if all(_without_seconds(toleration) in kept for toleration in old):
        return []
    text = "existing toleration can not be modified except its tolerationSeconds"
    return [fields.forbidden(path, text)]


def _without_seconds(toleration: Toleration) -> tuple[str | None, ...]:
    return (toleration.key, toleration.operator, toleration.value, toleration.effect)


def _gate_errors(path: Path, new: PodSpec, old: PodSpec) -> Errors:
    known = {gate.name for gate in old.scheduling_gates}
    return [
        fields.forbidden(
            path.index(position).child("name"),
            f"only deletion is allowed, but found new scheduling gate '{gate.name}'",
        )
        for position, gate in enumerate(new.scheduling_gates)
        if gate.name not in known
    ]


def _without_mutable(new: PodSpec, old: PodSpec) -> tuple[PodSpec, Errors]:
    """Return ``new`` with all mutable fields of ``old``: any remaining difference is an error."""
    rest = change(
        new,
        containers=_with_images(new.containers, old.containers),
        init_containers=_with_images(new.init_containers, old.init_containers),
        active_deadline_seconds=old.active_deadline_seconds,
        scheduling_gates=old.scheduling_gates,
        tolerations=old.tolerations,
    )
    grace = old.termination_grace_period_seconds
    if grace is not None and grace < 0 and new.termination_grace_period_seconds == 1:
        rest = change(rest, termination_grace_period_seconds=grace)
    return _restore_node_selection(rest, old) if old.scheduling_gates else (rest, [])


def _with_images(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    return tuple(change(after, image=before.image) for after, before in zip(new, old, strict=True))


def _restore_node_selection(rest: PodSpec, old: PodSpec) -> tuple[PodSpec, Errors]:
    """Return ``rest`` with the node selection of ``old``, which a gated pod may narrow, and the errors."""
    errors: Errors = []
    selector = rest.node_selector
    if selector != old.node_selector:
        if any(selector.get(key) != value for key, value in old.node_selector.items()):
            where = SPEC.child("nodeSelector")
            errors.append(fields.invalid(where, selector, _ADDITIONS_TO_SELECTOR))
        rest = change(rest, node_selector=old.node_selector)
    after, before = _node_affinity(rest.affinity), _node_affinity(old.affinity)
    if after == before:
        return rest, errors
    errors += _narrowing_errors(SPEC.child("affinity", "nodeAffinity"), after, before)
    affinity = rest.affinity
    if affinity is None:
        affinity = Affinity(node_affinity=before)
    elif old.affinity is None and affinity.pod_affinity is None and affinity.pod_anti_affinity is None:
        affinity = None
    else:
        affinity = change(affinity, node_affinity=before)
    return change(rest, affinity=affinity), errors


def _node_affinity(affinity: Affinity | None) -> NodeAffinity | None:
    return None if affinity is None else affinity.node_affinity


def _required(affinity: NodeAffinity | None) -> NodeSelector | None:
    return None if affinity is None else affinity.required_during_scheduling_ignored_during_execution


def _narrowing_errors(path: Path, new: NodeAffinity | None, old: NodeAffinity | None) -> Errors:
    """Return errors for required terms with fewer or other expressions; a pod without terms may get any."""
    before = _required(old)
    if before is None or not before.node_selector_terms:
        return []
    after = _required(new)
    here = path.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = after.node_selector_terms if after is not None else ()
    if len(terms) != len(before.node_selector_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [fields.invalid(here, terms, text)]
    errors: Errors = []
    for position, (term, kept) in enumerate(zip(terms, before.node_selector_terms, strict=True)):
        matches_all = not kept.match_expressions and not kept.match_fields
        if (
            (matches_all and term != kept)
            or term.match_expressions[: len(kept.match_expressions)] != kept.match_expressions
            or term.match_fields[: len(kept.match_fields)] != kept.match_fields
        ):
            text = "only additions are allowed (no mutations or deletions)"
            errors.append(fields.invalid(here.index(position), term, text))
    return errors


def validate_ephemeral_update(new: Pod, old: Pod) -> Errors:
    """Return errors for changed or removed ephemeral containers; other changes were already dropped."""
    if MIRROR_ANNOTATION in old.metadata.annotations:
        refusal = fields.forbidden(Path(), "static pods do not support ephemeral containers")
        return [checks.error_of_whole_object(refusal)]
    errors = validate_pod(new) + annotation_changes(new, old)
    where = SPEC.child("ephemeralContainers")
    present = {container.name: container for container in new.spec.ephemeral_containers}
    for container in old.spec.ephemeral_containers:
        found = present.get(container.name)
        if found is None:
            text = f'existing ephemeral containers "{container.name}" may not be removed\n'
            errors.append(fields.forbidden(where, text))
        elif found != container:
            text = f'existing ephemeral containers "{container.name}" may not be changed\n'
            errors.append(fields.forbidden(where, text + describe(container, found)))
    return errors
