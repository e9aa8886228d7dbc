"""Pods that ``podling run`` follows, its output and its exit code, with pods made by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.cli.follow import Follower, Verdict, Wanted, settled, verdict, wanted
from podling.cli.manifests import Manifest
from podling.machinery import scheme
from podling.machinery.encoding import codec
from podling.sim.loop import run


def pod(
    phase: str = "Pending",
    *,
    ready: bool = False,
    name: str = "web",
    since: str = "",
    uid: str = "",
    **labels: str,
) -> Pod:
    times = {"lastTransitionTime": since} if since else {}
    conditions = [{"type": "Ready", "status": "True", **times}] if ready else []
    plain = {
        "metadata": {"name": name, "namespace": "default", "labels": labels, "uid": uid},
        "status": {"phase": phase, "conditions": conditions},
    }
    return msgspec.convert(plain, Pod)


def warning(text: str, *, about: str = "web", of: str = "", count: int = 1, uid: str = "1") -> Event:
    plain = {
        "metadata": {"uid": uid},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": about, "uid": of},
        "type": "Warning",
        "reason": "Failed",
        "message": text,
        "count": count,
    }
    return msgspec.convert(plain, Event)


class Screen:
    """Collects what would be shown, without the times."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, seconds: float, name: str, text: str, tone: str) -> None:
        self.lines.append(f"{name} {text} [{tone}]")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (pod("Pending"), Verdict.UNSETTLED),
        (pod("Running"), Verdict.UNSETTLED),
        (pod("Running", ready=True), Verdict.READY),
        (pod("Succeeded"), Verdict.SUCCEEDED),
        (pod("Failed"), Verdict.FAILED),
        (pod("Failed", ready=True), Verdict.FAILED),
    ],
)
def test_a_pod_is_settled_when_it_is_ready_or_over(seen: Pod, expected: Verdict) -> None:
    assert verdict(seen) is expected


def test_each_change_is_shown_once() -> None:
    screen = Screen()
    follower = Follower([Wanted("default", name="web")], screen)
    for seen in (pod(), pod(), pod("Running"), pod("Running", ready=True), pod("Running", ready=True)):
        follower.see_pod(seen)
    assert screen.lines == [
        "web Pending [UNSETTLED]",
        "web Running [UNSETTLED]",
        "web Running, Ready [READY]",
    ]
    assert follower.settles_in() is not None


def test_other_pods_are_nobodys_business() -> None:
    screen = Screen()
    follower = Follower([Wanted("default", name="web")], screen)
    follower.see_pod(pod("Failed", name="other"))
    follower.see_event(warning("not ours", about="other"))
    assert screen.lines == []
    assert follower.settles_in() is None


def test_warnings_are_shown_once_per_occurrence_even_before_the_pod() -> None:
    screen = Screen()
    follower = Follower([Wanted("default", name="web")], screen)
    for event in (warning("no"), warning("no"), warning("no", count=2), warning("else", uid="2")):
        follower.see_event(event)
    assert screen.lines == ["web Failed: no [WARNING]"] * 2 + ["web Failed: else [WARNING]"]


def test_older_pod_of_same_name_is_another_pod() -> None:
    screen = Screen()
    follower = Follower([Wanted("default", name="web", uid="new")], screen)
    follower.see_event(warning("old trouble", of="old"))
    follower.see_pod(pod("Failed", uid="old"))
    follower.see_event(warning("new trouble", of="new"))
    follower.see_pod(pod(uid="new"))
    assert screen.lines == ["web Failed: new trouble [WARNING]", "web Pending [UNSETTLED]"]


Step = tuple[float, Pod | None]


@pytest.mark.parametrize(
    ("steps", "ends_at", "verdicts"),
    [
        ([(1, pod()), (2, pod("Succeeded"))], 2, [Verdict.SUCCEEDED]),
        ([(1, pod()), (2, pod("Failed"))], 2, [Verdict.FAILED]),
        ([(1, pod("Running", ready=True))], 2, [Verdict.READY]),
        ([(1, pod("Running", ready=True, since="2025-12-31T00:00:00Z"))], 1, [Verdict.READY]),
        ([(1, pod("Running", ready=True)), (1.5, pod("Failed"))], 1.5, [Verdict.FAILED]),
        ([(1, pod("Running", ready=True)), (1.5, pod("Running"))], 10, [Verdict.UNSETTLED]),
        (
            [(1, pod("Running", ready=True)), (1.5, pod("Running")), (3, pod("Running", ready=True))],
            4,
            [Verdict.READY],
        ),
        ([(1, pod()), (2, None)], 2, [Verdict.FAILED]),
        ([], 10, []),
    ],
)
def test_ready_counts_when_it_lasts(steps: Sequence[Step], ends_at: float, verdicts: list[Verdict]) -> None:
    """A pod without probes is Ready from its start, even if it ends at once."""

    async def story() -> tuple[float, list[Verdict]]:
        follower = Follower([Wanted("default", name="web")], Screen())
        watching = asyncio.create_task(settled(follower, clock.monotonic() + 10))
        watching.add_done_callback(lambda _: ended.append(clock.monotonic() - began))
        began, ended = clock.monotonic(), list[float]()
        for at, seen in steps:
            await clock.sleep(began + at - clock.monotonic())
            follower.see_pod(seen) if seen is not None else follower.forget_pod(pod())
        await watching
        await clock.sleep(0)
        decided = [*map(verdict, follower.pods.values()), *(Verdict.FAILED for _ in follower.lost)]
        return ended[0], decided

    at, found = run(story())
    assert at == pytest.approx(ends_at)
    assert found == verdicts


def test_a_workload_waits_for_as_many_pods_as_it_wants() -> None:
    follower = Follower([Wanted("default", labels=(("app", "web"),), count=2)], Screen())
    follower.see_pod(pod("Running", ready=True, name="web-1", app="web"))
    assert follower.settles_in() is None
    follower.see_pod(pod("Running", ready=True, name="web-2", app="web"))
    assert follower.settles_in() is not None


def manifest(plain: dict[str, Any]) -> Manifest:
    group, _, version = plain["apiVersion"].rpartition("/")
    resource = scheme.by_kind(group, version, plain["kind"])
    assert resource is not None
    return Manifest(plain, codec.from_plain(plain, resource.type), resource, "default")


@pytest.mark.parametrize(
    ("kind", "spec", "count"),
    [
        ("Deployment", {"replicas": 3}, 3),
        ("Deployment", {}, 1),
        ("StatefulSet", {"replicas": 0}, 0),
        ("Job", {"parallelism": 2}, 2),
    ],
)
def test_workload_states_pods_to_follow(kind: str, spec: dict[str, Any], count: int) -> None:
    group = "batch/v1" if kind == "Job" else "apps/v1"
    spec = {**spec, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}
    applied = manifest({"apiVersion": group, "kind": kind, "metadata": {"name": "web"}, "spec": spec})
    assert wanted(applied, applied.obj) == Wanted("default", labels=(("app", "web"),), count=count)


def test_object_without_pods_is_not_followed() -> None:
    applied = manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}})
    assert wanted(applied, applied.obj) is None
