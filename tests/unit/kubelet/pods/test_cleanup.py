"""Ended containers and sandboxes that are removed while a pod runs, as tables."""

from __future__ import annotations

import pytest

from podling.kubelet.observation import assemble
from podling.kubelet.pods.cleanup import empty_sandboxes, superfluous_containers
from podling.runtime.base import ContainerState
from tests.unit.kubelet.instances import container, sandbox


@pytest.mark.parametrize(
    ("attempts", "running", "removed"),
    [(2, False, []), (4, False, ["app1", "app0"]), (4, True, ["app1", "app0"])],
)
def test_two_newest_instances_are_kept(attempts: int, running: bool, removed: list[str]) -> None:
    newest = ContainerState.RUNNING if running else ContainerState.EXITED
    found = [
        container("app", n, newest if n == attempts - 1 else ContainerState.EXITED) for n in range(attempts)
    ]
    observed = assemble("u-1", 1, (), [*found, container("other")])
    assert [each.id for each in superfluous_containers(observed)] == removed


def test_running_container_is_never_superfluous() -> None:
    old = container("app", 0, ContainerState.RUNNING)
    observed = assemble("u-1", 1, (), [old, container("app", 1), container("app", 2)])
    assert superfluous_containers(observed) == ()


def test_former_sandbox_is_removed_once_empty() -> None:
    last = container("app", 0, sandbox="s1")
    observed = assemble("u-1", 1, [sandbox(0, ready=False), sandbox(1, ready=False), sandbox(2)], [last])
    assert empty_sandboxes(observed, ()) == ("s0",)
    assert empty_sandboxes(observed, (last,)) == ("s1", "s0")
    alone = assemble("u-1", 1, [sandbox(0, ready=False)], [])
    assert empty_sandboxes(alone, ()) == ()
