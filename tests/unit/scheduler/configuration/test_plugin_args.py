"""Arguments of plugins with the defaults of Kubernetes."""

from __future__ import annotations

import pytest

from podling.scheduler.configuration.plugin_args import (
    Args,
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
    args_with_defaults,
)


def resources(**weights: int) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(name=name, weight=weight) for name, weight in weights.items())


def preemption(percentage: int | None, absolute: int | None) -> DefaultPreemptionArgs:
    return DefaultPreemptionArgs(
        min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )


def balanced(**weights: int) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(resources=resources(**weights))


def fit(kind: str, **weights: int) -> NodeResourcesFitArgs:
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=kind, resources=resources(**weights)))


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        (preemption(None, None), preemption(10, 100)),
        (preemption(50, None), preemption(50, 100)),
        (preemption(0, 0), preemption(0, 0)),
        (InterPodAffinityArgs(), InterPodAffinityArgs(hard_pod_affinity_weight=1)),
        (InterPodAffinityArgs(hard_pod_affinity_weight=0), InterPodAffinityArgs(hard_pod_affinity_weight=0)),
        (NodeAffinityArgs(), NodeAffinityArgs()),
        (balanced(), balanced(cpu=1, memory=1)),
        (balanced(cpu=0, gpu=2), balanced(cpu=1, gpu=2)),
        (NodeResourcesFitArgs(), fit("LeastAllocated", cpu=1, memory=1)),
        (fit("MostAllocated"), fit("MostAllocated", cpu=1, memory=1)),
        (fit("MostAllocated", gpu=0), fit("MostAllocated", gpu=1)),
        (PodTopologySpreadArgs(), PodTopologySpreadArgs(defaulting_type="System")),
        (PodTopologySpreadArgs(defaulting_type="List"), PodTopologySpreadArgs(defaulting_type="List")),
        (VolumeBindingArgs(), VolumeBindingArgs(bind_timeout_seconds=600)),
        (VolumeBindingArgs(bind_timeout_seconds=0), VolumeBindingArgs(bind_timeout_seconds=0)),
    ],
)
def test_absent_arguments_have_the_defaults_of_kubernetes(given: Args, complete: Args) -> None:
    assert args_with_defaults(given) == complete
