"""Resources of sidecars that follow from those of the pod's containers. Pure.

Upstream: ``pkg/webhook/pod/mutating/sidecarset_resources.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from msgspec import structs

from podling.api.core_v1 import Container, Pod, ResourceRequirements
from podling.machinery import quantity
from podling.machinery.pods import is_sidecar
from podling.machinery.quantity import Quantity
from podling_kruise.sidecarset.expressions import ExpressionError, Value, as_quantity, evaluate
from podling_kruise.sidecarset.types import MODE_SUM, ResourceExpressions, ResourcesPolicy, SidecarContainer

NAMES = ("cpu", "memory")
Amounts = dict[str, Quantity]


class UnusablePolicy(ValueError):
    """The resources of a sidecar cannot be computed for a pod."""


def with_resources(sidecar: SidecarContainer, pod: Pod, sidecars: Collection[str]) -> SidecarContainer:
    """Return the sidecar with the resources that its policy gives it in a pod.

    Args:
        sidecars: the names of the containers that SidecarSets inject; their resources do not count.
    Raises ``UnusablePolicy``.
    """
    policy = sidecar.resources_policy
    if policy is None:
        return sidecar
    targets = _targets(policy, pod, sidecars)
    expressions = policy.resources_expr
    limits, requests = _aggregated(targets, policy.target_containers_mode)
    wanted = {name: requests.get(name, quantity.ZERO) for name in NAMES}
    found = ResourceRequirements(
        limits=_computed(expressions.limits, limits, "limits"),
        requests=_computed(expressions.requests, wanted, "requests"),
    )
    return structs.replace(sidecar, resources=found)


def _targets(policy: ResourcesPolicy, pod: Pod, sidecars: Collection[str]) -> list[Container]:
    """Return the pod's own containers whose names match."""
    text = policy.target_containers_name_regex
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UnusablePolicy(
            f'failed to get target containers: invalid regex pattern "{text}": {error}'
        ) from error
    candidates = (*(each for each in pod.spec.init_containers if is_sidecar(each)), *pod.spec.containers)
    found = [each for each in candidates if each.name not in sidecars and pattern.search(each.name)]
    if not found:
        raise UnusablePolicy(f'no containers match the regex pattern "{text}"')
    return found


def _aggregated(containers: Sequence[Container], mode: str) -> tuple[Amounts, Amounts]:
    """Return the sums or the largest of limits and of requests; a limit only if all containers have one."""
    join: Callable[[Quantity, Quantity], Quantity] = _sum if mode == MODE_SUM else max
    limits: Amounts = {}
    requests: Amounts = {}
    for name in NAMES:
        bounds = [each.resources.limits.get(name) for each in containers]
        if all(each is not None for each in bounds):
            limits[name] = _joined([each for each in bounds if each is not None], join)
        wanted = [each.resources.requests[name] for each in containers if name in each.resources.requests]
        if wanted:
            requests[name] = _joined(wanted, join)
    return limits, requests


def _sum(one: Quantity, other: Quantity) -> Quantity:
    return one + other


def _joined(texts: Sequence[str], join: Callable[[Quantity, Quantity], Quantity]) -> Quantity:
    first, *rest = map(quantity.parse, texts)
    for each in rest:
        first = join(first, each)
    return first


def _computed(expressions: ResourceExpressions | None, amounts: Amounts, what: str) -> dict[str, str]:
    """Return the values of the expressions for the amounts that there are."""
    found: dict[str, str] = {}
    if expressions is None:
        return found
    for name, text in zip(NAMES, (expressions.cpu, expressions.memory), strict=True):
        if text and name in amounts:
            try:
                value = evaluate(text, {name: amounts[name]})
            except ExpressionError as error:
                shown = "CPU" if name == "cpu" else name
                head = f"failed to evaluate {shown} {what} expression"
                raise UnusablePolicy(f'{head}: failed to parse expression "{text}": {error}') from error
            found[name] = str(_amount(value, name))
    return found


def _amount(value: Value, name: str) -> Quantity:
    """Return a value as an amount: a number is of cores, or of whole bytes."""
    if isinstance(value, Quantity) or name == "cpu":
        return as_quantity(value)
    return quantity.of(as_quantity(value).milli_value // 1000)
