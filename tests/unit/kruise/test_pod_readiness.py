"""The readiness gate with several writers: each has an entry, and the last one opens the gate."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.api.core_v1 import Pod, PodCondition
from podling.machinery.conditions import find
from podling.machinery.encoding import codec
from podling_kruise.inplace.completion import with_gate
from podling_kruise.pod_readiness import entries_of, needs_condition, with_entry, without_entry

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ONE, OTHER = ("Lifecycle", "preDeleteHook"), ("ContainerRecreateRequest", "default/again")
GATED = codec.from_plain({"spec": {"readinessGates": [{"conditionType": "KruisePodReady"}]}}, Pod)


def status(pod: Pod) -> str:
    found = find(pod.status.conditions, "KruisePodReady")
    return found.status if found is not None else ""


def test_gate_opens_when_the_last_writer_lets_go() -> None:
    held = with_entry(with_entry(GATED, ONE, NOW), OTHER, NOW)
    assert (status(held), entries_of(held)) == ("False", sorted([ONE, OTHER]))
    half = without_entry(held, ONE, NOW)
    assert (status(half), entries_of(half)) == ("False", [OTHER])
    assert status(without_entry(half, OTHER, NOW)) == "True"


def test_entry_that_is_there_changes_nothing() -> None:
    held = with_entry(GATED, ONE, NOW)
    assert with_entry(held, ONE, NOW) is held


def test_pod_without_the_gate_stays_as_it_is() -> None:
    assert with_entry(Pod(), ONE, NOW) == Pod()
    assert (needs_condition(Pod()), needs_condition(GATED)) == (False, True)


@pytest.mark.parametrize(
    ("gate", "containers", "before", "after"),
    [
        (None, "False", "False", "False"),
        ("absent", "True", "True", "False"),
        ("False", "True", "True", "False"),
        ("True", "True", "False", "True"),
        ("True", "False", "True", "True"),
        (None, "True", "True", "True"),
    ],
)
def test_closed_condition_makes_the_pod_ready_or_not_by_its_gates(
    gate: str | None, containers: str, before: str, after: str
) -> None:
    """``TestSetPodReadyCondition``: ``gate`` is the condition of another gate."""
    conditions = [{"type": "Ready", "status": before}, {"type": "ContainersReady", "status": containers}]
    if gate in ("True", "False"):
        conditions.append({"type": "type-A", "status": gate})
    plain = {
        "spec": {"readinessGates": [] if gate is None else [{"conditionType": "type-A"}]},
        "status": {"conditions": conditions},
    }
    closed = PodCondition(type="other", status="False")
    found = find(with_gate(codec.from_plain(plain, Pod), closed, NOW).status.conditions, "Ready")
    assert found is not None
    assert found.status == after
    if before != after and after == "False":
        assert found.reason == "ReadinessGatesNotReady"
