"""The order of Reserve, PreBind, Bind and PostBind, and what undoes them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.client.base import Client, Unreachable
from podling.scheduler.binding.binding_cycle import BindingCycle, BindingFailed
from podling.scheduler.binding.permits import WaitingPods
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Plugin, Refused
from podling.scheduler.metrics import SchedulerMetrics
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile
from podling.testing import ControlPlane
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, cache_of, facts, node

POD = facts("p")


class Noting(Plugin):
    """Notes its calls; fails at one of them."""

    name = "Noting"

    def __init__(self, calls: list[str], label: str, fails: str = "", error: Exception | None = None) -> None:
        super().__init__()
        self._calls, self._label, self._fails = calls, label, fails
        self._error = error or Refused("no")

    def _note(self, call: str) -> None:
        self._calls.append(f"{self._label} {call}")
        if call == self._fails:
            raise self._error

    def reserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        self._note("reserve")

    def unreserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        self._note("unreserve")

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        self._note("pre_bind")

    async def bind(self, pod: PodFacts, node: str, client: Client) -> bool:
        self._note("bind")
        return self._label == "b"

    def post_bind(self, pod: PodFacts, node: str) -> None:
        self._note("post_bind")


def cycle(cluster: ControlPlane) -> BindingCycle:
    cache = cache_of(node("n"))
    metrics = SchedulerMetrics()
    return BindingCycle(cluster.client, cache, metrics, WaitingPods())


def profile(*plugins: Plugin) -> Profile:
    points: dict[str, Any] = dict.fromkeys(("reserve", "pre_bind", "bind", "post_bind"), plugins)
    return structs.replace(DEFAULT_PROFILE, **points)


async def test_plugins_run_in_order_until_one_binds(cluster: ControlPlane) -> None:
    calls: list[str] = []
    both = profile(Noting(calls, "a"), Noting(calls, "b"), Noting(calls, "c"))
    found = cycle(cluster)
    assert found.accept(both, POD, "n") is None
    await found.run(both, POD, "n")
    found.after(both, POD, "n")
    assert [call for call in calls if "pre" not in call and "post" not in call] == [
        "a reserve",
        "b reserve",
        "c reserve",
        "a bind",
        "b bind",
    ]
    assert calls[-1] == "c post_bind"


async def test_refused_reservation_is_undone_from_the_last(cluster: ControlPlane) -> None:
    calls: list[str] = []
    refused = cycle(cluster).accept(profile(Noting(calls, "a"), Noting(calls, "b", "reserve")), POD, "n")
    assert refused is not None
    assert refused.message() == "0/1 nodes are available: 1 no."
    assert calls == ["a reserve", "b reserve", "b unreserve", "a unreserve"]


@pytest.mark.parametrize(
    ("point", "error", "text", "unexpected"),
    [
        ("pre_bind", Refused("no"), 'running PreBind plugin "Noting": no', False),
        ("bind", Unreachable("gone"), 'running Bind plugin "Noting": gone', False),
        ("bind", ValueError("bug"), 'running Bind plugin "Noting": bug', True),
    ],
)
async def test_failure_names_point_and_plugin(
    cluster: ControlPlane, point: str, error: Exception, text: str, unexpected: bool
) -> None:
    with pytest.raises(BindingFailed) as failed:
        await cycle(cluster).run(profile(Noting([], "b", point, error)), POD, "n")
    assert (str(failed.value), failed.value.is_unexpected) == (text, unexpected)


async def test_pod_that_no_plugin_binds_has_failed(cluster: ControlPlane) -> None:
    with pytest.raises(BindingFailed, match="no plugin binds this pod"):
        await cycle(cluster).run(profile(Noting([], "a")), POD, "n")


class Waiting(Plugin):
    """Takes a minute in PreBind."""

    name = "Waiting"

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        await clock.sleep(60)


async def test_pod_can_be_preempted_until_pre_bind_has_ended(cluster: ControlPlane) -> None:
    found = cycle(cluster)
    calls: list[str] = []
    waiting = structs.replace(profile(Noting(calls, "b")), pre_bind=(Waiting(),))
    assert not found.preempt(POD.uid, "DefaultPreemption")
    clock.call_later(10, found.preempt, POD.uid, "DefaultPreemption")
    with pytest.raises(BindingFailed) as failed:
        await found.run(waiting, POD, "n")
    assert str(failed.value) == 'running PreBind plugin "Waiting": preempted by DefaultPreemption'
    assert (failed.value.is_unexpected, calls) == (False, [])
    await found.run(waiting, POD, "n")
    assert calls == ["b bind"]
    assert not found.preempt(POD.uid, "DefaultPreemption")
