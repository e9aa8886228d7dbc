"""Words for the scheduler's tests: small nodes and pods, a cache made of them, and what a plugin says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podling.api.core_v1 import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
    WeightedPodAffinityTerm,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.types import DEFAULT_SCHEDULER
from podling.scheduler.framework import Plugin
from podling.scheduler.plugin_registry import Registry
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.profiles import default_configuration, make_profiles

DEFAULT_PROFILE = make_profiles(default_configuration(), Registry(()))[DEFAULT_SCHEDULER]
"""Kubernetes' profile, without a configuration."""

ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}

_numbers = iter(range(1, 1_000_000))


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    unschedulable: bool = False,
    images: Sequence[Any] = (),
    extended: Mapping[str, str] | None = None,
    **allocatable: str,
) -> Node:
    """Return a node of 4 CPUs and 8 GiB; ``cpu="2"`` and the like say otherwise."""
    amounts = {**ALLOCATABLE, **allocatable, **(extended or {})}
    return Node(
        metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        spec=NodeSpec(taints=tuple(taints), unschedulable=unschedulable),
        status=NodeStatus(allocatable=amounts, images=tuple(images)),
    )


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Taint:
    return Taint(key=key, value=value, effect=effect)


def toleration(key: str = "", operator: str = "Exists", effect: str = "", value: str = "") -> Toleration:
    return Toleration(key=key, operator=operator, effect=effect, value=value)


def container(
    requests: Mapping[str, str] | None = None,
    *,
    image: str = "app",
    ports: Iterable[ContainerPort] = (),
    **more: Any,
) -> Container:
    resources = ResourceRequirements(requests=dict(requests or {}))
    return Container(name="c", image=image, resources=resources, ports=tuple(ports), **more)


def pod(
    name: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    namespace: str = "default",
    containers: Sequence[Container] | None = None,
    status: PodStatus | None = None,
    metadata: Mapping[str, Any] | None = None,
    cpu: str = "",
    memory: str = "",
    **spec: Any,
) -> Pod:
    """Return a pod of one container; every pod made here has a UID of its own."""
    number = next(_numbers)
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    return Pod(
        metadata=ObjectMeta(
            name=name or f"pod-{number}",
            namespace=namespace,
            uid=f"uid-{number}",
            labels=dict(labels or {}),
            **(metadata or {}),
        ),
        spec=PodSpec(
            containers=tuple(containers if containers is not None else (container(requests),)), **spec
        ),
        status=status or PodStatus(),
    )


def facts(*arguments: Any, **options: Any) -> PodFacts:
    return facts_of(pod(*arguments, **options))


def cache_of(*nodes: Node, pods: Mapping[str, Iterable[Pod]] | None = None) -> Cache:
    """Return a cache with these nodes, and on them the pods given by node name."""
    cache = Cache()
    for each in nodes:
        cache.set_node(each)
    for name, there in (pods or {}).items():
        for one in there:
            cache.add_pod(facts_of(one), name)
    return cache


def rejections(plugin: Plugin, one: PodFacts, cache: Cache) -> dict[str, list[str]]:
    """Per node the reasons for which the plugin rejects it; nodes it accepts are left out."""
    found: dict[str, list[str]] = {}
    for rejected in plugin.filter(one, cache, cache.rows):
        for row in cache.rows[rejected.where]:
            found.setdefault(cache.name_of(int(row)), []).append(rejected.reason)
    return found


def accepted(plugin: Plugin, one: PodFacts, cache: Cache) -> list[str]:
    """Return the nodes that the plugin has nothing against."""
    refused = rejections(plugin, one, cache)
    names = [cache.name_of(int(row)) for row in cache.rows]
    return [name for name in names if name not in refused]


def scores(plugin: Plugin, one: PodFacts, cache: Cache) -> dict[str, int] | None:
    found = plugin.score(one, cache, cache.rows)
    if found is None:
        return None
    return {cache.name_of(int(row)): int(score) for row, score in zip(cache.rows, found, strict=True)}


def unresolvable(plugin: Plugin, one: PodFacts, cache: Cache) -> list[str]:
    """Return the nodes where the plugin says that removing pods would not help."""
    found: Counter[str] = Counter()
    for rejected in plugin.filter(one, cache, cache.rows):
        for row in cache.rows[rejected.where & rejected.unresolvable]:
            found[cache.name_of(int(row))] += 1
    return sorted(found)


def near(selector: Mapping[str, str], topology: str = "zone", **more: Any) -> PodAffinityTerm:
    return PodAffinityTerm(
        label_selector=LabelSelector(match_labels=dict(selector)), topology_key=topology, **more
    )


def affinity(*required: PodAffinityTerm, preferred: Mapping[int, PodAffinityTerm] | None = None) -> Affinity:
    weighted = tuple(
        WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
        for weight, term in (preferred or {}).items()
    )
    return Affinity(
        pod_affinity=PodAffinity(
            required_during_scheduling_ignored_during_execution=required,
            preferred_during_scheduling_ignored_during_execution=weighted,
        )
    )


def anti_affinity(
    *required: PodAffinityTerm, preferred: Mapping[int, PodAffinityTerm] | None = None
) -> Affinity:
    weighted = tuple(
        WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
        for weight, term in (preferred or {}).items()
    )
    return Affinity(
        pod_anti_affinity=PodAntiAffinity(
            required_during_scheduling_ignored_during_execution=required,
            preferred_during_scheduling_ignored_during_execution=weighted,
        )
    )
