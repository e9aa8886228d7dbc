"""The size of a scenario: the objects that it makes at most at the same time, and the memory for them.

It is known before the run as far as the file says: manifests with their copies, objects that actions apply,
and the replicas that actions set. Pods that others make later, as those of CronJobs, are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from msgspec import Struct, structs

from podling.machinery.selectors import parse_label_selector
from podling.sim.added_kinds import Entries, is_added
from podling.sim.conditions import resource_named
from podling.sim.manifests import Manifest, ManifestProblem, manifests_of
from podling.sim.scenario import Scenario
from podling.sim.scenario_actions import Target
from podling.sim.scenario_parts import ManifestSource, Path

PODS_MAX = 100_000
OBJECTS_MAX = 1_000_000
BYTES_PER_POD = 75_000
"""Measured: 716 MiB for 10,000 pods on 1,000 nodes (``docs/simulator.md``)."""
BYTES_PER_OBJECT = 5_000
REPLICATED = frozenset(("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"))


class Size(Struct, frozen=True):
    """The numbers of objects. ``objects`` are those of the file; ``largest`` is what makes the most pods."""

    pods: int
    objects: int
    largest: Path

    @property
    def bytes(self) -> int:
        return self.pods * BYTES_PER_POD + self.objects * BYTES_PER_OBJECT


class _Workload(Struct):
    """The pods of one object of the file; ``copies`` of it are made."""

    manifest: Manifest
    copies: int
    pods: int
    path: Path


def gigabytes(size: Size) -> str:
    """Return the memory of a size as text."""
    return f"{size.bytes / 1e9:.1f} GB"


def size_of(scenario: Scenario, folder: FilePath) -> Size:
    """Return the size of a scenario at its largest. ``folder``: where the files that it names are."""
    found: dict[tuple[str, str | None, str], _Workload] = {}
    for path, source, times in _sources(scenario):
        for each in _manifests(source, folder, scenario.extensions):
            name = each.obj.metadata.name or ""
            key = (each.resource.kind, each.namespace, name or f"{path}")
            made = _Workload(each, source.copies * (1 if name else times), _pods_of(each), path)
            before = found.get(key)
            if before is None or made.pods * made.copies > before.pods * before.copies:
                found[key] = made
    for number, action in enumerate(scenario.actions):
        if action.scale is not None:
            _scale(
                found, action.scale.target, action.scale.replicas, ("actions", number, "scale", "replicas")
            )
    workloads = list(found.values())
    largest = max(workloads, key=lambda each: each.pods * each.copies, default=None)
    return Size(
        sum(each.pods * each.copies for each in workloads),
        sum(each.copies for each in workloads),
        () if largest is None else largest.path,
    )


def _sources(scenario: Scenario) -> Iterator[tuple[Path, ManifestSource, int]]:
    """Yield what is applied: its place, and how often that happens."""
    for number, source in enumerate(scenario.manifests):
        yield ("manifests", number), source, 1
    for number, action in enumerate(scenario.actions):
        if action.apply is None:
            continue
        times = 1
        if action.every:
            possible = int((scenario.until - (action.at or 0)) // action.every) + 1
            times = max(1, min(possible, action.times or possible))
        yield ("actions", number, "apply"), action.apply, times


def _manifests(source: ManifestSource, folder: FilePath, entries: Entries) -> Iterator[Manifest]:
    """Yield the objects of a source without their copies; none of one that cannot be read."""
    try:
        yield from manifests_of(structs.replace(source, copies=1), folder, entries)
    except ManifestProblem:
        return


def _pods_of(manifest: Manifest) -> int:
    """Return the number of pods that an object makes, as far as its spec says."""
    if is_added(manifest.resource):
        plain = manifest.obj.content.get("spec")
        replicas = plain.get("replicas") if isinstance(plain, dict) else None
        return replicas if isinstance(replicas, int) else 0
    kind, spec = manifest.resource.kind, getattr(manifest.obj, "spec", None)
    if kind == "Pod":
        return 1
    if kind in REPLICATED:
        return spec.replicas if spec is not None and spec.replicas is not None else 1
    if kind == "Job":
        return (spec.parallelism if spec is not None else 1) or 1
    return 0


def _scale(
    found: dict[tuple[str, str | None, str], _Workload], target: Target, replicas: int, path: Path
) -> None:
    """Let the workloads that a target chooses have as many pods, if these are more."""
    resource = resource_named(target.kind)
    if resource is None or resource.kind not in REPLICATED:
        return
    for each in found.values():
        if each.manifest.resource.kind == resource.kind and _is_chosen(each, target):
            by_name = bool(target.name) and each.copies > 1
            if by_name:  # one of the copies
                each.pods, each.copies = each.pods * (each.copies - 1) + max(replicas, each.pods), 1
                each.path = path
            elif replicas > each.pods:
                each.pods, each.path = replicas, path


def _is_chosen(workload: _Workload, target: Target) -> bool:
    metadata = workload.manifest.obj.metadata
    if metadata.namespace != target.namespace:
        return False
    if target.selector:
        try:
            return parse_label_selector(target.selector).matches(metadata.labels)
        except ValueError:
            return False
    name = metadata.name or ""
    return target.name == name or (workload.copies > 1 and target.name.startswith(f"{name}-"))
