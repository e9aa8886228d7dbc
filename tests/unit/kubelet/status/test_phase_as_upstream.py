"""The phase of a pod in the cases of ``kubelet_pods_test.go``."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, PodSpec
from podling.kubelet.status.phase import pod_phase

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
OVER = {"exitCode": 137, "reason": "RestartingAllContainers"}
STATES: dict[str, dict[str, Any]] = {
    "-": {},
    "waits": {"state": {"waiting": {}}},
    "ended-well-before": {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 0}}},
    "ended-badly-before": {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": -1}}},
    "runs": {"state": {"running": {}}},
    "started": {"state": {"running": {}}, "started": True},
    "done": {"state": {"terminated": {"exitCode": 0}}},
    "failed": {"state": {"terminated": {"exitCode": -1}}},
    "42": {"state": {"terminated": {"exitCode": 42}}},
    "over": {"state": {"waiting": {}}, "lastState": {"terminated": OVER}},
}
"""The states of containers; ``-`` is one without a status."""


def phase(policy: str, init: str, regular: str, own: list[dict[str, Any]], **more: bool) -> str:
    """Return the phase of a pod. ``own`` has what is set in its containers, init containers first.

    ``init`` and ``regular`` name the containers' states in order.
    """
    states = [STATES[name] for name in (*init.split(), *regular.split())]
    containers = [
        {"name": f"c{number}", **(own[number] if number < len(own) else {})} for number in range(len(states))
    ]
    first = len(init.split())
    spec = {"restartPolicy": policy, "initContainers": containers[:first], "containers": containers[first:]}
    statuses = {
        container["name"]: msgspec.convert({"name": container["name"], **state}, ContainerStatus)
        for container, state in zip(containers, states, strict=True)
        if state
    }
    return pod_phase(
        msgspec.convert(spec, PodSpec),
        statuses,
        initialized=more.get("initialized", False),
        terminal=more.get("terminal", False),
    )


@pytest.mark.parametrize(
    ("policy", "regular", "terminal", "expected"),
    [
        ("Always", "- -", False, "Pending"),
        ("Always", "runs runs", False, "Running"),
        ("Always", "done done", False, "Running"),
        ("Always", "done done", True, "Succeeded"),
        ("Always", "done failed", True, "Failed"),
        ("Always", "runs done", False, "Running"),
        ("Always", "runs -", False, "Pending"),
        ("Always", "runs waits", False, "Pending"),
        ("Always", "runs ended-well-before", False, "Running"),
        ("Never", "- -", False, "Pending"),
        ("Never", "runs runs", False, "Running"),
        ("Never", "done done", False, "Succeeded"),
        ("Never", "failed failed", False, "Failed"),
        ("Never", "runs done", False, "Running"),
        ("Never", "runs -", False, "Pending"),
        ("Never", "runs waits", False, "Pending"),
        ("OnFailure", "- -", False, "Pending"),
        ("OnFailure", "runs runs", False, "Running"),
        ("OnFailure", "done done", False, "Succeeded"),
        ("OnFailure", "failed failed", False, "Running"),
        ("OnFailure", "runs done", False, "Running"),
        ("OnFailure", "runs -", False, "Pending"),
        ("OnFailure", "runs waits", False, "Pending"),
        ("OnFailure", "runs ended-well-before", False, "Running"),
    ],
)
def test_phase_follows_the_regular_containers(
    policy: str, regular: str, terminal: bool, expected: str
) -> None:
    """``TestPodPhaseWithRestartAlways``, ``...Never``, ``...OnFailure``."""
    assert phase(policy, "", regular, [], terminal=terminal) == expected


@pytest.mark.parametrize(
    ("policy", "init", "regular", "expected"),
    [
        ("Always", "-", "- -", "Pending"),
        ("Always", "runs", "- -", "Pending"),
        ("Always", "failed", "- -", "Pending"),
        ("Always", "ended-well-before", "- -", "Pending"),
        ("Always", "ended-badly-before", "- -", "Pending"),
        ("Always", "waits", "- -", "Pending"),
        ("Always", "done", "runs runs", "Running"),
        ("Never", "-", "- -", "Pending"),
        ("Never", "runs", "- -", "Pending"),
        ("Never", "failed", "- -", "Failed"),
        ("Never", "ended-well-before", "- -", "Pending"),
        ("Never", "ended-badly-before", "- -", "Failed"),
        ("Never", "waits", "- -", "Pending"),
        ("Never", "done", "runs runs", "Running"),
    ],
)
def test_phase_follows_the_init_containers(policy: str, init: str, regular: str, expected: str) -> None:
    """``TestPodPhaseWithRestartAlwaysInitContainers``, ``...NeverInitContainers``."""
    assert phase(policy, init, regular, []) == expected


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("policy", "sidecar", "regular", "terminal", "expected"),
    [
        ("Always", "-", "- -", False, "Pending"),
        ("Always", "runs", "- -", False, "Pending"),
        ("Always", "done", "- -", False, "Pending"),
        ("Always", "ended-well-before", "- -", False, "Pending"),
        ("Always", "ended-badly-before", "- -", False, "Pending"),
        ("Always", "waits", "- -", False, "Pending"),
        ("Always", "started", "runs -", False, "Pending"),
        ("Always", "started", "runs runs", False, "Running"),
        ("Always", "runs", "runs runs", False, "Running"),
        ("Always", "done", "runs runs", False, "Running"),
        ("Always", "ended-well-before", "runs runs", False, "Running"),
        ("Always", "failed", "done done", True, "Succeeded"),
        ("Always", "done", "done done", True, "Succeeded"),
        ("Never", "-", "- -", False, "Pending"),
        ("Never", "runs", "- -", False, "Pending"),
        ("Never", "done", "- -", False, "Pending"),
        ("Never", "ended-well-before", "- -", False, "Pending"),
        ("Never", "ended-badly-before", "- -", False, "Pending"),
        ("Never", "waits", "- -", False, "Pending"),
        ("Never", "started", "runs -", False, "Pending"),
        ("Never", "started", "done done", False, "Running"),
        ("Never", "runs", "done done", False, "Running"),
        ("Never", "done", "done done", False, "Succeeded"),
        ("Never", "failed", "done done", False, "Succeeded"),
        ("Never", "ended-well-before", "done done", False, "Succeeded"),
        ("Never", "ended-badly-before", "done done", False, "Succeeded"),
    ],
)
def test_phase_follows_the_sidecars(
    policy: str, sidecar: str, regular: str, terminal: bool, expected: str
) -> None:
    """``TestPodPhaseWithRestartAlwaysRestartableInitContainers``, ``...NeverRestartableInitContainers``."""
    found = phase(policy, sidecar, regular, [SIDECAR], terminal=terminal, initialized="-" not in regular)
    assert found == expected


@pytest.mark.parametrize(
    ("init", "sidecar", "regular", "expected"),
    [
        ("runs", "runs", "runs", "Pending"),
        ("runs", "runs", "done", "Pending"),
        ("done", "runs", "done", "Running"),
        ("done", "runs", "runs", "Running"),
    ],
)
def test_phase_of_a_pod_that_has_run(init: str, sidecar: str, regular: str, expected: str) -> None:
    """``TestPodPhaseWithRestartAlwaysAndPodHasRun``."""
    assert phase("Always", f"{init} {sidecar}", regular, [{}, SIDECAR], initialized=True) == expected


NEVER, ON_FAILURE = {"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}
RESETS, SIDE_RESETS = ({**own, "restartPolicyRules": [RULE]} for own in (NEVER, SIDECAR))


@pytest.mark.parametrize(
    ("policy", "init", "regular", "own", "expected"),
    [
        ("Always", "", "failed done", [NEVER, ON_FAILURE], "Failed"),
        ("Always", "", "done done", [NEVER, ON_FAILURE], "Succeeded"),
        ("Always", "failed", "-", [NEVER], "Failed"),
        ("Never", "failed", "-", [ON_FAILURE], "Pending"),
        ("Never", "failed", "-", [SIDECAR], "Pending"),
    ],
)
def test_phase_follows_the_restart_policies_of_containers(
    policy: str, init: str, regular: str, own: list[dict[str, Any]], expected: str
) -> None:
    """``TestPodPhaseWithContainerRestartPolicy``, ``...RestartPolicyInitContainers``."""
    assert phase(policy, init, regular, own, initialized=True) == expected


@pytest.mark.parametrize(
    ("init", "regular", "own", "expected"),
    [
        ("", "42", [RESETS], "Running"),
        ("42", "waits", [RESETS], "Pending"),
        ("42", "waits", [SIDE_RESETS], "Pending"),
        ("42 waits", "waits", [SIDE_RESETS], "Pending"),
        ("", "over", [RESETS], "Running"),
        ("over", "waits", [RESETS], "Pending"),
        ("over", "waits", [SIDE_RESETS], "Pending"),
        ("over over", "waits", [SIDE_RESETS], "Pending"),
        ("done", "over", [{}, RESETS], "Running"),
        ("failed", "over", [{}, RESETS], "Failed"),
        ("done", "waits", [RESETS], "Pending"),
        ("over", "over", [SIDE_RESETS], "Running"),
        ("runs", "over", [SIDE_RESETS], "Running"),
        ("runs over", "waits", [SIDE_RESETS], "Pending"),
    ],
)
def test_phase_while_all_containers_restart(
    init: str, regular: str, own: list[dict[str, Any]], expected: str
) -> None:
    """``TestPodPhaseWithRestartAllContainers``."""
    assert phase("Never", init, regular, own, initialized=True) == expected
