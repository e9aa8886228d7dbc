"""Probes and hooks of pods on a simulated node."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Event, Pod
from podling.client.base import PatchType
from tests.support.kubelet_node import SimNode, condition, pod


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", "ports": [{"name": "web", "containerPort": 8080}], **more}]


async def test_readiness_follows_its_probe(node: SimNode) -> None:
    probe = {"httpGet": {"port": "web", "path": "/ready"}, "periodSeconds": 5, "failureThreshold": 1}
    answers = [{"success": False, "output": "HTTP probe failed with statuscode: 503"}, {"after": 12}]
    answers += [{"after": 42, "success": False, "output": "gone"}]
    await node.create(pod(containers=container(readinessProbe=probe), script={"probes": answers}))
    await node.pass_time(10)
    found = await node.get()
    assert condition(found, "ContainersReady") == "False ContainersNotReady"
    assert condition(found, "Ready") == "False ContainersNotReady"
    assert found.status.container_statuses[0].started is True
    assert "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503" in await node.events()
    await node.pass_time(10)
    found = await node.get()
    assert [condition(found, type_) for type_ in ("ContainersReady", "Ready")] == ["True", "True"]
    await node.pass_time(30)
    found = await node.get()
    assert condition(found, "Ready") == "False ContainersNotReady"
    assert found.status.container_statuses[0].restart_count == 0


async def test_a_failed_liveness_probe_restarts_the_container(node: SimNode) -> None:
    """The exec liveness example of the Kubernetes documentation."""
    probe = {"exec": {"command": ["cat", "/tmp/healthy"]}, "initialDelaySeconds": 5, "periodSeconds": 5}
    life = {"exec": [{}, {"after": 30, "exitCode": 1, "stderr": "cat: can't open '/tmp/healthy'"}]}
    await node.create(pod(containers=container(livenessProbe=probe), script=life))
    await node.pass_time(44)
    found = await node.get()
    assert found.status.container_statuses[0].restart_count == 1
    recorded = await node.events()
    assert "Unhealthy: Liveness probe failed: cat: can't open '/tmp/healthy'" in recorded
    assert "Killing: Container app failed liveness probe, will be restarted" in recorded


async def test_a_startup_probe_is_not_made_after_its_success(node: SimNode) -> None:
    probe = {"exec": {"command": ["started"]}, "periodSeconds": 2, "failureThreshold": 1}
    life = {"exec": [{}, {"after": 10, "exitCode": 1}]}
    await node.create(pod(containers=container(startupProbe=probe), script=life))
    await node.pass_time(60)
    (status,) = (await node.get()).status.container_statuses
    assert (status.started, status.restart_count) == (True, 0)
    assert not any(recorded.startswith("Unhealthy") for recorded in await node.events())


async def test_startup_probe_precedes_liveness_and_readiness(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 2}
    startup = {**probe, "failureThreshold": 30}
    life = {"probes": [{"success": False}, {"after": 21}]}
    await node.create(
        pod(
            containers=container(startupProbe=startup, livenessProbe=probe, readinessProbe=probe),
            script=life,
        )
    )
    await node.pass_time(20)
    (status,) = (await node.get()).status.container_statuses
    assert (status.started, status.ready, status.restart_count) == (False, False, 0)
    await node.pass_time(3)
    (status,) = (await node.get()).status.container_statuses
    assert (status.started, status.ready, status.restart_count) == (True, True, 0)


async def test_a_container_that_never_starts_up_is_restarted(node: SimNode) -> None:
    startup = {"grpc": {"port": 8080}, "periodSeconds": 2, "failureThreshold": 3}
    await node.create(
        pod(containers=container(startupProbe=startup), script={"probes": [{"success": False}]})
    )
    await node.pass_time(7)
    assert "Killing: Container app failed startup probe, will be restarted" in await node.events()
    assert (await node.get()).status.container_statuses[0].restart_count == 1


async def test_readiness_gates_wait_for_other_controllers(node: SimNode) -> None:
    await node.create(pod(readinessGates=[{"conditionType": "example.com/gate"}]))
    await node.pass_time(1)
    found = await node.get()
    assert condition(found, "ContainersReady") == "True"
    assert condition(found, "Ready") == "False ReadinessGatesNotReady"
    opened = {"type": "example.com/gate", "status": "True"}
    patch = {"status": {"conditions": [opened]}}
    await node.client.patch(
        Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC, subresource="status"
    )
    await node.pass_time(1)
    found = await node.get()
    assert condition(found, "Ready") == "True"
    assert condition(found, "example.com/gate") == "True"


async def test_pre_stop_takes_its_time_from_the_grace_period(node: SimNode) -> None:
    hook = {"preStop": {"sleep": {"seconds": 8}}}
    await node.create(
        pod(
            containers=container(lifecycle=hook),
            script={"ignoresSignals": True},
            terminationGracePeriodSeconds=10,
        )
    )
    await node.pass_time(1)
    await node.delete()
    await node.pass_time(9.5)
    assert await node.exists()
    await node.pass_time(1)
    assert not await node.exists()


async def test_hook_is_cancelled_at_the_end_of_the_grace_period(node: SimNode) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "1000"]}}}
    life = {"exec": [{"seconds": 1000}], "ignoresSignals": True}
    await node.create(
        pod(containers=container(lifecycle=hook), script=life, terminationGracePeriodSeconds=10)
    )
    await node.pass_time(1)
    await node.delete()
    await node.pass_time(11.5)
    assert await node.exists()
    await node.pass_time(1)
    assert not await node.exists()


async def test_failed_pre_stop_hook_is_an_event_and_termination_continues(node: SimNode) -> None:
    hook = {"preStop": {"exec": {"command": ["false"]}}}
    life = {"exec": [{"exitCode": 1, "seconds": 3}], "ignoresSignals": True}
    await node.create(
        pod(containers=container(lifecycle=hook), script=life, terminationGracePeriodSeconds=10)
    )
    await node.pass_time(1)
    await node.delete()
    await node.pass_time(9.5)
    assert await node.exists()
    await node.pass_time(1)
    assert not await node.exists()
    assert "FailedPreStopHook: PreStopHook failed" in await node.events()
    (event,) = [
        event
        for event in (await node.client.list(Event, "default")).items
        if event.reason == "FailedPreStopHook"
    ]
    assert (event.type, event.involved_object.field_path) == ("Warning", "spec.containers{app}")


async def test_readiness_is_probed_during_termination(node: SimNode) -> None:
    probe = {"httpGet": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 1}
    life = {"probes": [{}, {"after": 10, "success": False}], "ignoresSignals": True}
    await node.create(
        pod(
            containers=container(readinessProbe=probe, livenessProbe=probe),
            script=life,
            terminationGracePeriodSeconds=20,
        )
    )
    await node.pass_time(5)
    await node.delete()
    await node.pass_time(3)
    assert condition(await node.get(), "Ready") == "True"
    await node.pass_time(6)
    found = await node.get()
    assert condition(found, "Ready") == "False ContainersNotReady"
    assert found.status.container_statuses[0].restart_count == 0


async def test_probe_that_takes_too_long_shows_its_time_as_go_does(node: SimNode) -> None:
    probe = {"exec": {"command": ["ask", "me"]}, "timeoutSeconds": 90, "failureThreshold": 1}
    await node.create(pod(containers=container(readinessProbe=probe), script={"exec": [{"seconds": 1000}]}))
    await node.pass_time(120)
    text = 'Unhealthy: Readiness probe failed: command timed out: "ask me" timed out after 1m30s'
    assert text in await node.events()


async def test_container_that_ends_during_a_probe_is_not_unhealthy(node: SimNode) -> None:
    """The end is reported by itself; the failure of a running probe has no meaning then."""
    probe = {"exec": {"command": ["ask"]}, "periodSeconds": 10, "timeoutSeconds": 5}
    life = {"runs": [{"seconds": 2}], "exec": [{"seconds": 4, "exitCode": 1}]}
    await node.create(
        pod(
            containers=container(readinessProbe=probe, livenessProbe=probe),
            script=life,
            restartPolicy="Never",
        )
    )
    await node.pass_time(20)
    assert (await node.get()).status.phase == "Succeeded"
    assert not [recorded for recorded in await node.events() if recorded.startswith("Unhealthy")]
