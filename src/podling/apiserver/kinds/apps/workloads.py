"""What the workload kinds share: a selector, a template that it must match, and a number of replicas.

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
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.selectors import NOTHING, SelectorError, from_label_selector, from_labels

SPEC = Path("spec")
TEMPLATE = SPEC.child("template")
UNFIT_NAME = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS "
    "label is recommended"
)


def selector_errors(selector: LabelSelector | None) -> Errors:
    """A selector must be there and select something.

    An empty selector cannot be told from a missing one: the types hold it by value.
    """
    path = SPEC.child("selector")
    if selector is None or selector == LabelSelector():
        return [fields.required(path)]
    return checks.label_selector(path, selector)


def template_errors(template: PodTemplateSpec | None, selector: LabelSelector | None, kind: str) -> Errors:
    """The template of a kind whose pods run for ever and are found by ``selector``."""
    if template is None:
        return [fields.required(TEMPLATE)]
    return selector_match_errors(template, selector) + lasting_pod_errors(template, kind)


def lasting_pod_errors(template: PodTemplateSpec, kind: str) -> Errors:
    """A template whose pods run for ever."""
    errors = validate_pod_template(TEMPLATE, template)
    policy = template.spec.restart_policy
    if policy != "Always":
        errors.append(fields.not_supported(TEMPLATE.child("spec", "restartPolicy"), policy, ("Always",)))
    if template.spec.active_deadline_seconds is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(fields.forbidden(TEMPLATE.child("spec", "activeDeadlineSeconds"), text))
    return errors


def selector_match_errors(template: PodTemplateSpec, selector: LabelSelector | None) -> Errors:
    """The kind must find the pods it makes."""
    labels = template.metadata.labels
    try:
        wanted = NOTHING if selector in (None, LabelSelector()) else from_label_selector(selector)
    except SelectorError:
        return []  # what is wrong with the selector itself has been said
    if wanted.matches(labels):
        return []
    where = TEMPLATE.child("metadata", "labels")
    return [fields.invalid(where, labels, "`selector` does not match template `labels`")]


def status_errors(
    status: Any, old: Any, counts: Mapping[str, str], parts: Sequence[str], ready: str
) -> Errors:
    """Counts are not negative, parts are not more than the whole, and collisions are not forgotten.

    ``counts`` are JSON names to attributes, and ``parts`` those of them that ``replicas`` is the whole of.
    ``ready`` is what the message calls the number of ready pods.
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
    """The count of name collisions only rises."""
    before, after = getattr(old, "collision_count", None), getattr(status, "collision_count", None)
    if before is None or (after or 0) >= before:
        return []
    where = Path("status").child("collisionCount")
    return [fields.invalid(where, after or 0, "cannot be decremented")]


def template_warnings(path: Path, template: PodTemplateSpec | None) -> list[str]:
    """Warnings about the pods to come of a template at ``path``."""
    if template is None:
        return []
    unsupported = [f"{path}.{text}" for text in unsupported_fields(template.spec)]
    return spec_warnings(path, template.spec, template.metadata) + unsupported


def workload_warnings(new: Any, old: Any | None, intent: Callable[[Any], Any]) -> list[str]:
    """Warnings about the template of a workload that is new (``old`` is None), or whose intent changed."""
    changed = old is None or intent(new) != intent(old)
    return template_warnings(TEMPLATE, new.spec.template) if changed else []


def name_warnings(obj: Any, old: Any | None) -> list[str]:
    """The names of a new workload's pods begin with its own, and become host names."""
    problems = names.dns_label_errors(obj.metadata.name or "") if old is None else []
    return [f"{UNFIT_NAME}: [{' '.join(problems)}]"] if problems else []


def show_scale(obj: Any) -> Scale:
    """A workload as its ``scale`` subresource shows it."""
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
    """The workload with the number of replicas that ``scale`` asks for."""
    return change(obj, spec=change(obj.spec, replicas=scale.spec.replicas or 0))


def scale_errors(scale: Scale) -> Errors:
    """What is wrong with a scale that is put."""
    return checks.non_negative(SPEC.child("replicas"), scale.spec.replicas)


SCALE = View(Scale, show_scale, put_scale, scale_errors, table=SCALES)


def ready_of(ready: int | None, desired: int | None) -> str:
    """The READY cell: ``2/3``."""
    return f"{ready or 0}/{desired or 0}"
