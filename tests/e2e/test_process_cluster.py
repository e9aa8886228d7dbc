"""A cluster of plain processes, which needs neither root nor images, and kubectl's streams into it."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import DEADLINE, RealCluster, running_cluster, shell_pod

pytestmark = pytest.mark.e2e

HOLD = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with running_cluster(tmp_path_factory.mktemp("processes"), "process") as running:
        yield running


@pytest.fixture
def pod(cluster: RealCluster) -> Iterator[str]:
    cluster.apply(shell_pod("streams", HOLD))
    cluster.wait_ready("streams")
    yield "streams"
    cluster.kubectl("delete", "pod", "streams", "--now")


@pytest.fixture(params=["websockets", "spdy"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both transports of kubectl: WebSocket, and SPDY, which older versions and many Go programs use."""
    for name in ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"):
        monkeypatch.setenv(name, "true" if request.param == "websockets" else "false")
    chosen: str = request.param
    return chosen


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def forwarded(cluster: RealCluster, pod: str, port: int) -> Iterator[int]:
    """Run kubectl port-forward; yield the local port once it listens."""
    forwarding = subprocess.Popen(
        ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "port-forward", f"pod/{pod}", f":{port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert forwarding.stdout is not None
        said = forwarding.stdout.readline()
        assert "Forwarding from 127.0.0.1:" in said
        yield int(said.partition("127.0.0.1:")[2].split()[0])
    finally:
        forwarding.send_signal(signal.SIGINT)
        forwarding.communicate(timeout=10)


def test_a_pod_is_a_process_that_says_what_it_lacks(cluster: RealCluster, pod: str) -> None:
    status = cluster.get("pod", pod)["status"]
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["containerID"].startswith("process://")
    assert cluster.get("nodes")["items"][0]["status"]["nodeInfo"]["containerRuntimeVersion"].startswith(
        "process://"
    )


def test_kubectl_uses_the_chosen_transport(cluster: RealCluster, pod: str, transport: str) -> None:
    done = cluster.try_kubectl("exec", "-v=8", pod, "--", "true")
    assert done.code == 0
    assert ("X-Stream-Protocol-Version" in done.err) == (transport == "spdy")


@pytest.mark.usefixtures("transport")
def test_exec_carries_input_output_and_exit_codes(cluster: RealCluster, pod: str) -> None:
    done = cluster.try_kubectl("exec", pod, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.code, done.out) == (7, "out\n")
    assert done.err == "err\ncommand terminated with exit code 7\n"
    text = "".join(f"{number}\n" for number in range(100_000))
    assert cluster.kubectl("exec", "-i", pod, "--", "cat", stdin=text) == text


@pytest.mark.usefixtures("transport")
def test_a_command_that_does_not_exist_is_named(cluster: RealCluster, pod: str) -> None:
    done = cluster.try_kubectl("exec", pod, "--", "no-such-command")
    assert done.code == 1
    assert 'exec: "no-such-command": executable file not found in $PATH' in done.err


@pytest.mark.usefixtures("transport")
def test_a_connection_may_be_refused(cluster: RealCluster, pod: str) -> None:
    """A policy refuses before any upgrade, and kubectl shows the policy's message."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/*"]}
    refused = "has(object.command) && object.command[0] == 'rm'"
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"!({refused})", "message": "nothing is removed"}],
    }
    head: dict[str, Any] = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "no-rm"}}
    cluster.apply({**head, "kind": "ValidatingAdmissionPolicy", "spec": spec})
    binding = {"policyName": "no-rm", "validationActions": ["Deny"]}
    cluster.apply({**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding})
    done = cluster.try_kubectl("exec", pod, "--", "rm", "-rf", "x")
    assert (done.code, done.out) == (1, "")
    who = "ValidatingAdmissionPolicy 'no-rm' with binding 'no-rm' denied request: nothing is removed"
    assert done.err == f'The pods "{pod}" is invalid: : {who}\n', "as kubectl shows a cause without a field"
    assert cluster.kubectl("exec", pod, "--", "echo", "yes") == "yes\n"
    cluster.kubectl("delete", "validatingadmissionpolicybinding/no-rm", "validatingadmissionpolicy/no-rm")


@pytest.mark.usefixtures("transport")
def test_files_are_copied_both_ways(cluster: RealCluster, pod: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * 12_000
    (tmp_path / "there").write_bytes(data)
    cluster.kubectl("cp", str(tmp_path / "there"), f"{pod}:{tmp_path}/copied")
    cluster.kubectl("cp", f"{pod}:{tmp_path}/copied", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data


def test_logs_end_with_their_container_and_the_ones_before_are_kept(cluster: RealCluster) -> None:
    script = "for word in one two three; do echo $word; sleep 0.2; done; exit 1"
    cluster.apply(shell_pod("talker", script, restartPolicy="OnFailure"))
    cluster.kubectl(
        "wait",
        "pod/talker",
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        f"--timeout={DEADLINE}",
    )
    assert cluster.kubectl("logs", "--follow", "talker") == "one\ntwo\nthree\n"
    assert cluster.kubectl("logs", "--previous", "--tail=2", "talker") == "two\nthree\n"
    assert cluster.kubectl("logs", "--limit-bytes=5", "talker") == "one\nt"
    stamped = cluster.kubectl("logs", "--timestamps", "--tail=1", "talker")
    assert stamped.endswith("Z three\n")
    cluster.kubectl("delete", "pod", "talker", "--now")


@pytest.mark.usefixtures("transport")
def test_a_port_is_forwarded_connection_by_connection(cluster: RealCluster) -> None:
    port = free_port()
    echo = (
        "import socketserver as s\n"
        "class H(s.BaseRequestHandler):\n"
        "    def handle(self):\n"
        "        while chunk := self.request.recv(65536): self.request.sendall(chunk)\n"
        f"s.ThreadingTCPServer(('127.0.0.1', {port}), H).serve_forever()"
    )
    probe = {"readinessProbe": {"tcpSocket": {"host": "127.0.0.1", "port": port}, "periodSeconds": 1}}
    cluster.apply(shell_pod("echo", "", container={"command": ["python3", "-c", echo], **probe}))
    cluster.wait_ready("echo")
    data = bytes(range(256)) * 8_000
    with forwarded(cluster, "echo", port) as local:
        for size in (0, 5, len(data)):
            assert _echoed(local, data[:size]) == data[:size]
        connections = [socket.create_connection(("127.0.0.1", local)) for _ in range(5)]
        for number, connection in enumerate(connections):
            connection.sendall(b"%d" % number)
        for number, connection in reversed(list(enumerate(connections))):
            assert connection.recv(10) == b"%d" % number
            connection.close()
    cluster.kubectl("delete", "pod", "echo", "--now")


def _echoed(port: int, data: bytes) -> bytes:
    """Send ``data``, half close the connection, and return the bytes that come back."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:

        def send() -> None:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        received = b"".join(iter(lambda: connection.recv(65536), b""))
        sender.join()
        return received


@pytest.mark.usefixtures("transport")
def test_connection_to_closed_port_is_closed(cluster: RealCluster, pod: str) -> None:
    with (
        forwarded(cluster, pod, free_port()) as local,
        socket.create_connection(("127.0.0.1", local)) as caller,
    ):
        assert caller.recv(10) == b""


def test_unsupported_limits_are_reported_as_event(cluster: RealCluster) -> None:
    limits = {"resources": {"limits": {"memory": "1Gi"}}}
    cluster.apply(shell_pod("limited", HOLD, container=limits))
    cluster.wait_ready("limited")
    events = cluster.get("events", "--field-selector=reason=UnsupportedByRuntime")["items"]
    assert [event["message"] for event in events] == ["resource limits are not applied"]
    assert events[0]["involvedObject"]["fieldPath"] == "spec.containers{main}"
    cluster.kubectl("delete", "pod", "limited", "--now")


def test_unsupported_mounts_fail_container_creation(cluster: RealCluster) -> None:
    cluster.apply(
        shell_pod(
            "nested",
            HOLD,
            volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}],
            container={
                "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/a/b"}]
            },
        )
    )
    reason = "{.status.containerStatuses[0].state.waiting.reason}=CreateContainerError"
    cluster.kubectl("wait", "pod/nested", f"--for=jsonpath={reason}", f"--timeout={DEADLINE}")
    waiting = cluster.get("pod", "nested")["status"]["containerStatuses"][0]["state"]["waiting"]
    assert "cannot put volumes into each other" in waiting["message"]
    cluster.kubectl("delete", "pod", "nested", "--now")


def test_processes_outlive_a_killed_cluster(cluster: RealCluster, pod: str) -> None:
    before = cluster.get("pod", pod)["status"]["containerStatuses"][0]
    cluster.kill()
    cluster.up()
    cluster.wait_ready(pod)
    after = cluster.get("pod", pod)["status"]["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)
    assert cluster.kubectl("exec", pod, "--", "echo", "still here") == "still here\n"
