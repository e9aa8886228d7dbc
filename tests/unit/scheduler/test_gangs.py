"""Pod groups and their pods in the scheduler's memory."""

from __future__ import annotations

from podling.api.core_v1 import PodSchedulingGroup
from podling.scheduler.cache import Cache
from podling.scheduler.gangs import Gangs, gang_of
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler import scheduling

KEY = ("default", "g")


def member(name: str, group: str = "g") -> PodFacts:
    return scheduling.facts(name, scheduling_group=PodSchedulingGroup(pod_group_name=group))


def test_pod_without_a_group_belongs_to_none() -> None:
    assert gang_of(scheduling.facts("a")) is None
    assert gang_of(member("a")) == KEY
    assert not Gangs(Cache()).add_pod(scheduling.facts("a"))


def test_pods_are_counted_by_their_state() -> None:
    cache = Cache()
    gangs = Gangs(cache)
    waiting, assumed, bound = (member(name) for name in ("waiting", "assumed", "bound"))
    assert [gangs.add_pod(each) for each in (waiting, assumed, bound, waiting)] == [True, True, True, False]
    gangs.add_pod(member("other", "h"))
    cache.add_pod(assumed, "n", assumed=True)
    cache.add_pod(bound, "n")
    assert (gangs.size(KEY), gangs.scheduled(KEY)) == (3, 2)
    assert gangs.assumed(KEY) == [assumed.uid]
    assert gangs.unscheduled(KEY) == [waiting.uid]


def test_group_without_pods_is_forgotten() -> None:
    gangs = Gangs(Cache())
    pod = member("a")
    gangs.add_pod(pod)
    gangs.remove_pod(pod.uid)
    gangs.remove_pod("unknown")
    assert (gangs.size(KEY), gangs.scheduled(KEY), gangs.unscheduled(KEY)) == (0, 0, [])
    assert gangs.add_pod(pod)
