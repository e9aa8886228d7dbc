"""GangScheduling: the cases of ``gangscheduling_test.go``: hints, PreEnqueue and Permit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from podling.api.core_v1 import PodSchedulingGroup
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1alpha2 import (
    BasicSchedulingPolicy,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from podling.scheduler.binding.permits import WaitingPod
from podling.scheduler.cache import Cache
from podling.scheduler.framework import ObjectChange, PodChange, PodEvent
from podling.scheduler.gangs import Gangs
from podling.scheduler.plugins.gang_scheduling import (
    FEW_PODS,
    FEW_SCHEDULED,
    PERMIT_SECONDS,
    GangScheduling,
    missing_group,
)
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler import scheduling


def group(name: str, minimum: int = 0, namespace: str = "ns1") -> PodGroup:
    policy = (
        PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count=minimum))
        if minimum
        else PodGroupSchedulingPolicy(basic=BasicSchedulingPolicy())
    )
    metadata = ObjectMeta(name=name, namespace=namespace)
    return PodGroup(metadata=metadata, spec=PodGroupSpec(scheduling_policy=policy))


def member(name: str, of: str = "", namespace: str = "ns1") -> PodFacts:
    belongs = PodSchedulingGroup(pod_group_name=of) if of else None
    return scheduling.facts(name, namespace=namespace, scheduling_group=belongs)


class FakeHandle:
    """The functions of the scheduler over a cache, without a loop."""

    def __init__(self, groups: Iterable[PodGroup], pods: Iterable[PodFacts]) -> None:
        self.cache = Cache()
        self.gangs: Gangs | None = Gangs(self.cache)
        self.waiting: dict[str, WaitingPod] = {}
        self.activated: set[str] = set()
        for each in groups:
            self.gangs.set_group(each)
        for pod in pods:
            self.gangs.add_pod(pod)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self.waiting.values()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self.waiting.get(uid)

    def activate(self, uids: Iterable[str]) -> None:
        self.activated.update(uids)


POD, OTHER = member("p", "pg"), member("q", "pg")


@pytest.mark.parametrize(
    ("pod", "added", "wakes"),
    [
        (POD, OTHER, True),
        (POD, member("q", "pg", namespace="foo"), False),
        (member("p", "pg1"), member("q", "pg2"), False),
        (member("p"), member("q"), False),
    ],
)
def test_pod_of_the_same_group_wakes(pod: PodFacts, added: PodFacts, wakes: bool) -> None:
    change = PodChange(PodEvent.ADDED, added)
    assert GangScheduling().wakes_for_pod(pod, change, Cache()) is wakes


@pytest.mark.parametrize(
    ("pod", "added", "wakes"),
    [
        (member("p", "pg"), group("pg", 1), True),
        (member("p", "pg1"), group("pg2", 1), False),
        (member("p", "pg"), group("pg", 1, namespace="ns2"), False),
        (member("p"), group("pg", 1), False),
    ],
)
def test_new_group_of_the_pod_wakes(pod: PodFacts, added: PodGroup, wakes: bool) -> None:
    plugin = GangScheduling()
    assert plugin.wakes_for_object(pod, ObjectChange("PodGroup", added), Cache()) is wakes
    assert not plugin.wakes_for_object(pod, ObjectChange("PodGroup", None, added), Cache())


P1, P2, P3 = (member(name, "pg1") for name in ("p1", "p2", "p3"))
P4, P5 = member("p4", "pg2"), member("p5", "pg2")
BASIC, SINGLE = member("basic", "pg3"), member("single")
GROUPS = (group("pg1", 3), group("pg2", 4), group("pg3"))


@pytest.mark.parametrize(
    ("pod", "others", "groups", "text"),
    [
        (SINGLE, (), GROUPS, ""),
        (BASIC, (), GROUPS, ""),
        (P1, (P2, P3, P4, P5), (), missing_group("pg1")),
        (P1, (P2, P4, P5), GROUPS, FEW_PODS),
        (P1, (P2, P3, P4, P5), GROUPS, ""),
    ],
)
def test_gang_is_not_tried_before_it_is_there(
    pod: PodFacts, others: Sequence[PodFacts], groups: Sequence[PodGroup], text: str
) -> None:
    plugin = GangScheduling()
    plugin.start(FakeHandle(groups, (pod, *others)))
    assert plugin.pre_enqueue(pod) == text


async def test_pods_of_a_gang_are_permitted_together() -> None:
    handle = FakeHandle(GROUPS, (P1, P2, P3, P4, P5))
    plugin = GangScheduling()
    plugin.start(handle)

    def place(pod: PodFacts) -> float | None:
        handle.cache.add_pod(pod, "n", assumed=True)
        expected = plugin.permit_in_group(pod, "n", handle.cache)
        seconds = plugin.permit(pod, "n", handle.cache)
        assert expected == ("" if seconds is None else FEW_SCHEDULED)
        if seconds is not None:
            handle.waiting[pod.uid] = WaitingPod(pod, "n", {plugin.name: seconds})
        return seconds

    assert [place(pod) for pod in (P2, P4, P5)] == [PERMIT_SECONDS] * 3
    handle.activated.clear()
    assert place(P1) == PERMIT_SECONDS
    assert handle.activated == {P3.uid}
    assert handle.waiting[P2.uid].pending_plugins == {plugin.name}
    assert place(P3) is None
    waiting = {uid for uid, each in handle.waiting.items() if each.pending_plugins}
    assert waiting == {P4.uid, P5.uid}
    assert [place(SINGLE), place(BASIC)] == [None, None]
    for each in handle.waiting.values():
        each.reject("", "end")


def test_pod_whose_group_is_gone_is_an_error() -> None:
    handle = FakeHandle((), (P1,))
    plugin = GangScheduling()
    plugin.start(handle)
    with pytest.raises(LookupError, match="failed to get podGroup ns1/pg1: "):
        plugin.permit(P1, "n", handle.cache)


def test_without_groups_in_the_cluster_nothing_is_decided() -> None:
    handle = FakeHandle((), ())
    handle.gangs = None
    plugin = GangScheduling()
    plugin.start(handle)
    assert plugin.pre_enqueue(P1) == ""
    assert plugin.permit(P1, "n", handle.cache) is None
    assert plugin.permit_in_group(P1, "n", handle.cache) == ""
