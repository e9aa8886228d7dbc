"""The podling command as a user runs it: each command's success, and its one line of failure."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path

import pytest

from tests.support.clusters import PODLING, RealCluster, command, shell_pod
from tests.support.images import busybox_archive

pytestmark = [pytest.mark.e2e]


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.root
def test_up_ends_with_the_next_command_to_type(own_cluster: RealCluster) -> None:
    done = own_cluster.up()
    last = done.out.strip().splitlines()[-1]
    assert last == f"Ready. Next: export KUBECONFIG={own_cluster.kubeconfig}; kubectl get nodes"
    assert "API server" in done.out
    arguments = Path(f"/proc/{own_cluster.pid}/cmdline").read_bytes().decode().split("\0")
    assert arguments[arguments.index("--data-dir") + 1] == str(own_cluster.directory)


@pytest.mark.root
def test_a_data_directory_in_use_is_one_line(cluster: RealCluster) -> None:
    for options in ((), ("--detach",)):
        done = cluster.podling("up", "--port", "0", *options)
        assert done.code == 1
        line = one_line(done.err)
        assert f"data directory {cluster.directory} is in use by process {cluster.pid}" in line
        assert "podling down --data-dir" in line


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = command(
            [*PODLING, "up", "--data-dir", str(tmp_path / "data"), "--runtime", "sim", "--port", str(port)]
        )
    assert done.code == 1
    line = one_line(done.err)
    assert line == f"Error: port {port} is in use; choose another: podling up --port N (0 picks a free one)"


def test_a_missing_container_runtime_is_one_line(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": str(tmp_path)}
    done = command(
        [*PODLING, "up", "--data-dir", str(tmp_path / "data"), "--runtime", "oci", "--port", "0"],
        environment=environment,
    )
    assert done.code == 1
    line = one_line(done.err)
    assert "containers cannot be run here" in line
    assert "podling doctor" in line


@pytest.mark.root
def test_poorer_runtime_of_the_first_start_is_not_kept_in_silence(tmp_path: Path) -> None:
    """The tools were missing at the first start and are installed now."""
    bare = os.environ | {"PATH": "/nowhere"}
    up = ["up", "--detach", "--port", "0", "--data-dir", str(tmp_path / "data")]
    cluster = RealCluster(tmp_path / "data", "process")
    try:
        done = command([*PODLING, *up], environment=bare)
        assert (done.code, "process, because" in done.out) == (0, True), done.err
        cluster.down()
        done = command([*PODLING, *up])
        assert "process, as at the first start; real containers work here now: --runtime oci" in done.out
        cluster.down()
        assert "work here now" not in command([*PODLING, *up, "--runtime", "process"]).out
        cluster.down()
        assert "work here now" not in command([*PODLING, *up]).out, "it was chosen"
    finally:
        cluster.remove()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--data-dir", ""), "Invalid value for '--data-dir': names no directory"),
        (("--data-dir", "/etc/passwd/x"), "cannot use data directory /etc/passwd/x: Not a directory"),
        (("--kubeconfig", "/etc/passwd"), "/etc/passwd is not a kubeconfig; name another file"),
        (("--kubeconfig", "/etc"), "cannot add to /etc: "),
        (("--controllers", "foo"), "Invalid value for '--controllers': \"foo\" is not in the list of known"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    place = () if "--data-dir" in options else ("--data-dir", str(tmp_path / "data"))
    done = command([*PODLING, "up", "--detach", "--port", "0", "--runtime", "sim", *place, *options])
    assert done.code in (1, 2)
    assert message in done.err
    assert len(done.err.strip().splitlines()) == (1 if done.code == 1 else 4)
    assert not (tmp_path / "data").exists()


def test_commands_that_need_a_cluster_say_so(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(shell_pod("x", "true")))
    for arguments in (["run", str(tmp_path / "pod.yaml")], ["token", "create"]):
        done = command([*PODLING, *arguments, "--data-dir", str(tmp_path / "none")])
        assert done.code == 1
        assert "podling up" in one_line(done.err)
    done = command([*PODLING, "status", "--data-dir", str(tmp_path / "none")])
    assert done.code == 3


@pytest.mark.root
def test_status_shows_process_node_and_pods(cluster: RealCluster) -> None:
    out = cluster.podling("status").out
    assert str(cluster.pid) in out
    assert "Ready" in out
    assert "oci" in out


@pytest.mark.root
def test_printed_token_authenticates(cluster: RealCluster) -> None:
    code, body, _ = cluster.request("GET", "/api/v1/nodes")
    assert code == 200
    assert body["kind"] == "NodeList"
    assert cluster.podling("token create", "--duration", "soon").code == 1


@pytest.mark.root
def test_kubeconfig_is_printed_or_pointed_at(cluster: RealCluster) -> None:
    assert cluster.podling("kubeconfig").out == cluster.kubeconfig.read_text()
    assert cluster.podling("kubeconfig", "--path").out.strip() == str(cluster.kubeconfig)
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600


@pytest.mark.root
def test_images_are_loaded_listed_and_removed(cluster: RealCluster, tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    busybox_archive(archive, "example.test/tool:1", cmd=["echo", "from the image"])
    assert cluster.podling("image load", str(archive)).out == "Loaded example.test/tool:1\n"
    assert "example.test/tool:1" in cluster.podling("image list").out
    manifest = shell_pod("tool", "", image="example.test/tool:1", restartPolicy="Never")
    del manifest["spec"]["containers"][0]["command"]
    cluster.apply(manifest)
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/tool", "--timeout=30s")
    assert cluster.kubectl("logs", "tool") == "from the image\n"
    cluster.kubectl("delete", "pod", "tool")
    assert cluster.podling("image remove", "example.test/tool:1").code == 0
    assert "example.test/tool:1" not in cluster.podling("image list").out
    again = cluster.podling("image remove", "example.test/tool:1")
    assert again.code == 1
    assert "is not here" in one_line(again.err)
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"not an archive")
    assert cluster.podling("image load", str(broken)).code == 1


@pytest.mark.root
@pytest.mark.parametrize(
    ("script", "restart", "code", "shown"),
    [
        ("sleep 30", "Always", 0, "Running, Ready"),
        ("exit 0", "Never", 0, "Completed"),
        ("exit 4", "Never", 1, "Error"),
    ],
)
def test_run_follows_a_pod_to_its_verdict(
    cluster: RealCluster, tmp_path: Path, script: str, restart: str, code: int, shown: str
) -> None:
    path = tmp_path / "pod.json"
    probe = {} if code == 0 and restart == "Always" else {"readinessProbe": {"exec": {"command": ["false"]}}}
    path.write_text(json.dumps(shell_pod("followed", script, restartPolicy=restart, container=probe)))
    done = cluster.podling("run", str(path))
    cluster.kubectl("delete", "pod", "followed", "--now")
    assert "pod/followed created" in done.out
    assert shown in done.out
    assert done.code == code, done.out


@pytest.mark.root
def test_run_says_when_time_was_not_enough(cluster: RealCluster, tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(shell_pod("unplaceable", "true", nodeSelector={"no": "such"})))
    done = cluster.podling("run", "--timeout", "2", str(path))
    assert done.code == 3
    assert (
        "FailedScheduling: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector"
        in done.out
    )
    cluster.kubectl("delete", "pod", "unplaceable", "--now")


@pytest.mark.root
def test_run_refuses_what_the_api_refuses(cluster: RealCluster, tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(shell_pod("typo", "true", nodeSelektor={})))
    done = cluster.podling("run", str(path))
    assert done.code == 1
    assert 'unknown field "spec.nodeSelektor"' in one_line(done.err)


@pytest.mark.root
def test_why_and_timeline_explain_a_failing_pod(cluster: RealCluster, tmp_path: Path) -> None:
    cluster.apply(shell_pod("troubled", "exit 3"))
    try:
        looping = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff"
        cluster.kubectl("wait", looping, "pod/troubled", "--timeout=30s")
        done = cluster.podling("why", "troubled")
        assert done.code == 1
        assert re.search(r"keeps ending: run number \d+ ended .* with exit code 3 \(Error\)", done.out)
        assert "kubectl logs troubled -c main --previous" in done.out
        assert len(done.out.splitlines()) == 1
        answer = json.loads(cluster.podling("why", "troubled", "-o", "json").out)
        assert (answer["area"], answer["reason"]) == ("crash", "CrashLoopBackOff")
        assert "BackOff" in cluster.podling("timeline", "troubled").out
        picture = tmp_path / "life.svg"
        assert cluster.podling("timeline", "troubled", "--svg", str(picture)).code == 0
        assert picture.read_text().startswith("<svg ")
    finally:
        cluster.kubectl("delete", "pod", "troubled", "--now")
    gone = cluster.podling("why", "troubled")
    assert gone.code == 3
    assert 'There is no pod "troubled" in namespace default. There was one' in one_line(gone.err)


@pytest.mark.root
def test_a_life_that_is_over_is_drawn_with_its_hooks_verdicts_and_signals(cluster: RealCluster) -> None:
    quick = {"exec": {"command": ["true"]}}
    manifest = shell_pod(
        "whole",
        "trap '' TERM; while :; do sleep 0.2; done",
        terminationGracePeriodSeconds=1,
        container={
            "lifecycle": {"postStart": quick, "preStop": quick},
            "readinessProbe": quick | {"periodSeconds": 1},
        },
    )
    cluster.apply(manifest)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/whole", "--timeout=30s")
    cluster.kubectl("delete", "pod", "whole")
    done = cluster.podling("timeline", "whole", "-o", "json")
    drawn = json.loads(done.out)
    assert (done.code, drawn["status"]) == (0, "Deleted")
    (_, lane) = drawn["lanes"]
    assert lane["name"] == "main"
    assert [span["text"] for span in lane["spans"] if span["kind"] == "hook"] == ["postStart", "preStop"]
    assert [span["kind"] for span in lane["spans"] if span["kind"] in ("running", "ready")] == [
        "running",
        "ready",
    ]
    told = [mark["reason"] for mark in lane["marks"] if mark["kind"] != "event"]
    assert told == ["ProbeSuccess", "SIGTERM", "SIGKILL", "Error"]
    assert "K" in cluster.podling("timeline", "whole", "--width", "60").out.splitlines()[3]


@pytest.mark.root
def test_run_shows_each_warning_of_the_api_once(cluster: RealCluster, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in ("one", "two")]
    for path in paths:
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": path.stem}}
        path.write_text(
            json.dumps({**service, "spec": {"ports": [{"port": 80}], "externalIPs": ["192.0.2.99"]}})
        )
    done = cluster.podling("run", *map(str, paths))
    assert done.code == 0
    line = one_line(done.err)
    assert line.startswith("Warning: spec.externalIPs is deprecated")
    cluster.kubectl("delete", "service", "one", "two")
