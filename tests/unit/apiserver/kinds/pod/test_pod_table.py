"""Tests of the rows of ``kubectl get pods``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.pod import pod_table
from tests.support.manifests import NOW, PLAIN_POD, merged, obj

Row = tuple[str, list[str], str, str]
ONE = "spec: {containers: [{name: a}]}"
TWO = "spec: {containers: [{name: a}, {name: b}]}"
INIT = "spec: {initContainers: [{name: i}, {name: j}], containers: [{name: a}]}"
SIDECAR = "spec: {initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]}"
DELETED = "metadata: {deletionTimestamp: '2026-01-01T12:00:00Z'}"


def status(
    phase: str, containers: list[str] | None = None, inits: list[str] | None = None, more: str = ""
) -> str:
    regular = f"containerStatuses: [{', '.join(containers or [])}]"
    init = f"initContainerStatuses: [{', '.join(inits or [])}]"
    return f"status: {{phase: {phase}, {regular}, {init}{', ' + more if more else ''}}}"


def conditions(*texts: str) -> str:
    return f"conditions: [{', '.join(texts)}]"


def waiting(name: str, reason: str) -> str:
    return f"{{name: {name}, state: {{waiting: {{reason: {reason}}}}}}}"


def running(name: str, ready: bool = True) -> str:
    return f"{{name: {name}, ready: {str(ready).lower()}, state: {{running: {{}}}}}}"


def ended(name: str, code: int, reason: str = "", signal: int = 0) -> str:
    return (
        f"{{name: {name}, state: {{terminated: {{exitCode: {code}, reason: '{reason}', signal: {signal}}}}}}}"
    )


READY = "{type: Ready, status: 'True'}"
INITIALIZED = "{type: Initialized, status: 'True'}"
ROWS: list[Row] = [
    ("the phase, when nothing says more", [ONE, status("Pending")], "0/1", "Pending"),
    ("the status' own reason", [ONE, status("Failed", more="reason: Evicted")], "0/1", "Evicted"),
    (
        "a scheduling gate",
        [
            ONE,
            status(
                "Pending", more=conditions("{type: PodScheduled, status: 'False', reason: SchedulingGated}")
            ),
        ],
        "0/1",
        "SchedulingGated",
    ),
    (
        "a container being made",
        [ONE, status("Pending", [waiting("a", "ContainerCreating")])],
        "0/1",
        "ContainerCreating",
    ),
    ("running", [ONE, status("Running", [running("a")])], "1/1", "Running"),
    ("running, not ready", [ONE, status("Running", [running("a", False)])], "0/1", "Running"),
    ("crash loop", [ONE, status("Running", [waiting("a", "CrashLoopBackOff")])], "0/1", "CrashLoopBackOff"),
    (
        "the first container has the last word",
        [TWO, status("Running", [waiting("a", "ErrImagePull"), waiting("b", "CrashLoopBackOff")])],
        "0/2",
        "ErrImagePull",
    ),
    ("ended well", [ONE, status("Succeeded", [ended("a", 0, "Completed")])], "0/1", "Completed"),
    ("ended badly", [ONE, status("Failed", [ended("a", 1, "Error")])], "0/1", "Error"),
    ("ended without a reason", [ONE, status("Failed", [ended("a", 3)])], "0/1", "ExitCode:3"),
    ("killed without a reason", [ONE, status("Failed", [ended("a", 137, signal=9)])], "0/1", "Signal:9"),
    (
        "one completed, one runs, the pod is ready",
        [TWO, status("Running", [ended("a", 0, "Completed"), running("b")], more=conditions(READY))],
        "1/2",
        "Running",
    ),
    (
        "one completed, one runs, the pod is not ready",
        [TWO, status("Running", [ended("a", 0, "Completed"), running("b")])],
        "1/2",
        "NotReady",
    ),
    (
        "one completed, one failed",
        [TWO, status("Failed", [ended("a", 0, "Completed"), ended("b", 1, "Error")])],
        "0/2",
        "Error",
    ),
    (
        "first init container",
        [INIT, status("Pending", inits=[waiting("i", "PodInitializing")])],
        "0/1",
        "Init:0/2",
    ),
    (
        "second init container",
        [INIT, status("Pending", inits=[ended("i", 0, "Completed"), running("j", False)])],
        "0/1",
        "Init:1/2",
    ),
    (
        "init container waits",
        [INIT, status("Pending", inits=[waiting("i", "ImagePullBackOff")])],
        "0/1",
        "Init:ImagePullBackOff",
    ),
    ("init container failed", [INIT, status("Failed", inits=[ended("i", 1, "Error")])], "0/1", "Init:Error"),
    (
        "init container failed, no reason",
        [INIT, status("Failed", inits=[ended("i", 2)])],
        "0/1",
        "Init:ExitCode:2",
    ),
    (
        "init container killed, no reason",
        [INIT, status("Failed", inits=[ended("i", 137, signal=9)])],
        "0/1",
        "Init:Signal:9",
    ),
    (
        "init containers run again, but the pod was initialized",
        [
            INIT,
            status(
                "Running", [running("a")], [waiting("i", "CrashLoopBackOff")], more=conditions(INITIALIZED)
            ),
        ],
        "1/1",
        "Init:CrashLoopBackOff",
    ),
    (
        "a sidecar counts",
        [
            SIDECAR,
            status(
                "Running", [running("a")], ["{name: s, started: true, ready: true, state: {running: {}}}"]
            ),
        ],
        "2/2",
        "Running",
    ),
    (
        "a sidecar that has not started holds the pod up",
        [SIDECAR, status("Pending", inits=["{name: s, started: false, state: {running: {}}}"])],
        "0/2",
        "Init:0/1",
    ),
    ("being deleted", [ONE, status("Running", [running("a")]), DELETED], "1/1", "Terminating"),
    (
        "deleted and finished",
        [ONE, status("Succeeded", [ended("a", 0, "Completed")]), DELETED],
        "0/1",
        "Completed",
    ),
    (
        "deleted on a lost node",
        [ONE, status("Running", [running("a")], more="reason: NodeLost"), DELETED],
        "1/1",
        "Unknown",
    ),
]


def pod_of(*fragments: str) -> Pod:
    import yaml

    base: Any = PLAIN_POD
    for fragment in fragments:
        base = merged(base, yaml.safe_load(fragment))
    made: Pod = obj(Pod, "", base)
    return made


@pytest.mark.parametrize(("why", "fragments", "ready", "word"), ROWS, ids=[row[0] for row in ROWS])
def test_ready_and_status_cells_follow_containers(
    why: str, fragments: list[str], ready: str, word: str
) -> None:
    assert pod_table.row(pod_of(*fragments), NOW)[1:3] == (ready, word)


def test_restarts_state_age_of_the_last_one() -> None:
    finished = (NOW - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    last = f"lastState: {{terminated: {{exitCode: 1, finishedAt: '{finished}'}}}}"
    restarted = f"{{name: a, ready: true, restartCount: 3, state: {{running: {{}}}}, {last}}}"
    assert pod_table.row(pod_of(ONE, status("Running", [restarted])), NOW)[3] == "3 (5m ago)"


def test_restarts_of_finished_init_containers_do_not_count() -> None:
    init = "{name: i, restartCount: 4, state: {terminated: {exitCode: 0, reason: Completed}}}"
    second = ended("j", 0, "Completed")
    assert pod_table.row(pod_of(INIT, status("Running", [running("a")], [init, second])), NOW)[3] == "0"


def test_wide_columns_show_node_and_addresses() -> None:
    wide = (
        "spec: {nodeName: n1, readinessGates: [{conditionType: g1}, {conditionType: g2}]}",
        "status: {podIPs: [{ip: 10.0.0.7}], nominatedNodeName: n2, conditions: [{type: g1, status: 'True'}]}",
    )
    assert pod_table.row(pod_of(*wide), NOW)[5:] == ("10.0.0.7", "n1", "n2", "1/2")
    assert pod_table.row(pod_of(ONE), NOW)[5:] == ("<none>",) * 4


def test_columns_and_cells_match() -> None:
    assert [column.name for column in pod_table.COLUMNS] == [
        "Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"
    ]  # fmt: skip
    assert len(pod_table.row(pod_of(ONE), NOW)) == len(pod_table.COLUMNS)


@pytest.mark.parametrize(("phase", "marked"), [("Running", False), ("Succeeded", True), ("Failed", True)])
def test_row_of_finished_pod_has_condition(phase: str, marked: bool) -> None:
    found = pod_table.row_conditions(pod_of(ONE, status(phase)))
    assert [(each.type, each.status, each.reason) for each in found] == (
        [("Completed", "True", phase)] if marked else []
    )
