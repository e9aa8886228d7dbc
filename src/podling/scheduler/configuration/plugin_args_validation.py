"""Validation of the arguments of plugins, in Kubernetes' words. Pure.

Upstream: ``pkg/scheduler/apis/config/validation/validation_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.api.core_v1 import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
)
from podling.machinery import fields, names
from podling.machinery.feature_gates import NO_GATES, is_enabled
from podling.machinery.fields import FieldError, Path
from podling.scheduler.configuration.plugin_args import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    STORAGE_CAPACITY_SCORING,
    SYSTEM_DEFAULTING,
    Args,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

Errors = Iterator[FieldError]

_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def args_errors(path: Path, args: Args, gates: Mapping[str, bool] = NO_GATES) -> Errors:
    """Return what is wrong with the arguments of a plugin, defaults filled in."""
    match args:
        case DefaultPreemptionArgs():
            return _preemption(path, args)
        case DynamicResourcesArgs():
            return _dynamic_resources(path, args)
        case InterPodAffinityArgs():
            return _pod_affinity(path, args)
        case NodeAffinityArgs():
            return _node_affinity(path.child("addedAffinity"), args.added_affinity)
        case NodeResourcesBalancedAllocationArgs():
            return _balanced(path.child("resources"), args)
        case NodeResourcesFitArgs():
            return _fit(path, args)
        case PodTopologySpreadArgs():
            return _spread(path, args)
        case VolumeBindingArgs():
            return _volume_binding(path, args, is_enabled(STORAGE_CAPACITY_SCORING, gates))
        case _:
            return iter(())


def _preemption(path: Path, args: DefaultPreemptionArgs) -> Errors:
    share, number = args.min_candidate_nodes_percentage or 0, args.min_candidate_nodes_absolute or 0
    shares, numbers = path.child("minCandidateNodesPercentage"), path.child("minCandidateNodesAbsolute")
    if not 0 <= share <= 100:
        yield fields.invalid(shares, share, "not in valid range [0, 100]")
    if number < 0:
        yield fields.invalid(numbers, number, "not in valid range [0, inf)")
    if share == number == 0:
        yield fields.invalid(shares, 0, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield fields.invalid(numbers, 0, "cannot be zero at the same time as minCandidateNodesPercentage")


def _pod_affinity(path: Path, args: InterPodAffinityArgs) -> Errors:
    weight = args.hard_pod_affinity_weight or 0
    if not 0 <= weight <= 100:
        yield fields.invalid(path.child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _dynamic_resources(path: Path, args: DynamicResourcesArgs) -> Errors:
    if args.filter_timeout is not None:
        text = "DRASchedulingFilterTimeout feature gate is disabled"
        yield fields.forbidden(path.child("filterTimeout"), text)
    if args.binding_timeout is not None:
        text = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
        yield fields.forbidden(path.child("bindingTimeout"), text)


def _volume_binding(path: Path, args: VolumeBindingArgs, has_scores: bool) -> Errors:
    seconds = args.bind_timeout_seconds or 0
    if seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield fields.invalid(path.child("bindTimeoutSeconds"), seconds, text)
    if has_scores and args.shape:
        yield from _shape(path.child("shape"), args.shape)
    elif not has_scores and args.shape is not None:
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield fields.invalid(path.child("shape"), args.shape, text)


def _balanced(path: Path, args: NodeResourcesBalancedAllocationArgs) -> Errors:
    seen: set[str] = set()
    for number, resource in enumerate(args.resources):
        if resource.name in seen:
            yield fields.duplicate(path.index(number).child("name"), resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield fields.invalid(path.index(number).child("weight"), resource.weight, "must be 1")


def _fit(path: Path, args: NodeResourcesFitArgs) -> Errors:
    for number, name in enumerate(args.ignored_resources):
        yield from _label_name(path.child("ignoredResources").index(number), name)
    for number, group in enumerate(args.ignored_resource_groups):
        here = path.child("ignoredResourceGroups").index(number)
        if "/" in group:
            yield fields.invalid(here, group, "resource group name can't contain '/'")
        yield from _label_name(here, group)
    strategy = path.child("scoringStrategy")
    if args.scoring_strategy is None:
        yield fields.required(strategy, "ScoringStrategy field is required")
    else:
        yield from _strategy(strategy, args.scoring_strategy)


def _strategy(path: Path, strategy: ScoringStrategy) -> Errors:
    supported = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
    if strategy.type not in supported:
        yield fields.not_supported(path.child("type"), strategy.type, supported)
    for number, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            text = f"resource weight of {resource.name} not in valid range (0, 100]"
            here = path.child("resources").index(number).child("weight")
            yield fields.invalid(here, resource.weight, text)
    ratio, here = strategy.requested_to_capacity_ratio, path.child("requestedToCapacityRatio")
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            yield fields.forbidden(here, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        yield fields.required(here, "must be specified when type is RequestedToCapacityRatio")
    else:
        yield from _shape(here.child("shape"), ratio.shape)


def _shape(path: Path, shape: tuple[UtilizationShapePoint, ...]) -> Errors:
    if not shape:
        yield fields.required(path, "at least one point must be specified")
        return
    for number in range(1, len(shape)):
        if shape[number - 1].utilization >= shape[number].utilization:
            text = "values must be sorted in increasing order"
            yield fields.invalid(path.index(number).child("utilization"), shape[number].utilization, text)
            break
    for number, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            here = path.index(number).child("utilization")
            yield fields.invalid(here, point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield fields.invalid(path.index(number).child("score"), point.score, "not in valid range [0, 10]")


def _spread(path: Path, args: PodTopologySpreadArgs) -> Errors:
    here, chosen = path.child("defaultingType"), args.defaulting_type
    if chosen not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        yield fields.not_supported(here, chosen, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    elif chosen == SYSTEM_DEFAULTING and args.default_constraints:
        yield fields.invalid(here, chosen, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for number, constraint in enumerate(args.default_constraints):
        where = path.child("defaultConstraints").index(number)
        yield from _constraint(where, constraint)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            yield fields.duplicate(where, f"{{{key[0]}, {key[1]}}}")
        seen.add(key)


def _constraint(path: Path, constraint: TopologySpreadConstraint) -> Errors:
    if constraint.max_skew <= 0:
        yield fields.invalid(path.child("maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    key, action = path.child("topologyKey"), path.child("whenUnsatisfiable")
    if not constraint.topology_key:
        yield fields.required(key, "can not be empty")
    else:
        yield from _label_name(key, constraint.topology_key)
    supported = ("DoNotSchedule", "ScheduleAnyway")
    if not constraint.when_unsatisfiable:
        yield fields.required(action, "can not be empty")
    elif constraint.when_unsatisfiable not in supported:
        yield fields.not_supported(action, constraint.when_unsatisfiable, supported)
    if constraint.label_selector is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        yield fields.forbidden(path.child("labelSelector"), text)


def _node_affinity(path: Path, affinity: NodeAffinity | None) -> Errors:
    if affinity is None:
        return
    required = affinity.required_during_scheduling_ignored_during_execution
    for number, term in enumerate(required.node_selector_terms if required else ()):
        yield from _term(path.child(_REQUIRED, "nodeSelectorTerms").index(number), term)
    for number, each in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        yield from _term(path.child(_PREFERRED).index(number), each.preference)


def _term(path: Path, term: NodeSelectorTerm) -> Errors:
    for number, each in enumerate(term.match_expressions):
        yield from _expression(path.child("matchExpressions").index(number), each)
    for number, each in enumerate(term.match_fields):
        yield from _field(path.child("matchFields").index(number), each)


def _expression(path: Path, requirement: NodeSelectorRequirement) -> Errors:
    operator, values = requirement.operator, requirement.values
    for text in names.qualified_name_errors(requirement.key):
        yield fields.invalid(path.child("key"), requirement.key, text)
    here = path.child("values")
    if operator in ("In", "NotIn") and not values:
        yield fields.invalid(here, list(values), "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield fields.invalid(here, list(values), "values set must be empty for exists and does not exist")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield fields.invalid(here, list(values), "for 'Gt', 'Lt' operators, exactly one value is required")
    elif operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
        yield fields.not_supported(path.child("operator"), operator, ())
    for number, value in enumerate(values):
        for text in names.label_value_errors(value):
            yield fields.invalid(here.index(number), value, text)


def _field(path: Path, requirement: NodeSelectorRequirement) -> Errors:
    if requirement.key != "metadata.name":
        yield fields.not_supported(path.child("key"), requirement.key, ("metadata.name",))
    if requirement.operator not in ("In", "NotIn"):
        yield fields.not_supported(path.child("operator"), requirement.operator, ("In", "NotIn"))
    elif len(requirement.values) != 1:
        yield fields.invalid(path.child("values"), list(requirement.values), "must have one element")


def _label_name(path: Path, name: str) -> Errors:
    for text in names.qualified_name_errors(name):
        yield fields.invalid(path, name, text)
