"""The arguments of Kubernetes' plugins, with their defaults. Pure.

Upstream: ``types_pluginargs.go`` in ``k8s.io/kube-scheduler/config/v1``, and
``pkg/scheduler/apis/config/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import NodeAffinity, TopologySpreadConstraint
from podling.api.markers import INT32
from podling.scheduler.configuration.types import API_VERSION

LEAST_ALLOCATED, MOST_ALLOCATED = "LeastAllocated", "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
SYSTEM_DEFAULTING, LIST_DEFAULTING = "System", "List"
STORAGE_CAPACITY_SCORING = "StorageCapacityScoring"
"""The feature gate of ``VolumeBindingArgs.shape``."""

Int32 = Annotated[int, INT32]


class Args(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The base of all arguments; a file may name their version and kind."""

    api_version: str = API_VERSION
    kind: str = ""


class DefaultPreemptionArgs(Args, frozen=True, kw_only=True):
    min_candidate_nodes_percentage: Int32 | None = None
    min_candidate_nodes_absolute: Int32 | None = None


class InterPodAffinityArgs(Args, frozen=True, kw_only=True):
    hard_pod_affinity_weight: Int32 | None = None
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Args, frozen=True, kw_only=True):
    added_affinity: NodeAffinity | None = None


class ResourceSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str = ""
    weight: int = 0


class UtilizationShapePoint(Struct, frozen=True, kw_only=True):
    """A point of a scoring function: ``utilization`` in percent, ``score`` of 0 to 10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatio(Struct, frozen=True, kw_only=True, omit_defaults=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class NodeResourcesBalancedAllocationArgs(Args, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesFitArgs(Args, frozen=True, kw_only=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None


class PodTopologySpreadArgs(Args, frozen=True, kw_only=True):
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = ""


class VolumeBindingArgs(Args, frozen=True, kw_only=True):
    bind_timeout_seconds: int | None = None
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(Args, frozen=True, kw_only=True):
    filter_timeout: str | None = None
    binding_timeout: str | None = None


ARGS: Mapping[str, type[Args]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""The plugins of Kubernetes that take arguments."""

EMPTIEST_STORAGE = (
    UtilizationShapePoint(utilization=0, score=10),
    UtilizationShapePoint(utilization=100, score=0),
)
"""The default of ``VolumeBindingArgs.shape`` where its feature gate is on."""

CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


def args_with_defaults(args: Args) -> Args:
    """Return arguments in which what was left out has Kubernetes' default."""
    match args:
        case DefaultPreemptionArgs():
            percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
            return replace(
                args,
                min_candidate_nodes_percentage=10 if percentage is None else percentage,
                min_candidate_nodes_absolute=100 if absolute is None else absolute,
            )
        case InterPodAffinityArgs(hard_pod_affinity_weight=None):
            return replace(args, hard_pod_affinity_weight=1)
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_weighted(args.resources))
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy or ScoringStrategy(type=LEAST_ALLOCATED)
            strategy = replace(strategy, resources=_weighted(strategy.resources))
            return replace(args, scoring_strategy=strategy)
        case PodTopologySpreadArgs(defaulting_type=""):
            return replace(args, defaulting_type=SYSTEM_DEFAULTING)
        case VolumeBindingArgs(bind_timeout_seconds=None):
            return replace(args, bind_timeout_seconds=600)
        case _:
            return args


def default_args(plugin: str) -> Args | None:
    """Return the arguments of one of Kubernetes' plugins that was given none."""
    kind = ARGS.get(plugin)
    return args_with_defaults(kind()) if kind is not None else None


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Return resources with a weight: 1 where it is absent or 0."""
    if not resources:
        return CPU_AND_MEMORY
    return tuple(each if each.weight else replace(each, weight=1) for each in resources)
