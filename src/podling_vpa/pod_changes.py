"""The changes of a new pod by its autoscaler. Pure.

Upstream: ``admission-controller/resource/pod/patch``.
"""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import Container, Pod
from podling.machinery.names import dns_label_errors
from podling_vpa.amounts import RequestsAndLimits, texts
from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.names import OBSERVED_CONTAINERS, RESOURCES, UPDATES_ANNOTATION
from podling_vpa.pod_resources import pod_resources
from podling_vpa.types import VerticalPodAutoscaler

SEPARATOR = ", "


def with_recommendation(pod: Pod, autoscaler: VerticalPodAutoscaler, limits: NamespaceLimits) -> Pod:
    """Return the pod with the recommended requests and limits, and annotations that say so."""
    found = pod_resources(autoscaler, pod, limits)
    containers, updates = [], []
    for place, (container, new) in enumerate(zip(pod.spec.containers, found.containers, strict=True)):
        containers.append(with_resources(container, new))
        # Upstream counts a container without any resources as updated: it gets an empty field.
        if not new.is_empty or not (container.resources.requests or container.resources.limits):
            said = [*found.notes.get(container.name, ()), *_names_of(new)]
            updates.append(f"container {place}: {SEPARATOR.join(said)}")
    names = SEPARATOR.join(each.name for each in pod.spec.containers)
    annotations = {**pod.metadata.annotations, OBSERVED_CONTAINERS: names}
    if updates:
        text = f"Pod resources updated by {autoscaler.metadata.name}: {'; '.join(updates)}"
        annotations[UPDATES_ANNOTATION] = text
    return structs.replace(
        pod,
        metadata=structs.replace(pod.metadata, annotations=annotations),
        spec=structs.replace(pod.spec, containers=tuple(containers)),
    )


def with_resources(container: Container, new: RequestsAndLimits) -> Container:
    """Return the container with these resources in place of those of the same names."""
    held = container.resources
    resources = structs.replace(
        held,
        requests={**held.requests, **texts(new.requests)},
        limits={**held.limits, **texts(new.limits)},
    )
    return container if resources == held else structs.replace(container, resources=resources)


def _names_of(new: RequestsAndLimits) -> list[str]:
    requests = [f"{name} request" for name in RESOURCES if name in new.requests]
    return requests + [f"{name} limit" for name in RESOURCES if name in new.limits]


def observed_containers(pod: Pod) -> frozenset[str] | None:
    """Return the names of the containers that the pod had at its admission; None if they are unknown."""
    text = pod.metadata.annotations.get(OBSERVED_CONTAINERS)
    if text is None:
        return None
    names = text.split(SEPARATOR) if text else []
    return None if any(map(dns_label_errors, names)) else frozenset(names)
