"""Pods of every shape that counts for a node's resources, and what each of them requests by the documents.

The sums here are computed apart from the product's, so that a mistake in one of them shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import Container, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.node_v1 import Overhead, RuntimeClass
from podling.machinery.quantity import parse
from tests.support.kubelet_node import pod

SHAPES = ("plain", "init", "sidecar", "sidecar-init", "pod-level", "overhead", "stubborn")
OVERHEAD_CLASS = RuntimeClass(
    metadata=ObjectMeta(name="sandboxed"),
    handler="sim",
    overhead=Overhead(pod_fixed={"cpu": "250m", "memory": "128Mi"}),
)

Amounts = Mapping[str, int]
"""Thousandths by resource."""


def resources(cpu: str, *, limited: bool) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "1Gi"}
    return {"requests": amounts, **({"limits": amounts} if limited else {})}


def shaped_pod(name: str, shape: str, cpu: str, *, limited: bool, seconds: float | None) -> Pod:
    """Return a pod that is not restarted; its container ``app`` ends after ``seconds``, if ever.

    A stubborn one ends with its grace period only.
    """
    own = resources(cpu, limited=limited)
    app: dict[str, Any] = {"name": "app", "image": "app:1"}
    spec: dict[str, Any] = {"restartPolicy": "Never"}
    if shape == "pod-level":
        spec["resources"] = own
    else:
        app["resources"] = own
    first = {"name": "first", "image": "app:1", "resources": resources("2", limited=False)}
    side = {"name": "side", "image": "app:1", "resources": resources("500m", limited=limited)}
    side["restartPolicy"] = "Always"
    spec["initContainers"] = {"init": [first], "sidecar": [side], "sidecar-init": [side, first]}.get(
        shape, []
    )
    if shape == "overhead":
        spec["runtimeClassName"] = OVERHEAD_CLASS.metadata.name
    scripts: dict[str, dict[str, Any]] = {
        "app": {"runs": [{"seconds": seconds}], "ignoresSignals": shape == "stubborn"},
        "first": {"runs": [{"seconds": 2}]},
    }
    return pod(name, containers=[app], scripts=scripts, **spec)


def resize_of(shape: str, cpu: str, *, limited: bool) -> dict[str, Any]:
    """Return the patch that gives a pod of this shape another size."""
    own = resources(cpu, limited=limited)
    if shape == "pod-level":
        return {"spec": {"resources": own}}
    return {"spec": {"containers": [{"name": "app", "resources": own}]}}


class Granted:
    """The amounts that each pod holds of its node, by what the API showed of it so far."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Amounts] = {}

    def total(self, found: Pod) -> Amounts:
        """Return the requests of a pod as granted: the most at any time, or the pod's own, plus overhead."""
        spec, statuses = found.spec, (*found.status.init_container_statuses, *found.status.container_statuses)
        shown = {status.name: status.allocated_resources for status in statuses}
        sidecars: Amounts = {}
        most: Amounts = {}
        for container in spec.init_containers:
            own = self._container(found, container, shown)
            if container.restart_policy == "Always":
                sidecars = _sum(sidecars, own)
            else:
                most = _most(most, _sum(sidecars, own))
        running = sidecars
        for container in spec.containers:
            running = _sum(running, self._container(found, container, shown))
        total = dict(_most(most, running))
        if spec.resources is not None:
            total |= self._known(found, "", found.status.allocated_resources, spec.resources.requests)
        return _sum(total, _milli(spec.overhead))

    def _container(self, found: Pod, container: Container, shown: Mapping[str, Mapping[str, str]]) -> Amounts:
        name = container.name
        return self._known(found, name, shown.get(name, {}), container.resources.requests)

    def _known(self, found: Pod, name: str, shown: Mapping[str, str], wanted: Mapping[str, str]) -> Amounts:
        """Return what is shown as allocated; else no more than what was shown before and what is wanted."""
        key, spec = (found.metadata.uid or "", name), _milli(wanted)
        if shown:
            self._seen[key] = _milli(shown)
        else:
            before = self._seen.get(key, spec)
            self._seen[key] = {each: min(spec[each], before.get(each, spec[each])) for each in spec}
        return self._seen[key]


def documented_class(found: Pod) -> str:
    """Return the class of service that the documents give to a pod."""
    spec = found.spec
    parts = [each.resources for each in (*spec.init_containers, *spec.containers)]
    if spec.resources is not None:
        parts = [spec.resources]
    if not any(part.requests or part.limits for part in parts):
        return "BestEffort"
    for part in parts:
        if _milli(part.requests) != _milli(part.limits) or set(part.limits) != {"cpu", "memory"}:
            return "Burstable"
    return "Guaranteed"


def _milli(amounts: Mapping[str, str]) -> Amounts:
    return {name: parse(amount).milli_value for name, amount in amounts.items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {*one, *other}}
