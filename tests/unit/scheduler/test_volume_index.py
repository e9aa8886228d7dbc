"""The index of volumes gives the same volumes as a look at all of them, and nodes the same choice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.scheduler.plugins.volume_binding import VolumeRules
from podling.scheduler.podfacts import facts_of
from podling.scheduler.volume_index import VolumeIndex
from tests.unit.scheduler.plugins.volumes import cache_with, storage_class, user
from tests.unit.scheduler.scheduling import node

NODES = "abc"


def on_nodes(names: str) -> VolumeNodeAffinity | None:
    if not names:
        return None
    requirement = NodeSelectorRequirement(key="kubernetes.io/hostname", operator="In", values=tuple(names))
    terms = (NodeSelectorTerm(match_expressions=(requirement,)),)
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def volume(name: str, size: int, where: str, of_class: str, phase: str, named: bool) -> PersistentVolume:
    reference = ObjectReference(namespace="default", name="first") if named else None
    return PersistentVolume(
        metadata=ObjectMeta(name=name),
        spec=PersistentVolumeSpec(
            capacity={"storage": str(size)},
            node_affinity=on_nodes(where),
            storage_class_name=of_class,
            claim_ref=reference,
        ),
        status=PersistentVolumeStatus(phase=phase),
    )


VOLUMES = st.lists(
    st.builds(
        volume,
        st.sampled_from([f"v{number}" for number in range(8)]),
        st.integers(1, 4),
        st.sampled_from(["", "a", "b", "ab", "c"]),
        st.sampled_from(["fast", "slow"]),
        st.sampled_from(["Available", "Available", "Bound"]),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=16,
)


@given(VOLUMES, st.lists(st.integers(0, 7), max_size=4))
def test_index_follows_volumes_that_change_and_go(volumes: list[PersistentVolume], gone: list[int]) -> None:
    index, plain = VolumeIndex(), dict[str, PersistentVolume]()
    for each in volumes:
        index[each.metadata.name] = plain[each.metadata.name] = each
    for number in gone:
        assert index.pop(f"v{number}", None) == plain.pop(f"v{number}", None)
    assert index == plain
    for of_class in ("fast", "slow"):
        free = [
            (int(each.spec.capacity["storage"]), name)
            for name, each in plain.items()
            if each.spec.claim_ref is None
            and each.status.phase == "Available"
            and each.spec.storage_class_name == of_class
        ]
        for size in range(6):
            wanted = [name for amount, name in sorted(free) if amount >= size]
            assert [each.metadata.name for _, each in index.free(of_class, size)] == wanted
    named = {name for name, each in plain.items() if each.spec.claim_ref is not None}
    assert {each.metadata.name for each in index.naming(("default", "first"))} == named


def claim(name: str, size: int) -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": str(size)})
    return PersistentVolumeClaim(
        metadata=ObjectMeta(namespace="default", name=name, uid=name),
        spec=PersistentVolumeClaimSpec(storage_class_name="fast", resources=resources),
    )


def expected(volumes: dict[str, PersistentVolume], claims: list[PersistentVolumeClaim], where: str) -> bool:
    """Return whether a node has a volume for each claim, by looking at each volume."""
    left = dict(volumes)
    for each in sorted(claims, key=lambda one: int(one.spec.resources.requests["storage"])):
        size = int(each.spec.resources.requests["storage"])
        found = sorted(
            (int(one.spec.capacity["storage"]), name)
            for name, one in left.items()
            if one.spec.storage_class_name == "fast"
            and one.status.phase == "Available"
            and int(one.spec.capacity["storage"]) >= size
            and (one.spec.node_affinity is None or where in values_of(one.spec.node_affinity))
        )
        if not found:
            return False
        del left[found[0][1]]
    return True


def values_of(affinity: VolumeNodeAffinity) -> tuple[str, ...]:
    assert affinity.required is not None
    [found] = affinity.required.node_selector_terms[0].match_expressions
    return found.values


@given(VOLUMES, st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_nodes_have_volumes_for_all_claims_or_are_rejected(
    volumes: list[PersistentVolume], sizes: list[int]
) -> None:
    free = {
        each.metadata.name: structs.replace(each, spec=structs.replace(each.spec, claim_ref=None))
        for each in volumes
    }
    claims = [claim(f"claim-{number}", size) for number, size in enumerate(sizes)]
    waiting = storage_class("fast", "WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    cache = cache_with([node(name) for name in NODES], waiting, *free.values(), *claims)
    pod = facts_of(user(*(each.metadata.name for each in claims)))
    rejected = set()
    for found in VolumeRules().filter(pod, cache, cache.rows):
        rejected |= {cache.name_of(row) for row in cache.rows[found.where].tolist()}
    assert rejected == {name for name in NODES if not expected(free, claims, name)}
