"""Observations of a pod: order, and the containers of a name."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from podling.kubelet.observation import assemble
from podling.runtime.base import ContainerState
from tests.unit.kubelet.instances import container, sandbox

RUNNING = container("app", 2, ContainerState.RUNNING, sandbox="s1")
OBSERVED = assemble(
    "u-1",
    1,
    [sandbox(0, ready=False), sandbox(1)],
    [container("app", 0), RUNNING, container("app", 1), container("setup", 0)],
)


def test_instances_are_newest_first() -> None:
    assert [found.id for found in OBSERVED.instances("app")] == ["app2", "app1", "app0"]
    assert OBSERVED.newest("app") == RUNNING
    assert OBSERVED.newest("none") is None


def test_newest_exited_skips_running_containers() -> None:
    found = OBSERVED.newest_exited("app")
    assert found is not None
    assert found.id == "app1"


def test_current_container_is_of_the_latest_sandbox() -> None:
    assert OBSERVED.sandbox is not None
    assert OBSERVED.sandbox.id == "s1"
    assert OBSERVED.current("app") == RUNNING
    assert OBSERVED.current("setup") is None
    assert assemble("u-1", 1, (), [container("app")]).current("app") is None


def test_fingerprint_changes_with_a_state() -> None:
    ended = container("app", 2, sandbox="s1")
    before = assemble("u-1", 1, [sandbox(1)], [RUNNING])
    assert before.fingerprint() == assemble("u-1", 2, [sandbox(1)], [RUNNING]).fingerprint()
    assert before.fingerprint() != assemble("u-1", 2, [sandbox(1)], [ended]).fingerprint()


def test_later_attempt_is_newer_though_the_clock_was_set_back() -> None:
    new = replace(sandbox(1), created_at=sandbox(1).created_at - timedelta(hours=1))
    running = replace(RUNNING, created_at=RUNNING.created_at - timedelta(hours=1))
    found = assemble("u-1", 1, [sandbox(0, ready=False), new], [container("app", 0), running])
    assert found.sandbox == new
    assert found.newest("app") == running
