"""A node's graceful shutdown, on virtual time, with a simulated login manager."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import Node
from podling.kubelet.config import KubeletConfig
from podling.kubelet.shutdown.shutdown_plan import MESSAGE
from podling.kubelet.shutdown.shutdown_state import FILE_NAME
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node
from tests.support.simulated_logind import SimulatedLogind

CRITICAL = "system-node-critical"
TWO_PHASES = {"shutdown_grace_period": 30.0, "shutdown_grace_period_critical_pods": 10.0}
STUBBORN: dict[str, Any] = {"ignoresSignals": True}


@asynccontextmanager
async def node_with(
    cluster: ControlPlane, root: Path, logind: SimulatedLogind, **settings: Any
) -> AsyncIterator[SimNode]:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",),
        capacity={"cpu": "4", "memory": "8Gi"},
        write_files=False,
        **(settings or TWO_PHASES),
    )
    async with sim_node(cluster, root, config=config, logind=logind) as node:
        yield node


async def ready(node: SimNode) -> tuple[str, str]:
    found = {each.type: each for each in (await node.client.get(Node, NODE)).status.conditions}
    return found["Ready"].status, found["Ready"].message or ""


@pytest.fixture
def logind() -> SimulatedLogind:
    return SimulatedLogind()


async def test_regular_pods_end_before_critical_ones(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    """Regular pods have 20 s of the 30 s, critical ones the last 10 s; each at most its own grace period."""
    async with node_with(cluster, tmp_path, logind) as node:
        await node.create(pod("slow", script=STUBBORN, terminationGracePeriodSeconds=60))
        await node.create(pod("quick", script=STUBBORN, terminationGracePeriodSeconds=5))
        await node.create(
            pod("core", script=STUBBORN, priorityClassName=CRITICAL, terminationGracePeriodSeconds=60)
        )
        await node.pass_time(5)
        assert len(logind.locks) == 1
        began = clock.monotonic()
        logind.shut_down()
        await node.pass_time(4)
        assert await ready(node) == ("False", "node is shutting down")
        assert (await node.get("quick")).status.phase == "Running"
        await node.pass_time(4)
        assert (await node.get("quick")).status.reason == "Terminated"
        assert (await node.get("slow")).status.phase == "Running"
        await node.pass_time(14)
        slow, core = await node.get("slow"), await node.get("core")
        assert (slow.status.phase, core.status.phase) == ("Failed", "Running")
        assert logind.locks
        await node.pass_time(12)
        assert not logind.locks
        assert 29 <= logind.released_at[-1] - began <= 31
        for name in ("slow", "quick", "core"):
            found = await node.get(name)
            assert (found.status.phase, found.status.reason) == ("Failed", "Terminated")
            assert found.status.message == MESSAGE
            assert condition(found, "DisruptionTarget") == "True TerminationByKubelet"
        await node.pass_time(600)
        assert await node.exists("slow"), "the pod stays until it is collected"


async def test_pod_that_ends_well_before_the_shutdown_has_succeeded(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind) as node:
        await node.create(pod("polite", script={"stopExitCode": 0}))
        await node.pass_time(5)
        logind.shut_down()
        await node.pass_time(4)
        found = await node.get("polite")
        assert (found.status.phase, found.status.reason or "") == ("Succeeded", "")
        assert condition(found, "DisruptionTarget") == "True TerminationByKubelet"


@pytest.mark.parametrize(
    ("hook", "life", "ends"),
    [
        ({"sleep": {"seconds": 5}}, {}, 5),
        ({"sleep": {"seconds": 5}}, STUBBORN, 20),
        ({"exec": {"command": ["wait"]}}, {"exec": [{"seconds": 12}]}, 12),
        ({"exec": {"command": ["false"]}}, {"exec": [{"exitCode": 1}]}, 0),
        ({"exec": {"command": ["wait"]}}, {"exec": [{"seconds": 1000}]}, 20),
        ({"exec": {"command": ["wait"]}}, {"exec": [{"seconds": 1000}], **STUBBORN}, 22),
    ],
)
async def test_pre_stop_hook_takes_its_time_from_the_groups_period(
    cluster: ControlPlane,
    tmp_path: Path,
    logind: SimulatedLogind,
    hook: dict[str, Any],
    life: dict[str, Any],
    ends: int,
) -> None:
    """TERM comes after the hook, KILL at the end of the group's 20 s, and two seconds after TERM at least.

    The next group does not wait for that: critical pods end from the twentieth second on.
    """
    hooked = [{"name": "app", "image": "app:1", "lifecycle": {"preStop": hook}}]
    async with node_with(cluster, tmp_path, logind) as node:
        await node.create(pod("web", containers=hooked, script=life, terminationGracePeriodSeconds=60))
        await node.create(pod("core", priorityClassName=CRITICAL))
        await node.pass_time(5)
        began, moment = clock.now(), clock.monotonic()
        logind.shut_down()
        await node.pass_time(30)
        seconds = []
        for name in ("web", "core"):
            (status,) = (await node.get(name)).status.container_statuses
            assert status.state.terminated is not None
            assert status.state.terminated.finished_at is not None
            seconds.append((status.state.terminated.finished_at - began).total_seconds())
            assert (await node.get(name)).status.reason == "Terminated"
        assert ends - 1 <= seconds[0] <= ends + 1
        assert min(ends, 20) - 1 <= seconds[1] <= min(ends, 20) + 2
        assert logind.released_at[-1] - moment <= min(ends, 20) + 3


async def test_lock_is_released_as_soon_as_all_pods_have_ended(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind) as node:
        await node.create(pod("web"))
        await node.pass_time(5)
        began = clock.monotonic()
        logind.shut_down()
        await node.pass_time(5)
        assert (await node.get()).status.reason == "Terminated"
        assert logind.released_at[-1] - began < 4


async def test_new_pod_is_refused_until_the_shutdown_is_cancelled(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind) as node:
        logind.shut_down()
        await node.pass_time(2)
        await node.create(pod("late"))
        await node.pass_time(2)
        late = await node.get("late")
        assert (late.status.phase, late.status.reason) == ("Failed", "NodeShutdown")
        assert late.status.message == "Pod was rejected: Pod was rejected as the node is shutting down."
        expected = "NodeShutdown: Pod was rejected as the node is shutting down."
        assert expected in await node.events("late")

        logind.cancel_shutdown()
        await node.pass_time(2)
        assert len(logind.locks) == 1, "the lock is taken again"
        assert (await ready(node))[0] == "True"
        await node.create(pod("later"))
        await node.pass_time(3)
        assert (await node.get("later")).status.phase == "Running"
        assert [event for event in await node.events(NODE) if "NodeShutdown" in event] == [
            "NodeShutdown: Shutdown manager detected shutdown cancellation",
            "NodeShutdown: Shutdown manager detected shutdown event",
        ]


async def test_groups_end_by_priority(cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind) -> None:
    from podling.kubelet.configuration.grace_periods import PriorityGracePeriod

    periods = tuple(
        PriorityGracePeriod(priority=priority, shutdown_grace_period_seconds=seconds)
        for priority, seconds in ((2_000_000_000, 3), (0, 8))
    )
    async with node_with(cluster, tmp_path, logind, shutdown_grace_period_by_pod_priority=periods) as node:
        await node.create(pod("web", script=STUBBORN))
        await node.create(pod("core", script=STUBBORN, priorityClassName=CRITICAL))
        await node.pass_time(5)
        logind.shut_down()
        await node.pass_time(9)
        assert (await node.get("web")).status.phase == "Failed"
        assert (await node.get("core")).status.phase == "Running"
        await node.pass_time(4)
        assert (await node.get("core")).status.phase == "Failed"
        assert not logind.locks


async def test_longest_delay_of_logind_is_raised(cluster: ControlPlane, tmp_path: Path) -> None:
    logind = SimulatedLogind(delay=5.0)
    async with node_with(cluster, tmp_path, logind) as node:
        await node.pass_time(2)
        assert logind.delay == 30.0
        assert logind.locks


async def test_node_without_the_delay_runs_on_and_tries_again(
    cluster: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logind = SimulatedLogind(delay=75.0, limit=75.0)
    periods = {"shutdown_grace_period": 90.0, "shutdown_grace_period_critical_pods": 10.0}
    async with node_with(cluster, tmp_path, logind, **periods) as node:
        await node.pass_time(20)
        assert not logind.locks
        assert (await ready(node))[0] == "True"
        text = (
            "node shutdown manager was unable to update logind InhibitDelayMaxSec to 1m30s "
            "(ShutdownGracePeriod), current value of InhibitDelayMaxSec (1m15s) is less than requested "
            "ShutdownGracePeriod"
        )
        assert caplog.text.count(text) == 1, "the same problem is reported once"
        logind._limit = 100.0
        await node.pass_time(3)
        assert logind.locks


async def test_lost_connection_is_made_anew(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    """The lock is held until another one is taken; each connection's end is survived."""
    async with node_with(cluster, tmp_path, logind) as node:
        await node.pass_time(2)
        for lock in (1, 2, 3):
            logind.is_reachable = False
            logind.restart()
            await node.pass_time(5)
            assert logind.locks == {lock}
            logind.is_reachable = True
            await node.pass_time(2)
            assert logind.locks == {lock + 1}


async def test_kubelet_without_periods_uses_no_login_manager(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind, max_pods=5) as node:
        await node.pass_time(5)
        assert not logind.locks


async def test_stopped_kubelet_releases_its_lock(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind) as node:
        await node.pass_time(2)
        await node.stop()
        assert not logind.locks
        await node.restart()
        await node.pass_time(2)
        assert len(logind.locks) == 1


async def test_times_of_the_last_shutdown_are_kept_and_shown(
    cluster: ControlPlane, tmp_path: Path, logind: SimulatedLogind
) -> None:
    async with node_with(cluster, tmp_path, logind) as node:
        await node.pass_time(5)
        assert not (tmp_path / FILE_NAME).exists()
        began = clock.now()
        await node.create(pod("slow", script=STUBBORN, terminationGracePeriodSeconds=60))
        await node.pass_time(1)
        logind.shut_down()
        await node.pass_time(5)
        counted = node.kubelet.pod_view.metrics
        assert (counted.shutdown_started or 0) >= began.timestamp()
        await node.pass_time(30)
        assert (counted.shutdown_ended or 0) > (counted.shutdown_started or 0)
        written = json.loads((tmp_path / FILE_NAME).read_bytes())
        assert set(written) == {"startTime", "endTime"}
        await node.restart()
        await node.pass_time(1)
        after = node.kubelet.pod_view.metrics
        assert (after.shutdown_started, after.shutdown_ended) == (
            counted.shutdown_started,
            counted.shutdown_ended,
        )
