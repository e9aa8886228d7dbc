"""PodSecurity: a namespace's labels say how much its pods may do.

``pod-security.kubernetes.io/enforce`` refuses pods, ``.../warn`` warns of them. Templates of workloads are
only warned of: their pods are refused when they are made. Without labels everything is allowed.

Upstream: ``staging/src/k8s.io/pod-security-admission/admission``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import Namespace, PodSpec
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.admission.pod_security_checks import LEVELS, PRIVILEGED, RESTRICTED, violations
from podling.machinery import errors, fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.scheme import Resource

PREFIX = "pod-security.kubernetes.io/"
MODES = ("enforce", "audit", "warn")
LATEST = "latest"
_SAYING = frozenset(f"{PREFIX}{mode}" for mode in MODES)
"""Labels of a namespace; with none of them everything is allowed."""

_TEMPLATES = frozenset({
    ("", "podtemplates"), ("", "replicationcontrollers"), ("apps", "daemonsets"), ("apps", "deployments"),
    ("apps", "replicasets"), ("apps", "statefulsets"), ("batch", "cronjobs"), ("batch", "jobs"),
})  # fmt: skip
_WRITES = (Operation.CREATE, Operation.UPDATE)


class PodSecurity(Plugin):
    name = "PodSecurity"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        key = (resource.group, resource.plural)
        if operation not in _WRITES:
            return False
        if key == ("", "pods"):
            return subresource in ("", "ephemeralcontainers")
        return not subresource and (key in _TEMPLATES or key == ("", "namespaces"))

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.resource.plural == "namespaces":
            problems = label_errors(request.object.metadata.labels)
            if problems:
                raise errors.invalid("Namespace", "", request.name, problems)
            return
        namespace = objects.get(Namespace, request.namespace)
        labels = namespace.metadata.labels if namespace is not None else {}
        if _SAYING.isdisjoint(labels):
            return
        spec = pod_spec_of(request.object)
        if spec is None or (request.old is not None and spec == pod_spec_of(request.old)):
            return
        refused = None
        if request.resource.plural == "pods":
            refused = _violated(labels, "enforce", spec)
            if refused:
                raise request.forbidden(f"violates PodSecurity {refused}")
        warned = _violated(labels, "warn", spec)
        if warned:
            request.warnings.append(f"would violate PodSecurity {warned}")


def pod_spec_of(obj: Any) -> PodSpec | None:
    """Return the pod spec of a pod, or of the pod template in a workload."""
    if hasattr(obj, "template"):
        return _template_spec(obj)
    spec = obj.spec
    if isinstance(spec, PodSpec):
        return spec
    return _template_spec(spec.job_template.spec if hasattr(spec, "job_template") else spec)


def _template_spec(holder: Any) -> PodSpec | None:
    template = holder.template
    return None if template is None else template.spec


def _violated(labels: Mapping[str, str], mode: str, spec: PodSpec) -> str:
    """Return the violations of the mode's level: ``"baseline:latest": ...``; empty if there are none."""
    level = labels.get(f"{PREFIX}{mode}", PRIVILEGED)
    if level not in LEVELS:
        level = RESTRICTED if mode == "enforce" else PRIVILEGED
    found = violations(spec, level)
    if not found:
        return ""
    version = labels.get(f"{PREFIX}{mode}-version", LATEST)
    return f'"{level}:{version}": {", ".join(map(str, found))}'


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    """Labels that do not name a level or a version."""
    found: list[FieldError] = []
    for mode in MODES:
        level = labels.get(f"{PREFIX}{mode}")
        if level is not None and level not in LEVELS:
            path = Path("metadata.labels").key(f"{PREFIX}{mode}")
            found.append(fields.invalid(path, level, f"must be one of {', '.join(LEVELS)}"))
        version = labels.get(f"{PREFIX}{mode}-version")
        if version is not None and not _is_version(version):
            path = Path("metadata.labels").key(f"{PREFIX}{mode}-version")
            found.append(fields.invalid(path, version, 'must be "latest" or "v1.x"'))
    return found


def _is_version(text: str) -> bool:
    minor = text.removeprefix("v1.")
    return text == LATEST or (text.startswith("v1.") and minor.isascii() and minor.isdigit())
