"""VolumeBinding: a pod waits for its claims, and goes where their volumes are or can be.

A claim of a class with ``WaitForFirstConsumer`` gets its volume with the pod's node: the smallest free
volume that the node reaches, or a new one by the class's provisioner. Volumes that are promised to other
claims since their pods were placed count as taken. ``binding.volume_binder`` writes what was chosen.

Upstream: ``pkg/scheduler/framework/plugins/volumebinding``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from podling.api.core_v1 import NodeSelector, PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import CSIStorageCapacity, StorageClass
from podling.machinery.quantity import parse
from podling.machinery.requirements import Operator, Requirement
from podling.machinery.selectors import LabelSelector
from podling.machinery.storage_classes import class_of
from podling.scheduler.cache import Cache
from podling.scheduler.columns import Amounts
from podling.scheduler.configuration.plugin_args import VolumeBindingArgs, default_args
from podling.scheduler.framework import (
    Aspect,
    Hopeless,
    ObjectChange,
    OwnChange,
    Plugin,
    PodEvent,
    Rejected,
    Scores,
    one_row,
)
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.plugins.node_affinity import selector_match
from podling.scheduler.plugins.resource_shares import broken_linear
from podling.scheduler.plugins.volume_scores import StorageUse
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.terms import selector_of
from podling.scheduler.volume_facts import claims_of, uses_claim
from podling.scheduler.volume_plans import VolumePlan, fits, is_bound, key_of_claim, size_of, storage

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class _Choice(Struct):
    """The volumes that rows have for the claims of a pod, in the order of the claims."""

    volumes: list[tuple[PersistentVolumeClaim, list[PersistentVolume], Mask]]
    """For each claim the volumes in question and, by volume and row, the chosen one."""
    provisioned: list[tuple[PersistentVolumeClaim, Mask, Amounts | None]]
    """The claims for which rows get a new volume, and the capacity for it, if the driver reports any."""
    refused: dict[str, Mask]
    """The rejected rows by reason."""

    def refuse(self, reason: str, where: Mask) -> None:
        if where.any():
            before = self.refused.get(reason)
            self.refused[reason] = where if before is None else before | where


class VolumeRules(Plugin):
    """The decisions of the plugin ``VolumeBinding``."""

    name = "VolumeBinding"
    arguments = VolumeBindingArgs
    also_at = frozenset({"pre_score"})
    wakes_on = Aspect.ADDED | Aspect.LABELS
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent(0)
    wakes_on_objects = frozenset(
        {
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "StorageClass",
        }
    )

    def __init__(self, args: VolumeBindingArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))
        self._score_table = broken_linear(self.args.shape) if self.args.shape else None
        """The scores by the use of storage; None without the feature gate ``StorageCapacityScoring``."""

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        unbound = False
        for name, ephemeral in claims_of(pod.pod) if pod.claims else ():
            claim = cache.claims.get((pod.namespace, name))
            _check(pod, name, claim, ephemeral=ephemeral)
            unbound |= claim is not None and not is_bound(claim) and not _waits_for_consumer(claim, cache)
        if unbound:
            raise Hopeless(UNBOUND)
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if not pod.claims:
            return ()
        refused = _choose(pod, cache, rows).refused
        return [Rejected(reason, where, unresolvable=True) for reason, where in refused.items()]

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        if self._score_table is None or not pod.claims:
            return None
        return _use_of_storage(_choose(pod, cache, rows), len(rows)).scores(self._score_table)

    def reserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        row = cache.row_of(node)
        if not pod.claims or row is None:
            return
        choice = _choose(pod, cache, one_row(row))
        static = tuple(
            (claim, volumes[int(chosen[:, 0].argmax())])
            for claim, volumes, chosen in choice.volumes
            if chosen.any()
        )
        provisioned = tuple(claim for claim, where, _ in choice.provisioned if where.any())
        if static or provisioned:
            cache.volume_plans.put(pod.uid, VolumePlan(node, static, provisioned))

    def unreserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        cache.volume_plans.drop(pod.uid)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        """When a claim of the pod, or what volumes there are or can be, changes."""
        new, old = change.new, change.old
        if new is None:
            return False
        match change.kind:
            case "PersistentVolumeClaim":
                return uses_claim(pod.pod, new.metadata.namespace, new.metadata.name)
            case "StorageClass":
                return bool(old is None or old.allowed_topologies != new.allowed_topologies)
            case "CSIStorageCapacity":
                return old is None or _limit(new) > _limit(old)
            case "CSIDriver":
                had = old is not None and bool(old.spec.storage_capacity)
                return had and not new.spec.storage_capacity
            case "CSINode":
                return old is None
            case _:
                return True


def _use_of_storage(choice: _Choice, rows: int) -> StorageUse:
    """Return the use of existing volumes, and where there is none that of the drivers' capacities."""
    use = StorageUse(rows)
    to_be_made: Mask = np.ones(rows, np.bool_)
    for claim, volumes, chosen in choice.volumes:
        to_be_made &= ~chosen.any(axis=0)
        for volume, where in zip(volumes, chosen, strict=True):
            if where.any():
                use.add(class_of(volume), storage(claim), size_of(volume)[0], where, shared=False)
    for claim, where, capacity in choice.provisioned:
        if capacity is not None:
            use.add(class_of(claim), storage(claim), capacity, where & to_be_made, shared=True)
    return use


def _check(pod: PodFacts, name: str, claim: PersistentVolumeClaim | None, *, ephemeral: bool) -> None:
    """Raise ``Hopeless`` for a claim that cannot be used at all."""
    if claim is None:
        text = f'persistentvolumeclaim "{name}" not found'
        if ephemeral:
            text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        raise Hopeless(text)
    if claim.status.phase == "Lost":
        text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume'
        raise Hopeless(f'{text} "{claim.spec.volume_name}"')
    if claim.metadata.deletion_timestamp is not None:
        raise Hopeless(f'persistentvolumeclaim "{name}" is being deleted')
    if ephemeral and not any(owner.uid == pod.uid for owner in claim.metadata.owner_references):
        text = f"PVC {pod.namespace}/{name} was not created for pod {pod.namespace}/{pod.name}"
        raise Hopeless(f"{text} (pod is not owner)")


def _waits_for_consumer(claim: PersistentVolumeClaim, cache: Cache) -> bool:
    found = cache.storage_classes.get(class_of(claim))
    delayed = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    return delayed and not claim.spec.volume_name


def _choose(pod: PodFacts, cache: Cache, rows: Rows) -> _Choice:
    """Return the volumes of each row for the pod's claims, the smallest claims first."""
    choice = _Choice([], [], {})
    found = (cache.claims.get((pod.namespace, name)) for name in pod.claims)
    claims = [claim for claim in found if claim is not None]
    _judge_bound([claim for claim in claims if is_bound(claim)], cache, rows, choice)
    unbound = sorted((claim for claim in claims if not is_bound(claim)), key=storage)
    elsewhere: Mask = np.zeros(len(rows), np.bool_)
    free: list[PersistentVolumeClaim] = []
    wanted: list[tuple[PersistentVolumeClaim, Mask]] = []
    for claim in unbound:
        selected = _selected_node(claim, cache)
        if selected is None:
            free.append(claim)
            continue
        # A provisioner works for that node already.
        row = cache.row_of(selected)
        there: Mask = np.equal(rows, -1 if row is None else row)
        elsewhere |= ~there
        wanted.append((claim, there))
    choice.refuse(NO_VOLUME, elsewhere)
    taken: dict[str, Mask] = {}
    wanted += [(claim, _match(claim, cache, rows, taken, choice)) for claim in free]
    refused = elsewhere
    for claim, missing in wanted:
        left = missing & ~refused
        if left.any():
            refused = refused | _provision(claim, cache, rows, left, choice)
    return choice


def _judge_bound(claims: Sequence[PersistentVolumeClaim], cache: Cache, rows: Rows, choice: _Choice) -> None:
    """Refuse the rows that do not reach the volume of a claim; the first such claim gives the reason."""
    left: Mask = np.ones(len(rows), np.bool_)
    for claim in claims:
        volume = cache.volumes.get(claim.spec.volume_name or "")
        reached = np.zeros(len(rows), np.bool_) if volume is None else reach_of(volume, cache, rows)
        choice.refuse(GONE if volume is None else CONFLICT, left & ~reached)
        left &= reached


def _match(
    claim: PersistentVolumeClaim, cache: Cache, rows: Rows, taken: dict[str, Mask], choice: _Choice
) -> Mask:
    """Choose a volume on each row for a claim; return the rows that have none."""
    meant = _meant_for(claim, cache)
    volumes, found = _reaching(claim, (meant,) if meant else (), cache, rows, taken)
    if not volumes:
        return np.ones(len(rows), np.bool_)
    reached = np.array(found, np.bool_)
    chosen = reached & (np.cumsum(reached, axis=0) == 1)
    none: Mask = np.zeros(len(rows), np.bool_)
    for number, each in enumerate(volumes):
        name = each.metadata.name
        taken[name] = taken.get(name, none) | chosen[number]
    choice.volumes.append((claim, volumes, chosen))
    return np.array(~reached.any(axis=0), np.bool_)


def _meant_for(claim: PersistentVolumeClaim, cache: Cache) -> PersistentVolume | None:
    """Return the only volume that a claim may get: one that names it, or is promised to it."""
    key, promised = key_of_claim(claim), cache.volume_plans.promised
    names = (name for name, held in promised.items() if held == key and name in cache.volumes)
    candidates = [*cache.volumes.naming(key), *(cache.volumes[name] for name in names)]
    selector = _selector(claim)
    fitting = (each for each in candidates if fits(each, claim, selector))
    return next((each for each in fitting if promised.get(each.metadata.name, key) == key), None)


def _reaching(
    claim: PersistentVolumeClaim,
    only: Sequence[PersistentVolume],
    cache: Cache,
    rows: Rows,
    taken: dict[str, Mask],
) -> tuple[list[PersistentVolume], list[Mask]]:
    """Return the volumes in question for a claim, the smallest first, and the rows that each reaches.

    The search ends once each row has one. A volume that reaches the same rows as a smaller one that no other
    claim of the pod takes is left out: it would not be chosen.
    """
    volumes: list[PersistentVolume] = []
    found: list[Mask] = []
    covered: Mask = np.zeros(len(rows), np.bool_)
    for each in only or _free(claim, cache, taken):
        reach = reach_of(each, cache, rows)
        if each.metadata.name in taken:
            reach = reach & ~taken[each.metadata.name]
        volumes.append(each)
        found.append(reach)
        covered |= reach
        if covered.all():
            break
    return volumes, found


def _free(
    claim: PersistentVolumeClaim, cache: Cache, taken: Mapping[str, Mask]
) -> Iterator[PersistentVolume]:
    """Yield the free volumes that a claim may get, of each group the smallest that is not taken."""
    promised, selector = cache.volume_plans.promised, _selector(claim)
    seen: set[bytes] = set()
    for group, each in cache.volumes.free(class_of(claim), storage(claim)):
        name = each.metadata.name
        if group in seen or name in promised or not fits(each, claim, selector):
            continue
        if name not in taken:
            seen.add(group)
        yield each


def _selector(claim: PersistentVolumeClaim) -> LabelSelector | None:
    return selector_of(claim.spec.selector) if claim.spec.selector is not None else None


def _selected_node(claim: PersistentVolumeClaim, cache: Cache) -> str | None:
    promised = cache.volume_plans.selected_nodes.get(key_of_claim(claim))
    return claim.metadata.annotations.get(SELECTED_NODE) or promised


def _provision(
    claim: PersistentVolumeClaim, cache: Cache, rows: Rows, missing: Mask, choice: _Choice
) -> Mask:
    """Let rows without a volume for a claim get a new one; return those where its class cannot make it."""
    found = cache.storage_classes.get(class_of(claim))
    if found is None or found.provisioner in ("", NO_PROVISIONER):
        choice.refuse(NO_VOLUME, missing)
        return missing
    inside = _in_topologies(found, cache, rows)
    choice.refuse(NO_VOLUME, missing & ~inside)
    enough, capacity = _capacity(claim, found, cache, rows)
    choice.refuse(NO_SPACE, missing & inside & ~enough)
    choice.provisioned.append((claim, missing & inside & enough, capacity))
    return missing & ~(inside & enough)


def _in_topologies(found: StorageClass, cache: Cache, rows: Rows) -> Mask:
    """Return the rows in one of the class's topologies; a class without any is everywhere."""
    if not found.allowed_topologies:
        return np.ones(len(rows), np.bool_)
    inside: Mask = np.zeros(len(rows), np.bool_)
    for term in found.allowed_topologies:
        requirements = [
            Requirement(each.key, Operator.IN, tuple(each.values)) for each in term.match_label_expressions
        ]
        if requirements:
            inside |= cache.labels.matches_all(requirements, rows)
    return inside


def _capacity(
    claim: PersistentVolumeClaim, found: StorageClass, cache: Cache, rows: Rows
) -> tuple[Mask, Amounts | None]:
    """Return the rows where the driver says that it can make such a volume, and of which capacity.

    The latter is None if the driver says nothing; then it can make volumes everywhere.
    """
    driver = cache.csi_drivers.get(found.provisioner)
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return np.ones(len(rows), np.bool_), None
    enough: Mask = np.zeros(len(rows), np.bool_)
    amounts: Amounts = np.zeros(len(rows), np.int64)
    for capacity in cache.capacities.values():
        if capacity.storage_class_name == found.metadata.name and _limit(capacity) >= storage(claim):
            topology = capacity.node_topology
            if topology is not None:
                there = cache.labels.selected(selector_of(topology), rows) & ~enough
                amounts[there] = parse(capacity.capacity or "0").value
                enough |= there
    return enough, amounts


def _limit(capacity: CSIStorageCapacity) -> int:
    """Return the size of the largest volume that can be made there; -1 if that is unknown."""
    text = capacity.maximum_volume_size or capacity.capacity
    return parse(text).value if text else -1


def reach_of(volume: PersistentVolume, cache: Cache, rows: Rows) -> Mask:
    """Return which of the nodes the volume can be used on."""
    affinity = volume.spec.node_affinity
    required: NodeSelector | None = affinity.required if affinity is not None else None
    return np.ones(len(rows), np.bool_) if required is None else selector_match(required, cache, rows)
