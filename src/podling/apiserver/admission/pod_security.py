"""PodSecurity: a namespace's labels, or the plugin's configuration, say how much its pods may do.

``pod-security.kubernetes.io/enforce`` refuses pods, ``.../warn`` warns of them, ``.../audit`` logs them.
Templates of workloads are not refused: their pods are, when they are made. Without labels and configuration
everything is allowed.

Upstream: ``staging/src/k8s.io/pod-security-admission/admission``.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from podling import clock, turns
from podling.api.core_v1 import Namespace, Pod, PodSpec
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.admission.configuration.types import PodSecurityConfiguration
from podling.apiserver.admission.pod_security_checks import violations
from podling.apiserver.admission.pod_security_policy import (
    PREFIX,
    SAYING,
    LevelVersion,
    Policy,
    default_policy,
    exemption_warning,
    is_privileged,
    is_tightened,
    policy_of,
)
from podling.apiserver.admission.pod_security_warnings import Violators, prioritized
from podling.machinery import errors
from podling.machinery.fields import FieldError, aggregate
from podling.machinery.scheme import Resource

log = logging.getLogger(__name__)

PODS_MAX = 3000
"""Most existing pods that are checked against the new level of their namespace."""

CHECK_SECONDS = 1.0
"""Longest time for that."""

_PIECE = 50
"""Pods that are checked in one turn of the loop."""

_TEMPLATES = frozenset({
    ("", "podtemplates"), ("", "replicationcontrollers"), ("apps", "daemonsets"), ("apps", "deployments"),
    ("apps", "replicasets"), ("apps", "statefulsets"), ("batch", "cronjobs"), ("batch", "jobs"),
})  # fmt: skip
_WRITES = (Operation.CREATE, Operation.UPDATE)


class PodSecurity(Plugin):
    name = "PodSecurity"

    def __init__(self, configuration: PodSecurityConfiguration | None = None) -> None:
        given = configuration or PodSecurityConfiguration()
        self._defaults = default_policy(given.defaults)
        self._exempt = given.exemptions
        self._allows_all = is_privileged(self._defaults)
        """A namespace without labels needs no look."""

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        key = (resource.group, resource.plural)
        if operation not in _WRITES:
            return False
        if key == ("", "pods"):
            return subresource in ("", "ephemeralcontainers")
        return not subresource and (key in _TEMPLATES or key == ("", "namespaces"))

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.resource.plural == "namespaces":
            await self._validate_namespace(request, objects)
            return
        if request.namespace in self._exempt.namespaces or request.user.name in self._exempt.usernames:
            return
        namespace = objects.get(Namespace, request.namespace)
        labels = namespace.metadata.labels if namespace is not None else {}
        if self._allows_all and SAYING.isdisjoint(labels):
            return
        policy, problems = policy_of(labels, self._defaults)
        spec = pod_spec_of(request.object)
        if spec is None or spec.runtime_class_name in self._exempt.runtime_classes:
            return
        is_pod = request.resource.plural == "pods"
        if is_pod and request.old is not None and not _is_significant(spec, request.old.spec):
            return
        if problems:
            log.info("%serror: Failed to parse policy: %s", PREFIX, aggregate(problems))
        _judge(request, policy, spec, enforces=is_pod)

    async def _validate_namespace(self, request: AdmissionRequest, objects: Objects) -> None:
        labels = request.object.metadata.labels
        policy, problems = policy_of(labels, self._defaults)
        before: Policy | None = None
        known: list[FieldError] = []
        if request.old is not None:
            before, known = policy_of(request.old.metadata.labels, self._defaults)
        if problems and problems != known:
            raise errors.invalid("Namespace", "", request.name, problems)
        if before is not None and not is_tightened(policy.enforce, before.enforce):
            return
        if request.name in self._exempt.namespaces:
            warning = exemption_warning(request.name, policy, labels, self._defaults)
            request.warnings.extend([warning] if warning else [])
        elif before is not None:
            request.warnings.extend(await self._violators(request.name, policy.enforce, objects))

    async def _violators(self, namespace: str, enforce: LevelVersion, objects: Objects) -> list[str]:
        """Return warnings of the namespace's pods that violate a level."""
        pods = prioritized(await objects.list(Pod, namespace), self._exempt.runtime_classes)
        found, deadline = Violators(enforce), clock.monotonic() + CHECK_SECONDS
        for start in range(0, min(len(pods), PODS_MAX), _PIECE):
            await turns.take()
            found.check(pods[start : min(start + _PIECE, PODS_MAX)])
            if clock.monotonic() > deadline:
                break
        return found.warnings(namespace, len(pods))


def _judge(request: AdmissionRequest, policy: Policy, spec: PodSpec, *, enforces: bool) -> None:
    """Refuse, log or warn of a pod spec that violates the policy. Raises ``ApiError``."""
    modes = {policy.audit, policy.warn} | ({policy.enforce} if enforces else set())
    found = {mode: _violated(mode, spec) for mode in modes}  # modes often share a level
    if found[policy.audit]:
        log.info("%saudit-violations: would violate PodSecurity %s", PREFIX, found[policy.audit])
    if enforces and found[policy.enforce]:
        raise request.forbidden(f"violates PodSecurity {found[policy.enforce]}")
    if found[policy.warn]:
        request.warnings.append(f"would violate PodSecurity {found[policy.warn]}")


def _violated(mode: LevelVersion, spec: PodSpec) -> str:
    """Return the violations of a mode's level: ``"baseline:latest": ...``; empty if there are none."""
    found = violations(spec, mode.level, mode.version)
    return f"{json.dumps(str(mode))}: {', '.join(map(str, found))}" if found else ""


def _is_significant(new: PodSpec, old: PodSpec) -> bool:
    """Return whether an update of a pod changes what can still change of what the levels are about."""
    if len(new.containers) != len(old.containers) or len(new.init_containers) != len(old.init_containers):
        return True
    pairs = (*zip(new.containers, old.containers), *zip(new.init_containers, old.init_containers))  # noqa: B905
    images = {each.name: each.image for each in old.ephemeral_containers}
    return any(one.image != other.image for one, other in pairs) or any(
        images.get(each.name) != each.image for each in new.ephemeral_containers
    )


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
