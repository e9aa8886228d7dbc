"""The phase of a pod, as a table over its containers' statuses."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, PodSpec
from podling.kubelet.status.phase import pod_phase

RUNNING: dict[str, Any] = {"state": {"running": {}}, "started": True}
STARTING: dict[str, Any] = {"state": {"running": {}}, "started": False}
WAITING: dict[str, Any] = {"state": {"waiting": {"reason": "ContainerCreating"}}}
DONE: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}}
FAILED: dict[str, Any] = {"state": {"terminated": {"exitCode": 1}}}
CRASHED: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}
CYCLED: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 0}}}
RESET: dict[str, Any] = {
    "state": {"waiting": {}},
    "lastState": {"terminated": {"exitCode": 137, "reason": "RestartingAllContainers"}},
}


def phase(policy: str, statuses: dict[str, dict[str, Any]], **more: bool) -> str:
    """Return the phase: ``i…`` are init containers, ``s…`` sidecars, all others regular ones."""
    spec = {
        "restartPolicy": policy,
        "initContainers": [
            {"name": n, **({"restartPolicy": "Always"} if n[0] == "s" else {})}
            for n in statuses
            if n[0] in "is"
        ],
        "containers": [{"name": n} for n in statuses if n[0] not in "is"],
    }
    given = {
        name: msgspec.convert({"name": name, **plain}, ContainerStatus)
        for name, plain in statuses.items()
        if plain
    }
    return pod_phase(
        msgspec.convert(spec, PodSpec),
        given,
        initialized=more.get("initialized", False),
        terminal=more.get("terminal", False),
        static=more.get("static", False),
    )


@pytest.mark.parametrize(
    ("policy", "statuses", "expected"),
    [
        ("Always", {"a": {}}, "Pending"),
        ("Always", {"a": WAITING}, "Pending"),
        ("Always", {"a": RUNNING}, "Running"),
        ("Always", {"a": RUNNING, "b": WAITING}, "Pending"),
        ("Always", {"a": RUNNING, "b": {}}, "Pending"),
        ("Always", {"a": DONE}, "Running"),
        ("Always", {"a": FAILED}, "Running"),
        ("Always", {"a": CRASHED}, "Running"),
        ("Always", {"a": CRASHED, "b": RUNNING}, "Running"),
        ("OnFailure", {"a": DONE}, "Succeeded"),
        ("OnFailure", {"a": FAILED}, "Running"),
        ("OnFailure", {"a": DONE, "b": FAILED}, "Running"),
        ("OnFailure", {"a": DONE, "b": RUNNING}, "Running"),
        ("Never", {"a": DONE}, "Succeeded"),
        ("Never", {"a": FAILED}, "Failed"),
        ("Never", {"a": DONE, "b": FAILED}, "Failed"),
        ("Never", {"a": FAILED, "b": RUNNING}, "Running"),
        ("Never", {"a": CYCLED}, "Failed"),
        ("Never", {"a": RESET}, "Running"),
        ("Never", {"i": DONE, "a": RUNNING}, "Running"),
        ("Never", {"i": FAILED, "a": WAITING}, "Failed"),
        ("Never", {"i": RUNNING, "a": WAITING}, "Pending"),
        ("Never", {"i": RESET, "a": RESET}, "Running"),
        ("Always", {"i": CRASHED, "a": CRASHED}, "Running"),
        ("Always", {"i": RUNNING, "a": CRASHED}, "Pending"),
        ("Never", {"i": CRASHED, "a": CRASHED}, "Failed"),
        ("Always", {"i": FAILED, "a": WAITING}, "Pending"),
        ("Always", {"i": CRASHED, "a": WAITING}, "Pending"),
        ("Always", {"i": {}, "a": WAITING}, "Pending"),
        ("Always", {"s": STARTING, "a": WAITING}, "Pending"),
        ("Always", {"s": STARTING, "a": RUNNING}, "Pending"),
        ("Always", {"s": RUNNING, "a": RUNNING}, "Running"),
        ("Never", {"s": RUNNING, "a": DONE}, "Running"),
        ("Never", {"s": DONE, "a": DONE}, "Succeeded"),
        ("Never", {"s": FAILED, "a": DONE}, "Succeeded"),
    ],
)
def test_phase_follows_the_containers_statuses(
    policy: str, statuses: dict[str, dict[str, Any]], expected: str
) -> None:
    assert phase(policy, statuses) == expected


def test_restarting_sidecar_keeps_an_initialized_pod_running() -> None:
    assert phase("Always", {"s": STARTING, "a": RUNNING}, initialized=True) == "Running"


def test_phase_is_one_of_four() -> None:
    """``Unknown`` is the fifth of the API; no kubelet decides it."""
    states: tuple[dict[str, Any], ...] = (
        RUNNING,
        STARTING,
        WAITING,
        DONE,
        FAILED,
        CRASHED,
        CYCLED,
        RESET,
        {},
    )
    policies = ("Always", "OnFailure", "Never")
    found = {
        phase(policy, {"i": setup, "s": side, "a": app}, terminal=terminal, initialized=initialized)
        for policy in policies
        for setup, side, app in product(states, repeat=3)
        for terminal, initialized in product((False, True), repeat=2)
    }
    assert found == {"Pending", "Running", "Succeeded", "Failed"}


@pytest.mark.parametrize(
    ("statuses", "static", "expected"),
    [
        ({"a": DONE}, False, "Succeeded"),
        ({"a": FAILED}, False, "Failed"),
        ({"a": CRASHED}, False, "Failed"),
        ({"a": FAILED}, True, "Running"),
    ],
)
def test_pod_ended_by_the_kubelet_is_over(
    statuses: dict[str, dict[str, Any]], static: bool, expected: str
) -> None:
    assert phase("Always", statuses, terminal=True, static=static) == expected
