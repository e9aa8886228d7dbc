"""The patch of a pod's ``resize``. Pure. Upstream: ``updater/inplace/resource_updates.go``."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Pod
from podling_vpa.amounts import texts
from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.pod_resources import pod_resources
from podling_vpa.types import VerticalPodAutoscaler


class NothingToResize(Exception):
    """No container of a pod has a recommendation."""


def resize_patch(
    autoscaler: VerticalPodAutoscaler, pod: Pod, limits: NamespaceLimits
) -> list[dict[str, Any]]:
    """Return the JSON patch that gives a pod its recommendation. Raises ``NothingToResize``."""
    found = pod_resources(autoscaler, pod, limits)
    patch: list[dict[str, Any]] = []
    for place, (container, new) in enumerate(zip(pod.spec.containers, found.containers, strict=True)):
        held, path = container.resources, f"/spec/containers/{place}/resources"
        if not held.requests and not held.limits:
            patch.append(_add(path, {}))
        parts = (("requests", held.requests, new.requests), ("limits", held.limits, new.limits))
        for field, old, amounts in parts:
            if not old and amounts:
                patch.append(_add(f"{path}/{field}", {}))
            patch += [_add(f"{path}/{field}/{name}", text) for name, text in texts(amounts).items()]
    if not patch:
        raise NothingToResize("no resource patches were calculated to apply")
    return patch


def _add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
