"""LimitRanger: limits and defaults for the containers, pods and claims of a namespace.

Upstream: ``plugin/pkg/admission/limitranger``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podling.api.core_v1 import Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.kinds.common.filling import change
from podling.machinery.pods import pod_limits, pod_requests
from podling.machinery.quantity import Quantity, parse
from podling.machinery.scheme import Resource

ANNOTATION = "kubernetes.io/limit-ranger"
"""Annotation with the requests and limits that a pod received as defaults."""

Amounts = Mapping[str, Quantity]


class LimitRanger(Plugin):
    name = "LimitRanger"
    acts_on = LimitRange

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if (resource.group, resource.plural) == ("", "pods"):
            # Resources of a pod change through this subresource only.
            wanted = Operation.UPDATE if subresource == "resize" else Operation.CREATE
            return subresource in ("", "resize") and operation is wanted
        if (resource.group, resource.plural) == ("", "persistentvolumeclaims"):
            return not subresource and operation in (Operation.CREATE, Operation.UPDATE)
        return False

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        if request.resource.plural != "pods" or request.subresource:
            return request.object
        pod: Pod = request.object
        for limits in await objects.list(LimitRange, request.namespace):
            pod = _with_defaults(pod, limits)
        return pod

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if request.old is not None and request.old.metadata.deletion_timestamp is not None:
            return
        found = pod_problems if request.resource.plural == "pods" else claim_problems
        for limits in await objects.list(LimitRange, request.namespace):
            problems = list(dict.fromkeys(found(request.object, limits)))
            if problems:
                raise request.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _with_defaults(pod: Pod, limits: LimitRange) -> Pod:
    """``pod`` with the defaults of one LimitRange, and an annotation that says what was set."""
    default_limits: dict[str, str] = {}
    default_requests: dict[str, str] = {}
    for item in limits.spec.limits:
        if item.type == "Container":
            default_limits.update(item.default)
            default_requests.update(item.default_request)
    if not default_limits and not default_requests:
        return pod
    notes: list[str] = []

    def completed(container: Container, kind: str) -> Container:
        own = container.resources
        limits_set = {k: v for k, v in default_limits.items() if k not in own.limits}
        requests_set = {k: v for k, v in default_requests.items() if k not in own.requests}
        if requests_set:
            notes.append(f"{', '.join(sorted(requests_set))} request for {kind} {container.name}")
        if limits_set:
            notes.append(f"{', '.join(sorted(limits_set))} limit for {kind} {container.name}")
        if not limits_set and not requests_set:
            return container
        resources = change(
            own, limits={**own.limits, **limits_set}, requests={**own.requests, **requests_set}
        )
        return change(container, resources=resources)

    spec = change(
        pod.spec,
        containers=tuple(completed(container, "container") for container in pod.spec.containers),
        init_containers=tuple(
            completed(container, "init container") for container in pod.spec.init_containers
        ),
    )
    if not notes:
        return pod
    annotations = {**pod.metadata.annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}
    return change(pod, spec=spec, metadata=change(pod.metadata, annotations=annotations))


def pod_problems(pod: Pod, limits: LimitRange) -> Iterator[str]:
    """Yield the pod's violations of the limits. The pod's overhead counts for none of them."""
    spec = change(pod.spec, overhead={})
    for item in limits.spec.limits:
        if item.type == "Container":
            for container in (*spec.containers, *spec.init_containers):
                requests = _amounts(container.resources.requests)
                yield from _problems(item, requests, _amounts(container.resources.limits))
        elif item.type == "Pod":
            yield from _problems(item, pod_requests(spec), pod_limits(spec))


def claim_problems(claim: PersistentVolumeClaim, limits: LimitRange) -> Iterator[str]:
    requests = _amounts(claim.spec.resources.requests)
    for item in limits.spec.limits:
        if item.type != "PersistentVolumeClaim":
            continue
        for name, least in _amounts(item.min).items():
            problem = _below(least, requests.get(name), None)
            if problem:
                yield f"minimum {name} usage per {item.type} is {least}{problem}"
        for name, most in _amounts(item.max).items():
            problem = _requested_above(most, requests.get(name))
            if problem:
                yield f"maximum {name} usage per {item.type} is {most}{problem}"


def _amounts(resources: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: parse(value) for name, value in resources.items()}


def _problems(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in _amounts(item.min).items():
        problem = _below(least, requests.get(name), limits.get(name))
        if problem:
            yield f"minimum {name} usage per {item.type} is {least}{problem}"
    for name, most in _amounts(item.max).items():
        problem = _above(most, requests.get(name), limits.get(name))
        if problem:
            yield f"maximum {name} usage per {item.type} is {most}{problem}"
    for name, ratio in _amounts(item.max_limit_request_ratio).items():
        problem = _ratio(ratio, requests.get(name), limits.get(name))
        if problem:
            yield f"{name} max limit to request ratio per {item.type} is {ratio}, but {problem}"


def _below(least: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if request is None:
        return ".  No request is specified"
    if request < least:
        return f", but request is {request}"
    if limit is not None and limit < least:
        return f", but limit is {limit}"
    return ""


def _requested_above(most: Quantity, request: Quantity | None) -> str:
    if request is None:
        return ".  No request is specified"
    return f", but request is {request}" if request > most else ""


def _above(most: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if limit is None:
        return ".  No limit is specified"
    if limit > most:
        return f", but limit is {limit}"
    if request is not None and request > most:
        return f", but request is {request}"
    return ""


def _ratio(most: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if not request:
        return "no request is specified or request is 0"
    if not limit:
        return "no limit is specified or limit is 0"
    if limit.nano * 1000 <= request.nano * most.milli_value:
        return ""
    return f"provided ratio is {limit.nano / request.nano:f}"
