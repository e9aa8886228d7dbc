"""Ends of real pods: hooks, signals, grace periods, and the endpoints of pods that end or are not ready."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import descriptions
from tests.support.clusters import RealCluster
from tests.support.marked_pods import Plain, marked, pod, wait_for
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"
SOON = {"periodSeconds": 1, "failureThreshold": 1}
FINALIZER = "example.com/hold"
SERVER = """
import http.server, pathlib, signal, sys
class Hooked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        pathlib.Path("/marks/asked").write_text(f"{self.path} {self.headers['X-Word']}")
        self.send_response(500)
        self.end_headers()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = http.server.HTTPServer(("", 8080), Hooked)
pathlib.Path("/marks/serves").touch()
server.serve_forever()
"""


def shell(script: str) -> Plain:
    return {"exec": {"command": ["sh", "-c", script]}}


def meeting(name: str, other: str, script: str = "") -> Plain:
    """Return a container whose hook and whose end wait for those of the other container."""
    term = f"[ -e /marks/{name}-left ] && touch /marks/{name}-ends; {wait_for(other + '-ends')}"
    hook = f"touch /marks/{name}-leaves; {wait_for(other + '-leaves')}; touch /marks/{name}-left"
    until_stopped = f"trap '{term}; touch /marks/{name}-met; exit 0' TERM; sleep 3600 & wait"
    return marked(name, f"{script} {until_stopped}", lifecycle={"preStop": shell(hook)})


def pods(marks: Path) -> list[Plain]:
    child = "sh -c 'trap \"touch /marks/child-signalled\" TERM; while :; do sleep 0.1; done' &"
    together = pod(
        "together",
        marks,
        meeting("one", "two", child),
        meeting("two", "one"),
        terminationGracePeriodSeconds=120,
    )
    lingering = marked(
        "main",
        "trap 'sleep 0.3; touch /marks/lingered; exit 0' TERM; sleep 3600 & wait",
        lifecycle={"preStop": shell("touch /marks/lingers; sleep 3600")},
    )
    asked = {"path": "/leave?now", "port": "web", "httpHeaders": [{"name": "X-Word", "value": "sesame"}]}
    web = marked(
        "main",
        "",
        ports=[{"name": "web", "containerPort": 8080}],
        lifecycle={"preStop": {"httpGet": asked}},
    )
    web["command"] = ["python3", "-c", SERVER]
    stuck = marked(
        "main",
        UNTIL_STOPPED,
        startupProbe={**shell("[ ! -e /marks/stuck ]"), **SOON, "initialDelaySeconds": 1},
        lifecycle={"preStop": shell("rm /marks/stuck; touch /marks/unstuck")},
    )
    serving = marked(
        "main",
        f"trap '{wait_for('end')}; exit 0' TERM; sleep 3600 & wait",
        readinessProbe={**shell("[ ! -e /marks/busy ]"), **SOON},
        livenessProbe={**shell("true"), **SOON},
    )
    serves = pod("serves", marks, serving, terminationGracePeriodSeconds=600)
    serves["metadata"]["labels"] = {"app": "serves"}
    kept = pod("kept", marks, marked("main", "trap 'exit 3' TERM; sleep 3600 & wait"))
    kept["metadata"]["finalizers"] = [FINALIZER]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "serves"},
        "spec": {"selector": {"app": "serves"}, "ports": [{"port": 80}]},
    }
    return [
        together,
        pod("lingers", marks, lingering, terminationGracePeriodSeconds=1),
        pod("web", marks, web),
        pod("stuck", marks, stuck),
        serves,
        kept,
        service,
    ]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def living(cluster: RealCluster, marks: Path) -> Iterator[RealCluster]:
    for mark in ("busy", "stuck"):
        (marks / mark).touch()
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods(marks)})
    cluster.kubectl("apply", "-f", "-", stdin=everything)
    try:
        yield cluster
    finally:
        (marks / "end").touch()
        release(cluster)
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--grace-period=1", stdin=everything)


def release(cluster: RealCluster) -> None:
    patch = json.dumps({"metadata": {"finalizers": None}})
    cluster.try_kubectl("patch", "pod", "kept", "--type=merge", "-p", patch)


def wait(cluster: RealCluster, name: str, what: str) -> None:
    cluster.kubectl("wait", f"--for={what}", f"pod/{name}", "--timeout=60s")


def test_containers_of_a_pod_end_at_the_same_time(living: RealCluster, marks: Path) -> None:
    """Their hooks run side by side, then the first process of each gets the signal, and no other process."""
    living.wait_ready("together")
    living.kubectl("delete", "pod", "together", "--timeout=60s")
    found = {path.name for path in marks.iterdir()}
    for name in ("one", "two"):
        assert {f"{name}-left", f"{name}-met"} <= found
    assert "child-signalled" not in found


def test_hook_beyond_the_grace_period_leaves_two_seconds_for_the_end(
    living: RealCluster, marks: Path
) -> None:
    living.wait_ready("lingers")
    living.kubectl("delete", "pod", "lingers", "--timeout=60s")
    assert (marks / "lingers").exists()
    assert (marks / "lingered").exists()


def test_hook_is_a_request_to_the_container(living: RealCluster, marks: Path) -> None:
    """It goes to the pod's address and a port by name; the status of the answer does not matter."""
    until((marks / "serves").exists)
    living.kubectl("delete", "pod", "web", "--timeout=60s")
    assert (marks / "asked").read_text() == "/leave?now sesame"


def test_pre_stop_hook_runs_before_a_failed_startup_probe_ends_its_container(
    living: RealCluster, marks: Path
) -> None:
    wait(living, "stuck", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    assert (marks / "unstuck").exists()
    wait(living, "stuck", "jsonpath={.status.containerStatuses[0].started}=true")


def endpoint(cluster: RealCluster) -> tuple[bool, bool, bool] | None:
    """Return whether the one endpoint of the Service is ready, serving and terminating."""
    slices = cluster.get("endpointslices", "-l", "kubernetes.io/service-name=serves")["items"]
    for each in (each for part in slices for each in part.get("endpoints") or ()):
        found = each["conditions"]
        return found["ready"], found["serving"], found["terminating"]
    return None


def addresses(cluster: RealCluster) -> tuple[list[str], list[str]]:
    """Return the ready addresses of the Service's Endpoints, and the others."""
    subsets = cluster.get("endpoints", "serves").get("subsets") or ()
    ready, others = (
        [each["ip"] for subset in subsets for each in subset.get(kind, ())]
        for kind in ("addresses", "notReadyAddresses")
    )
    return ready, others


def test_endpoints_follow_readiness_and_deletion_of_a_pod(living: RealCluster, marks: Path) -> None:
    """A pod gets no traffic before its probe succeeds, while it fails, and from its deletion on. Only slices
    show pods that are being deleted."""
    wait(living, "serves", "jsonpath={.status.containerStatuses[0].state.running}")
    until(lambda: endpoint(living) == (False, False, False))
    (marks / "busy").unlink()
    living.wait_ready("serves")
    until(lambda: endpoint(living) == (True, True, False))
    ip = living.get("pod", "serves")["status"]["podIP"]
    until(lambda: addresses(living) == ([ip], []))

    (marks / "busy").touch()
    wait(living, "serves", "condition=Ready=false")
    until(lambda: endpoint(living) == (False, False, False))
    until(lambda: addresses(living) == ([], [ip]))
    (marks / "busy").unlink()
    living.wait_ready("serves")
    (status,) = living.get("pod", "serves")["status"]["containerStatuses"]
    assert status["restartCount"] == 0

    living.kubectl("delete", "pod", "serves", "--wait=false")
    until(lambda: endpoint(living) == (False, True, True))
    until(lambda: addresses(living) == ([], []))
    shown = descriptions.sections(living.kubectl("describe", "pod", "serves"))
    assert shown["Status"].startswith("Terminating (lasts ")
    assert shown["Termination Grace Period"] == "600s"
    assert ["Ready", "True"] in [line.split() for line in shown["Conditions"]]
    (marks / "end").touch()
    wait(living, "serves", "delete")
    until(lambda: endpoint(living) is None)


def test_forced_deletion_of_a_pod_with_a_finalizer_ends_in_a_final_phase(living: RealCluster) -> None:
    """Without a finalizer the object is gone before the kubelet can report the phase."""
    living.wait_ready("kept")
    living.kubectl("delete", "pod", "kept", "--force", "--grace-period=0", "--wait=false")
    wait(living, "kept", "jsonpath={.status.phase}=Failed")
    found = living.get("pod", "kept")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 0
    (status,) = found["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3, "it had a moment after the signal"
    release(living)
    wait(living, "kept", "delete")
