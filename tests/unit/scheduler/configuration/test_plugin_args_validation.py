"""Validation of the arguments of plugins, in Kubernetes' words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podling.machinery.feature_gates import NO_GATES
from podling.scheduler.configuration.files import ConfigurationRefused, configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND, KubeSchedulerConfiguration

SCORING = {"StorageCapacityScoring": True}


def with_args(plugin: str, gates: Mapping[str, bool] = NO_GATES, **args: Any) -> KubeSchedulerConfiguration:
    profiles = [{"pluginConfig": [{"name": plugin, "args": args}]}]
    return configuration_of({"apiVersion": API_VERSION, "kind": KIND, "profiles": profiles}, "file", gates)


def refusal(plugin: str, gates: Mapping[str, bool] = NO_GATES, **args: Any) -> str:
    with pytest.raises(ConfigurationRefused) as refused:
        with_args(plugin, gates, **args)
    return str(refused.value).partition("error: ")[2]


def node_affinity(key: str, *names: str) -> dict[str, Any]:
    required = {"matchExpressions": [{"key": key, "operator": "In", "values": ["v"]}]}
    preferred = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}
    return {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [required]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": preferred}],
        }
    }


def spread(*constraints: dict[str, Any], kind: str = "List") -> dict[str, Any]:
    return {"defaultConstraints": list(constraints), "defaultingType": kind}


def constraint(**changed: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": "node", "whenUnsatisfiable": "DoNotSchedule", **changed}


def ratio(*points: tuple[int, int], **more: Any) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    kind = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}, **more}
    return {"scoringStrategy": kind}


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 10}),
        ("PodTopologySpread", spread(constraint(), constraint(whenUnsatisfiable="ScheduleAnyway"))),
        ("PodTopologySpread", spread()),
        ("PodTopologySpread", spread(kind="System")),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory"}]},
        ),
        ("NodeAffinity", {}),
        ("NodeAffinity", node_affinity("label-1", "node-1")),
        ("VolumeBinding", {"bindTimeoutSeconds": 0}),
        ("VolumeBinding", {"bindTimeoutSeconds": 10}),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/foo"], "ignoredResourceGroups": ["foo"]}),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated"}}),
        ("NodeResourcesFit", ratio((0, 5), (30, 3), (50, 2))),
    ],
)
def test_valid_arguments_are_accepted(plugin: str, args: dict[str, Any]) -> None:
    assert with_args(plugin, **args).profiles


@pytest.mark.parametrize(
    ("plugin", "args", "wrong"),
    [
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": -1},
            ["minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 900},
            ["minCandidateNodesPercentage: Invalid value: 900: not in valid range [0, 100]"],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesAbsolute": -1},
            ["minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
                "minCandidateNodesAbsolute",
                "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as "
                "minCandidateNodesPercentage",
            ],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": -1},
            ["hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]"],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            ["hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            "PodTopologySpread",
            spread(constraint(maxSkew=-1)),
            ["defaultConstraints[0].maxSkew: Invalid value: -1: not in valid range (0, inf)"],
        ),
        (
            "PodTopologySpread",
            spread(constraint(topologyKey="")),
            ["defaultConstraints[0].topologyKey: Required value: can not be empty"],
        ),
        (
            "PodTopologySpread",
            spread(constraint(whenUnsatisfiable="")),
            ["defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"],
        ),
        (
            "PodTopologySpread",
            spread(constraint(whenUnsatisfiable="unknown action")),
            [
                'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "unknown action": supported '
                'values: "DoNotSchedule", "ScheduleAnyway"'
            ],
        ),
        (
            "PodTopologySpread",
            spread(constraint(), constraint(maxSkew=2)),
            ['defaultConstraints[1]: Duplicate value: "{node, DoNotSchedule}"'],
        ),
        (
            "PodTopologySpread",
            spread(constraint(labelSelector={"matchLabels": {"a": "b"}})),
            [
                "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as "
                "they deduced for each pod"
            ],
        ),
        (
            "PodTopologySpread",
            spread(kind="unknown"),
            ['defaultingType: Unsupported value: "unknown": supported values: "System", "List"'],
        ),
        (
            "PodTopologySpread",
            spread(constraint(), kind="System"),
            ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            ["resources[0].weight: Invalid value: 2: must be 1"],
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            ['resources[1].name: Duplicate value: "cpu"'],
        ),
        (
            "VolumeBinding",
            {"bindTimeoutSeconds": -10},
            [
                "bindTimeoutSeconds: Invalid value: -10: invalid BindTimeoutSeconds, should not be a "
                "negative value"
            ],
        ),
        (
            "VolumeBinding",
            {"shape": [{"utilization": 1, "score": 1}]},
            [
                'shape: Invalid value: [{"utilization":1,"score":1}]: unexpected field `shape`, remove it or '
                "turn on the feature gate StorageCapacityScoring"
            ],
        ),
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["foo/bar"]},
            ["ignoredResourceGroups[0]: Invalid value: \"foo/bar\": resource group name can't contain '/'"],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Invalid"}},
            [
                'scoringStrategy.type: Unsupported value: "Invalid": supported values: "LeastAllocated", '
                '"MostAllocated", "RequestedToCapacityRatio"'
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
            [
                "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in "
                "valid range (0, 100]"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": -1}]}},
            [
                "scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of cpu not in valid "
                "range (0, 100]"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            [
                "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
                "RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio((0, 1), type="LeastAllocated"),
            [
                "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
                "RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio(),
            [
                "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be "
                "specified"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio((10, 1), (10, 2)),
            [
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 10: values "
                "must be sorted in increasing order"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio((-10, 3), (101, 11)),
            [
                "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: -10: not in "
                "valid range [0, 100]",
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 101: not in "
                "valid range [0, 100]",
                "scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not in valid "
                "range [0, 10]",
            ],
        ),
    ],
)
def test_invalid_arguments_are_refused(plugin: str, args: dict[str, Any], wrong: list[str]) -> None:
    texts = [f"profiles[0].pluginConfig[0].args.{each}" for each in wrong]
    assert refusal(plugin, **args) == (texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def test_added_affinity_is_validated() -> None:
    text = refusal("NodeAffinity", **node_affinity("invalid/label/key", "node-1", "node-2"))
    where = "profiles[0].pluginConfig[0].args.addedAffinity"
    required = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution[0].matchFields[0].values"
    assert f'{where}.{required}: Invalid value: "invalid/label/key"' in text
    assert f'{where}.{preferred}: Invalid value: ["node-1","node-2"]: must have one element' in text


def points(*shape: tuple[int, int]) -> dict[str, Any]:
    return {"shape": [{"utilization": utilization, "score": score} for utilization, score in shape]}


@pytest.mark.parametrize("args", [{}, points(), points((0, 0), (100, 10)), points((10, 5), (20, 1))])
def test_shape_is_accepted_with_its_feature_gate(args: dict[str, Any]) -> None:
    """The cases of ``TestValidateVolumeBindingArgs`` with the gate."""
    assert with_args("VolumeBinding", SCORING, **args).profiles


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            points((100, 1), (0, 1)),
            "shape[1].utilization: Invalid value: 0: values must be sorted in increasing order",
        ),
        (points((101, 1)), "shape[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
        (points((0, 11)), "shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
    ],
)
def test_shape_is_validated_with_its_feature_gate(args: dict[str, Any], text: str) -> None:
    assert refusal("VolumeBinding", SCORING, **args) == f"profiles[0].pluginConfig[0].args.{text}"
