"""Restart policies and restart rules, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.restart_policy import (
    calls_for_restart_of_all,
    restarts_after,
    restarts_when_killed,
    should_start,
)
from podling.runtime.base import ContainerState
from tests.support.kubelet_node import pod
from tests.unit.kubelet.instances import NOON, container


def rule(action: str, operator: str, *codes: int) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


def app(**fields: Any) -> Container:
    return msgspec.convert({"name": "app", **fields}, Container)


RESTART_ON_42 = {"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 42)]}


@pytest.mark.parametrize(
    ("policy", "fields", "codes"),
    [
        ("Always", {}, {0, 1, 42}),
        ("OnFailure", {}, {1, 42}),
        ("Never", {}, set()),
        ("Never", {"restartPolicy": "OnFailure"}, {1, 42}),
        ("Always", RESTART_ON_42, {42}),
        ("Always", {"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "NotIn", 0)]}, {1, 42}),
    ],
)
def test_container_restarts_by_rule_then_policy(policy: str, fields: dict[str, Any], codes: set[int]) -> None:
    spec = PodSpec(restart_policy=policy)
    assert {code for code in (0, 1, 42) if restarts_after(app(**fields), spec, code)} == codes


def test_probe_kill_considers_the_policy_only() -> None:
    spec = PodSpec(restart_policy="OnFailure")
    assert restarts_when_killed(app(), spec)
    assert not restarts_when_killed(app(**RESTART_ON_42), spec)


@pytest.mark.parametrize(
    ("state", "exit_code", "expected"),
    [
        (None, None, True),
        (ContainerState.CREATED, None, True),
        (ContainerState.RUNNING, None, False),
        (ContainerState.UNKNOWN, None, True),
        (ContainerState.EXITED, 0, False),
        (ContainerState.EXITED, 1, True),
    ],
)
def test_stopped_container_starts_unless_its_policy_forbids(
    state: ContainerState | None, exit_code: int | None, expected: bool
) -> None:
    subject = pod(restartPolicy="OnFailure")
    newest = None if state is None else container(state=state, exit_code=exit_code)
    assert should_start(subject.spec.containers[0], subject, newest) == expected
    deleted = msgspec.structs.replace(subject, metadata=ObjectMeta(deletion_timestamp=NOON))
    assert not should_start(subject.spec.containers[0], deleted, newest)


@pytest.mark.parametrize(("exit_code", "expected"), [(42, True), (1, False)])
def test_only_a_matching_rule_restarts_all_containers(exit_code: int, expected: bool) -> None:
    subject = app(restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", "In", 42)])
    assert calls_for_restart_of_all(subject, container(exit_code=exit_code)) == expected
    assert not calls_for_restart_of_all(subject, container(state=ContainerState.RUNNING))
    assert not calls_for_restart_of_all(app(**RESTART_ON_42), container(exit_code=42))
