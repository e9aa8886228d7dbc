"""The requests and limits of a pod as a whole, as its status shows them. Pure.

Every pod has them, also one without resources of its own: then they are those of its containers together
(``kubelet_pods.go`` convertToAPIPodLevelResourcesStatus).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.api.core_v1 import PodSpec, ResourceRequirements
from podling.kubelet.config import KubeletConfig
from podling.kubelet.resources import QUOTA_MIN, SHARES_MIN, pod_resources
from podling.machinery.pods import pod_limits, pod_requests
from podling.machinery.quantity import Quantity, parse


class PodSizes(Struct, frozen=True):
    """``total`` includes the containers and the overhead; ``in_force`` is what a running pod's cgroup has."""

    total: ResourceRequirements = ResourceRequirements()
    in_force: ResourceRequirements = ResourceRequirements()


def pod_sizes(spec: PodSpec, config: KubeletConfig) -> PodSizes:
    """Return the sizes of a pod; ``spec`` has the resources that were granted to it."""
    requests, limits = _texts(pod_requests(spec)), _texts(pod_limits(spec))
    own, cgroup = spec.resources or ResourceRequirements(), pod_resources(spec, config)
    shown = {"memory": requests["memory"]} if "memory" in requests else {}
    shown |= own.requests
    if (cgroup.cpu_shares or 0) > SHARES_MIN:
        shown["cpu"] = requests["cpu"]
    limited = dict(own.limits)
    if (cgroup.cpu_quota or 0) > QUOTA_MIN:
        limited["cpu"] = limits["cpu"]
    if cgroup.memory_limit is not None:
        limited["memory"] = limits["memory"]
    return PodSizes(
        total=ResourceRequirements(requests=requests, limits=limits),
        in_force=ResourceRequirements(
            requests=dict(sorted(shown.items())), limits=dict(sorted(limited.items()))
        ),
    )


def own_resources(
    spec: PodSpec, allocated: Mapping[str, str], in_force: ResourceRequirements
) -> ResourceRequirements:
    """Return the resources of the pod itself, from the sizes that its status shows.

    The sizes count the containers and the overhead as well.
    """
    own = spec.resources or ResourceRequirements()
    return ResourceRequirements(
        requests=_without(spec.overhead, allocated, own.requests),
        limits=_without(spec.overhead, in_force.limits, own.limits),
        claims=own.claims,
    )


def _without(
    overhead: Mapping[str, str], total: Mapping[str, str], wanted: Mapping[str, str]
) -> dict[str, str]:
    """Return the amounts of ``total`` that ``wanted`` has too, less the overhead."""
    amounts = {name: parse(total[name]) - parse(overhead.get(name, "0")) for name in wanted if name in total}
    return {
        name: wanted[name] if amount == parse(wanted[name]) else str(amount)
        for name, amount in amounts.items()
    }


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}
