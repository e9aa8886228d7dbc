"""Starts of containers with ``postStart`` hooks on a simulated node."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.runtime.base import ContainerState
from tests.support.kubelet_node import SimNode, pod


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", "ports": [{"name": "web", "containerPort": 8080}], **more}]


async def test_failed_post_start_hook_kills_the_container(node: SimNode) -> None:
    hook = {"postStart": {"exec": {"command": ["false"]}}}
    await node.create(pod(containers=container(lifecycle=hook), script={"exec": [{"exitCode": 1}]}))
    await node.pass_time(5)
    found = await node.get()
    recorded = await node.events()
    assert "FailedPostStartHook: PostStartHook failed" in recorded
    assert "Killing: FailedPostStartHook" in recorded
    (status,) = found.status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.reason in ("PostStartHookError", "CrashLoopBackOff")


@pytest.mark.parametrize(
    ("life", "ends"),
    [
        ({}, (5, 10, 25)),
        ({"ignoresSignals": True}, (20, 40, 70)),
        ({"stopSeconds": 3}, (8, 16, 34)),
    ],
)
async def test_failed_post_start_hook_runs_the_pre_stop_hook(
    node: SimNode, life: dict[str, Any], ends: tuple[int, ...]
) -> None:
    """The kill runs ``preStop`` within the grace period after any failed hook. It does not wait for the
    rest of the grace period, and the back-off counts from the process' end."""
    hooks = {"postStart": {"exec": {"command": ["false"]}}, "preStop": {"sleep": {"seconds": 5}}}
    said = {"command": "false", "exitCode": 1, "stdout": "out\n", "stderr": "oh no"}
    await node.create(
        pod(
            containers=container(lifecycle=hooks),
            script={"exec": [said], **life},
            terminationGracePeriodSeconds=20,
        )
    )
    began = clock.monotonic()
    for attempt, at in enumerate(ends):
        await node.pass_time(began + at - 0.5 - clock.monotonic())
        (newest, *_) = sorted(await node.runtime.list_containers(), key=lambda c: -c.attempt)
        assert (newest.attempt, newest.state) == (attempt, ContainerState.RUNNING)
        await node.pass_time(1)
        (status,) = (await node.get()).status.container_statuses
        assert status.restart_count == attempt
        assert status.state.waiting is not None
        if attempt == 0:
            uid = (await node.get()).metadata.uid
            assert status.state.waiting.reason == "PostStartHookError"
            assert status.state.waiting.message == (
                f'Exec lifecycle hook ([false]) for Container "app" in Pod "web_default({uid})" failed - '
                "error: command 'false' exited with 1: oh no, message: \"out\\noh no\""
            )


async def test_container_is_shown_running_after_its_post_start_hook(node: SimNode) -> None:
    hook = {"postStart": {"exec": {"command": ["prepare"]}}}
    await node.create(pod(containers=container(lifecycle=hook), script={"exec": [{"seconds": 10}]}))
    await node.pass_time(5)
    found = await node.get()
    assert found.status.phase == "Pending"
    assert found.status.container_statuses[0].state.waiting is not None
    await node.pass_time(6)
    assert (await node.get()).status.phase == "Running"
