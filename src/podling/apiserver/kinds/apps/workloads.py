"""Rules that all workload kinds share: a selector, a template that it must match, a number of replicas.

Upstream: ``ValidatePodTemplateSpecForReplicaSet`` and ``ValidateDeploymentSpec`` in
``pkg/apis/apps/validation/validation.go``; ``ScaleREST`` in ``pkg/registry/apps/*/storage``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from podling.api.autoscaling_v1 import Scale, ScaleSpec, ScaleStatus
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.apiserver.kinds.apps.scales import SCALES
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, View
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.pod_unsupported import unsupported_fields
from podling.apiserver.kinds.pod.pod_validation import validate_pod_template
from podling.apiserver.kinds.pod.pod_warnings import spec_warnings
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path
from podling.machinery.selectors import NOTHING, SelectorError, from_label_selector, from_labels

SPEC = Path("spec")
TEMPLATE = SPEC.child("template")
UNFIT_NAME = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS "
    "label is recommended"
)


def selector_errors(selector: LabelSelector | None) -> Errors:
    """Return the errors in a required selector, which may not be empty.

    The types hold the selector by value, so an empty selector equals a missing one.
    """
    path = SPEC.child("selector")
    if selector is None or selector == LabelSelector():
        return [fields.required(path)]
    return label_checks.label_selector(path, selector)


def template_errors(template: PodTemplateSpec | None, selector: LabelSelector | None, kind: str) -> Errors:
    """Return the errors in the template of a kind with selected pods that always restart."""
    if template is None:
        return [fields.required(TEMPLATE)]
    return selector_match_errors(template, selector) + long_running_pod_errors(template, kind)


def long_running_pod_errors(template: PodTemplateSpec, kind: str) -> Errors:
    """Return the errors in a template of pods that always restart."""
    errors = validate_pod_template(TEMPLATE, template)
    policy = template.spec.restart_policy
    if policy != "Always":
        errors.append(fields.not_supported(TEMPLATE.child("spec", "restartPolicy"), policy, ("Always",)))
    if template.spec.active_deadline_seconds is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(fields.forbidden(TEMPLATE.child("spec", "activeDeadlineSeconds"), text))
    return errors


def selector_match_errors(template: PodTemplateSpec, selector: LabelSelector | None) -> Errors:
    """Return an error unless the selector matches the template's labels."""
    labels = template.metadata.labels
    try:
        wanted = NOTHING if selector in (None, LabelSelector()) else from_label_selector(selector)
    except SelectorError:
        return []  # ``selector_errors`` reports the errors in the selector itself
    if wanted.matches(labels):
        return []
    where = TEMPLATE.child("metadata", "labels")
    return [fields.invalid(where, labels, "`selector` does not match template `labels`")]


def status_errors(
    status: Any, old: Any, counts: Mapping[str, str], parts: Sequence[str], ready: str
) -> Errors:
    """Return errors for negative counts, parts above the whole, and a falling count of collisions.

    ``counts`` maps JSON names to attributes; ``parts`` are those that may not exceed ``replicas``. ``ready``
    is the name that messages use for the ready pods.
    """
    path = Path("status")
    errors: Errors = []
    for name, attribute in counts.items():
        errors += checks.non_negative(path.child(name), getattr(status, attribute))
    for name in parts:
        count = getattr(status, counts[name]) or 0
        if count > (status.replicas or 0):
            errors.append(fields.invalid(path.child(name), count, "cannot be greater than status.replicas"))
    available = status.available_replicas or 0
    if available > (status.ready_replicas or 0):
        where = path.child("availableReplicas")
        errors.append(fields.invalid(where, available, f"cannot be greater than {ready}"))
    return errors + collision_errors(status, old)


def collision_errors(status: Any, old: Any) -> Errors:
    """Return an error if the count of name collisions falls."""
    before, after = getattr(old, "collision_count", None), getattr(status, "collision_count", None)
    if before is None or (after or 0) >= before:
        return []
    where = Path("status").child("collisionCount")
    return [fields.invalid(where, after or 0, "cannot be decremented")]


def template_warnings(path: Path, template: PodTemplateSpec | None) -> list[str]:
    """Return the warnings about the pods of the template at ``path``."""
    if template is None:
        return []
    unsupported = [f"{path}.{text}" for text in unsupported_fields(template.spec)]
    return spec_warnings(path, template.spec, template.metadata) + unsupported


def workload_warnings(new: Any, old: Any | None, intent: Callable[[Any], Any]) -> list[str]:
    """Return the warnings about the template of a new (``old`` is None) or changed workload."""
    changed = old is None or intent(new) != intent(old)
    return template_warnings(TEMPLATE, new.spec.template) if changed else []


def name_warnings(obj: Any, old: Any | None) -> list[str]:
    """Return a warning if a new workload's name is not a DNS label: it becomes the prefix of host names."""
    problems = names.dns_label_errors(obj.metadata.name or "") if old is None else []
    return [f"{UNFIT_NAME}: [{' '.join(problems)}]"] if problems else []


def show_scale(obj: Any) -> Scale:
    """Return the ``scale`` subresource of a workload."""
    metadata = obj.metadata
    selector = obj.spec.selector
    found = from_label_selector(selector) if isinstance(selector, LabelSelector) else from_labels(selector)
    return Scale(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            creation_timestamp=metadata.creation_timestamp,
        ),
        spec=ScaleSpec(replicas=obj.spec.replicas),
        status=ScaleStatus(replicas=obj.status.replicas or 0, selector=str(found)),
    )


def put_scale(obj: Any, scale: Scale, context: Context) -> Any:
    """Return the workload with the number of replicas of ``scale``."""
    return change(obj, spec=change(obj.spec, replicas=scale.spec.replicas or 0))


def scale_errors(scale: Scale) -> Errors:
    """Return the errors in a new scale."""
    return checks.non_negative(SPEC.child("replicas"), scale.spec.replicas)


SCALE = View(Scale, show_scale, put_scale, scale_errors, table=SCALES)


def ready_text(ready: int | None, desired: int | None) -> str:
    """Return the READY cell: ``2/3``."""
    return f"{ready or 0}/{desired or 0}"
