"""Warnings of a namespace's existing pods that violate the level it gets. Pure.

Upstream: ``EvaluatePodsInNamespace`` in ``staging/src/k8s.io/pod-security-admission/admission``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from podling.api.core_v1 import Pod
from podling.apiserver.admission.pod_security_checks import violations
from podling.apiserver.admission.pod_security_policy import LevelVersion


def prioritized(pods: Iterable[Pod], exempt_classes: Collection[str]) -> list[Pod]:
    """Return the pods without those of exempt runtime classes, and the further pods of a controller last."""
    first: list[Pod] = []
    further: list[Pod] = []
    seen: set[str] = set()
    for pod in pods:
        if pod.spec.runtime_class_name in exempt_classes:
            continue
        owner = next((each.uid for each in pod.metadata.owner_references if each.controller), "")
        (further if owner in seen else first).append(pod)
        if owner:
            seen.add(owner)
    return first + further


class Violators:
    """The pods that violate a level, by what they violate."""

    def __init__(self, enforce: LevelVersion) -> None:
        self._enforce = enforce
        self._checked = 0
        self._names: dict[str, list[str]] = {}

    def check(self, pods: Sequence[Pod]) -> None:
        """Note those of the pods that violate the level."""
        for pod in pods:
            found = violations(pod.spec, self._enforce.level, self._enforce.version)
            if found:
                reasons = ", ".join(each.reason for each in found)
                self._names.setdefault(reasons, []).append(pod.metadata.name or "")
        self._checked += len(pods)

    def warnings(self, namespace: str, total: int) -> list[str]:
        """Return the warnings for a namespace that has ``total`` pods to check."""
        warnings: list[str] = []
        if self._checked < total:
            warnings.append(
                f"new PodSecurity enforce level only checked against the first {self._checked} of {total} "
                "existing pods"
            )
        if self._names:
            warnings.append(
                f"existing pods in namespace {json.dumps(namespace)} violate the new PodSecurity enforce "
                f"level {json.dumps(str(self._enforce))}"
            )
        return warnings + sorted(f"{_counted(names)}: {why}" for why, names in self._names.items())


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    first = min(names)
    if not others:
        return first
    return f"{first} (and 1 other pod)" if others == 1 else f"{first} (and {others} other pods)"
