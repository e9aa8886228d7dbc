"""The documented parameters of probes, one by one, on a simulated node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kubelet_node import SimNode, condition, pod

PORTS = [{"name": "liveness-port", "containerPort": 8080}]
HEALTHZ = {"path": "/healthz", "port": "liveness-port"}
SLOW_STARTER = {
    "ports": PORTS,
    "livenessProbe": {"httpGet": HEALTHZ, "failureThreshold": 1, "periodSeconds": 10},
    "startupProbe": {"httpGet": HEALTHZ, "failureThreshold": 30, "periodSeconds": 10},
}
"""The documents' example: up to 300 s to start, then one failure is enough."""


NO = {"success": False, "output": "HTTP probe failed with statuscode: 500"}


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", **more}]


async def restarts(node: SimNode) -> int:
    return (await node.get()).status.container_statuses[0].restart_count


async def test_a_slow_start_has_five_minutes_and_then_one_failure_is_enough(node: SimNode) -> None:
    answers = [NO, {"after": 250}, {"after": 400, **NO}]
    await node.create(pod(containers=container(**SLOW_STARTER), script={"probes": answers}))
    await node.pass_time(245)
    assert (await node.get()).status.container_statuses[0].started is False
    assert not [recorded for recorded in await node.events() if recorded.startswith("Unhealthy: Liveness")]
    await node.pass_time(10)
    assert (await node.get()).status.container_statuses[0].started is True
    await node.pass_time(140)
    assert await restarts(node) == 0
    await node.pass_time(20)
    assert await restarts(node) == 1
    last = (await node.get()).status.container_statuses[0].last_state.terminated
    assert last is not None
    assert (last.exit_code, last.reason) == (143, "Error")


@pytest.mark.parametrize(("policy", "phase", "count"), [("Always", "Running", 1), ("Never", "Failed", 0)])
async def test_container_without_startup_is_killed_after_300_seconds(
    node: SimNode, policy: str, phase: str, count: int
) -> None:
    await node.create(
        pod(containers=container(**SLOW_STARTER), script={"probes": [NO]}, restartPolicy=policy)
    )
    await node.pass_time(288)
    assert (await node.get()).status.phase == "Running"
    assert await restarts(node) == 0
    await node.pass_time(15)
    assert (await node.get()).status.phase == phase
    assert await restarts(node) == count


async def test_a_failed_liveness_probe_ends_a_container_that_is_never_restarted(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 5, "failureThreshold": 1}
    await node.create(
        pod(
            containers=container(livenessProbe=probe),
            script={"probes": [{}, {"after": 12, "success": False}]},
            restartPolicy="Never",
        )
    )
    await node.pass_time(20)
    found = await node.get()
    assert found.status.phase == "Failed"
    terminated = found.status.container_statuses[0].state.terminated
    assert terminated is not None
    assert (terminated.exit_code, terminated.reason) == (143, "Error")
    assert await restarts(node) == 0


async def test_a_probe_that_cannot_be_made_changes_nothing(node: SimNode) -> None:
    """The third result is unknown: the named port does not exist, so the probe cannot be made."""
    probe = {"httpGet": {"port": "nowhere"}, "periodSeconds": 5, "failureThreshold": 1}
    ready = {"tcpSocket": {"port": 8080}, "periodSeconds": 5}
    await node.create(pod(containers=container(livenessProbe=probe, readinessProbe=ready)))
    await node.pass_time(60)
    assert condition(await node.get(), "Ready") == "True"
    assert await restarts(node) == 0
    recorded = [text for text in await node.events() if "errored and resulted in unknown state" in text]
    assert len(recorded) == 1


async def test_thresholds_count_results_in_a_row(node: SimNode) -> None:
    """Not ready before three successes; ready still after two failures, and not after the third."""
    probe = {
        "tcpSocket": {"port": 8080},
        "initialDelaySeconds": 5,
        "periodSeconds": 5,
        "successThreshold": 3,
        "failureThreshold": 3,
    }
    await node.create(
        pod(
            containers=container(readinessProbe=probe),
            script={"probes": [{}, {"after": 22, "success": False}]},
        )
    )
    seen = []
    await node.pass_time(1)
    for _ in range(8):
        await node.pass_time(5)
        seen.append(condition(await node.get(), "Ready").split()[0])
    # The probes of 5, 10, ... 40 s: yes yes yes yes no no no no.
    assert seen == ["False", "False", "True", "True", "True", "True", "False", "False"]
    assert await restarts(node) == 0


async def test_probe_beyond_its_timeout_is_a_failure(node: SimNode) -> None:
    probe = {"exec": {"command": ["ask"]}, "periodSeconds": 10, "failureThreshold": 1}
    slow = {"exec": [{"seconds": 3}]}
    await node.create(
        pod("in-time", containers=container(readinessProbe={**probe, "timeoutSeconds": 4}), script=slow)
    )
    await node.create(pod("too-slow", containers=container(readinessProbe=probe), script=slow))
    await node.pass_time(30)
    assert condition(await node.get("in-time"), "Ready") == "True"
    assert condition(await node.get("too-slow"), "Ready") == "False ContainersNotReady"


async def test_without_probes_a_running_container_is_started_ready_and_alive(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(0.5)
    (status,) = (await node.get()).status.container_statuses
    assert (status.started, status.ready) == (True, True)
    await node.pass_time(3600)
    assert await restarts(node) == 0


async def test_a_readiness_probe_means_not_ready_until_it_succeeds_once(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 15, "periodSeconds": 10}
    await node.create(pod(containers=container(readinessProbe=probe)))
    await node.pass_time(14)
    (status,) = (await node.get()).status.container_statuses
    assert (status.started, status.ready) == (True, False)
    await node.pass_time(2)
    assert condition(await node.get(), "Ready") == "True"


async def test_delays_count_from_the_containers_start_though_startup_goes_first(node: SimNode) -> None:
    """The other probes begin when startup has succeeded: at once, if their own delay is over by then."""
    startup = {"exec": {"command": ["started"]}, "periodSeconds": 5, "failureThreshold": 30}
    delayed = {"exec": {"command": ["ready"]}, "initialDelaySeconds": 10, "periodSeconds": 5}
    answers = [
        {"command": "started", "exitCode": 1},
        {"command": "started", "after": 28},
        {"command": "ready"},
    ]
    await node.create(
        pod(containers=container(startupProbe=startup, readinessProbe=delayed), script={"exec": answers})
    )
    await node.pass_time(29)
    assert condition(await node.get(), "Ready") == "False ContainersNotReady"
    await node.pass_time(3)
    assert condition(await node.get(), "Ready") == "True"
