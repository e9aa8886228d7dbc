"""The node's decisions about requests: their order, states of containers, the next step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.kubelet.node_controllers import NodeContainer
from podling.machinery.encoding import codec
from podling_kruise.recreate.recreate_rules import (
    current_states,
    in_turn,
    next_step,
    seconds_to_next_success,
    seconds_to_recreation,
    unready_problem,
    with_failure,
)
from podling_kruise.recreate.types import ContainerRecreateRequest, RecreateState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD, NEW = "sim://old", "sim://new"


def request(
    strategy: dict[str, Any] | None = None,
    states: tuple[dict[str, Any], ...] = (),
    snapshot: dict[str, Any] | None = None,
    containers: tuple[str, ...] = ("app",),
    **status: Any,
) -> ContainerRecreateRequest:
    context = {"containerID": OLD, "restartCount": 0}
    shown = [{"name": "app", "ready": True, "restartCount": 1, "containerID": NEW, **(snapshot or {})}]
    plain = {
        "metadata": {"name": status.pop("name", "again"), "namespace": "default"},
        "spec": {
            "podName": "web",
            "containers": [{"name": each, "statusContext": context} for each in containers],
            "strategy": strategy or {},
        },
        "status": {
            "containerRecreateStates": list(states),
            "containerStatusSnapshot": [] if snapshot is None else shown,
            **status,
        },
    }
    return codec.from_plain(plain, ContainerRecreateRequest)


def container(id: str = OLD, name: str = "app", *, age: float = 100, exited: bool = False) -> NodeContainer:
    return NodeContainer(
        name=name,
        id=id,
        is_running=not exited,
        has_exited=exited,
        restart_count=int(id == NEW),
        started_at=NOW - timedelta(seconds=age),
    )


KILLED = {"name": "app", "phase": "Recreating", "isKilled": True}
FORCE = {"forceRecreate": True}


@pytest.mark.parametrize(
    ("made", "found", "phase"),
    [
        pytest.param(request(), None, "Pending", id="not on the node"),
        pytest.param(request(), container(), "Pending", id="still the old one"),
        pytest.param(request(), container(exited=True), "Recreating", id="ended"),
        pytest.param(request(), container(NEW), "Recreating", id="another one, not shown"),
        pytest.param(request(snapshot={}), container(NEW), "Succeeded", id="another one, ready"),
        pytest.param(request(snapshot={"ready": False}), container(NEW), "Recreating", id="not ready"),
        pytest.param(
            request(snapshot={"containerID": OLD}), container(NEW), "Recreating", id="an older snapshot"
        ),
        pytest.param(
            request({"minStartedSeconds": 60}, snapshot={}), container(NEW, age=59), "Recreating", id="young"
        ),
        pytest.param(
            request({"minStartedSeconds": 60}, snapshot={}), container(NEW, age=60), "Succeeded", id="old"
        ),
        pytest.param(request(FORCE, snapshot={}), container(NEW), "Pending", id="forced, another one"),
        pytest.param(
            request(FORCE, (KILLED,), snapshot={}), container(NEW), "Succeeded", id="forced, stopped before"
        ),
        pytest.param(request(FORCE), container(exited=True), "Recreating", id="forced, ended"),
    ],
)
def test_state_follows_from_what_runs_on_the_node(
    made: ContainerRecreateRequest, found: NodeContainer | None, phase: str
) -> None:
    (state,) = current_states(made, {} if found is None else {"app": found}, NOW)
    assert state.phase == phase
    assert state.message == ("not found container on Node" if found is None else "")


@pytest.mark.parametrize(("restarts", "phase"), [(0, "Pending"), (1, "Recreating")])
def test_container_that_was_restarted_under_its_id_is_another_one(restarts: int, phase: str) -> None:
    found = structs.replace(container(), restart_count=restarts)
    (state,) = current_states(request(), {"app": found}, NOW)
    assert state.phase == phase


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_final_state_stays(phase: str) -> None:
    made = request(states=({"name": "app", "phase": phase},))
    (state,) = current_states(made, {"app": container()}, NOW)
    assert state.phase == phase


def phases(*found: str) -> tuple[RecreateState, ...]:
    return tuple(RecreateState(name=f"c{number}", phase=each) for number, each in enumerate(found))


IGNORE, ORDERED = {"failurePolicy": "Ignore"}, {"orderedRecreate": True}


@pytest.mark.parametrize(
    ("strategy", "states", "stop", "is_complete"),
    [
        ({}, phases("Pending", "Pending"), "c0", False),
        ({}, phases("Recreating", "Pending"), "c1", False),
        (ORDERED, phases("Recreating", "Pending"), "", False),
        (ORDERED, phases("Succeeded", "Pending"), "c1", False),
        ({}, phases("Succeeded", "Recreating"), "", False),
        ({}, phases("Succeeded", "Succeeded"), "", True),
        ({}, phases("Failed", "Pending"), "", True),
        (IGNORE, phases("Failed", "Pending"), "c1", False),
        (IGNORE, phases("Failed", "Succeeded"), "", True),
    ],
)
def test_next_step_stops_one_container_or_ends_the_request(
    strategy: dict[str, Any], states: tuple[RecreateState, ...], stop: str, is_complete: bool
) -> None:
    made = request(strategy, containers=("c0", "c1"))
    step = next_step(made, states, {name: container(name=name) for name in ("c0", "c1")})
    assert (step.stop, step.is_complete) == (stop, is_complete)
    if stop:
        assert {each.name: each.phase for each in step.states}[stop] == "Recreating"


def test_container_that_is_not_there_holds_up_those_after_it() -> None:
    made = request(containers=("c0", "c1"))
    assert next_step(made, phases("Pending", "Pending"), {"c1": container(name="c1")}).stop == ""


def test_container_that_ended_counts_as_stopped() -> None:
    step = next_step(request(), phases("Recreating"), {})
    assert [each.is_killed for each in step.states] == [True]


def test_failure_is_shown_in_the_state() -> None:
    (state,) = with_failure(phases("Recreating"), "c0", RuntimeError("no answer"))
    assert (state.phase, state.message) == ("Failed", "kill container error: no answer")


def test_request_that_has_begun_comes_first_then_the_oldest() -> None:
    found = [
        request(name="new"),
        request(name="waits", phase="Pending"),
        request(name="begun", phase="Recreating"),
        request(name="ended", phase="Completed", completionTime="2026-01-01T00:00:00Z"),
    ]
    assert [each.metadata.name for each in in_turn(found)] == ["begun", "waits", "new"]


def test_grace_counts_from_the_condition() -> None:
    condition = {
        "type": "PreRecreateGrace",
        "status": "True",
        "reason": "PreRecreateGrace",
        "message": "",
        "lastTransitionTime": "2025-12-31T23:59:50Z",
    }
    strategy = {"unreadyGracePeriodSeconds": 15}
    assert seconds_to_recreation(request(strategy, conditions=[condition]), NOW) == 5
    assert seconds_to_recreation(request(strategy), NOW) is None
    assert seconds_to_recreation(request(), NOW) == 0


def test_ended_container_is_not_waited_for_by_the_clock() -> None:
    """Its last status may still say that it is ready: only its successor can succeed."""
    made = request(snapshot={})
    ended = {"app": container(NEW, exited=True)}
    assert seconds_to_next_success(made, current_states(made, ended, NOW), ended, NOW) is None


def test_young_container_is_looked_at_when_it_is_old_enough() -> None:
    made = request({"minStartedSeconds": 60}, snapshot={})
    young = {"app": container(NEW, age=20)}
    assert seconds_to_next_success(made, current_states(made, young, NOW), young, NOW) == 40


def test_request_without_the_containers_of_its_creation_cannot_be_carried_out() -> None:
    plain = {"spec": {"podName": "web", "containers": [{"name": "app"}]}}
    problem = unready_problem(codec.from_plain(plain, ContainerRecreateRequest))
    assert problem == (
        "failed to find runtime service: no statusContext or empty containerID in app container"
    )
