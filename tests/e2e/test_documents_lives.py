"""The pods of Kubernetes' documentation go through the phases it describes, from its manifests as written.

All are started together, because they mostly wait; each test then checks its own pod.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support import descriptions, document_images
from tests.support.clusters import RealCluster
from tests.support.pod_lives import Recorder

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

MANIFESTS = Path(os.environ.get("PODLING_SHARED", Path(__file__).parents[3] / "shared")) / "manifests"
LIVES = (
    "exec-liveness.yaml",
    "http-liveness.yaml",
    "tcp-liveness-readiness.yaml",
    "liveness-initial-delay-shorter.yaml",
    "liveness-initial-delay-longer.yaml",
    "init-demo.yaml",
    "pod-prestop.yaml",
    "lifecycle-events.yaml",
    "myapp.yaml",
    "hello-job.yaml",
)
MESSAGE = Path("/tmp/message")
"""The file that ``hook-demo3`` writes on its node."""


class Lives(RealCluster):
    """The running cluster, and every status of its pods since they were created."""

    def __init__(self, cluster: RealCluster) -> None:
        super().__init__(cluster.directory, cluster.runtime)
        self.recorder = Recorder(self, lambda name, pod: None)

    def shown(
        self, pod: str, wanted: Callable[[dict[str, Any]], bool], seconds: float = 60
    ) -> dict[str, Any]:
        """Return the pod's first status, past or future, that is as wanted."""
        seen = self.recorder.seen

        def first() -> dict[str, Any] | None:
            return next((found for _, found in seen.get(pod, ()) if wanted(found)), None)

        self.recorder.wait(lambda: first() is not None, seconds)
        found = first()
        assert found is not None, "\n".join([pod, *self.recorder.life(pod)])
        return found


def running(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def restarted(pod: dict[str, Any]) -> bool:
    """Return whether a second container runs or waits for its back-off."""
    return bool(first_status(pod).get("restartCount") == 1)


@pytest.fixture(scope="module")
def lives(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """The cluster with every pod of the documentation started."""
    if not MANIFESTS.is_dir():
        pytest.skip(f"{MANIFESTS} is not here")
    document_images.load(cluster, tmp_path_factory.mktemp("images"))
    chosen = [argument for name in LIVES for argument in ("-f", str(MANIFESTS / name))]
    begun = Lives(cluster)
    cluster.kubectl("apply", *chosen)
    try:
        yield begun
    finally:
        begun.recorder.finish()
        chosen += ["-f", str(MANIFESTS / "services.yaml")]
        cluster.kubectl("delete", "--ignore-not-found", "--grace-period=1", *chosen)


def events(cluster: RealCluster, pod: str) -> list[dict[str, Any]]:
    """Return the pod's events in the order of their first occurrence."""
    found: list[dict[str, Any]] = cluster.get("events", f"--field-selector=involvedObject.name={pod}")[
        "items"
    ]
    return sorted(found, key=lambda event: event["firstTimestamp"] or event["eventTime"])


def told(cluster: RealCluster, pod: str, reason: str) -> dict[str, Any]:
    """Return the one event with this reason."""
    (found,) = [event for event in events(cluster, pod) if event["reason"] == reason]
    return found


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def first_status(pod: dict[str, Any], kind: str = "containerStatuses") -> dict[str, Any]:
    """Return the status of the pod's one container; empty before the kubelet has written one."""
    found: dict[str, Any] = next(iter(pod["status"].get(kind, ())), {"state": {}})
    return found


def test_an_init_container_fills_the_page_that_the_app_serves(lives: Lives) -> None:
    """The init state is Terminated, Completed, 0; then the app serves what was fetched, to the node too."""
    lives.shown("init-demo", lambda pod: "running" in first_status(pod, "initContainerStatuses")["state"])
    pod = lives.shown("init-demo", lambda pod: running(pod) and first_status(pod)["ready"])
    install = first_status(pod, "initContainerStatuses")
    terminated = install["state"]["terminated"]
    assert (terminated["reason"], terminated["exitCode"]) == ("Completed", 0)
    assert (install["ready"], install["restartCount"]) == (True, 0)
    web = first_status(pod)["state"]["running"]
    assert moment(web["startedAt"]) >= moment(terminated["finishedAt"]), "the app starts after it"
    conditions = {found["type"]: found["status"] for found in pod["status"]["conditions"]}
    wanted = ("Initialized", "Ready", "ContainersReady", "PodScheduled", "PodReadyToStartContainers")
    assert conditions == dict.fromkeys(wanted, "True")
    url = f"http://{pod['status']['podIP']}"
    page = f"{document_images.PAGE}http://www.baidu.com\n"
    assert lives.kubectl("exec", "init-demo", "--", "wget", "-qO-", url) == page
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.read().decode() == page


TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount from kube-api-access (ro)"
INSTALL = {
    "Container ID": "<container>",
    "Image": "busybox",
    "Image ID": "<image>",
    "Port": "<none>",
    "Host Port": "<none>",
    "Command": ["wget", "-O", "/work-dir/index.html", "http://www.baidu.com"],
    "State": {
        "": "Terminated",
        "Reason": "Completed",
        "Exit Code": "0",
        "Started": "<time>",
        "Finished": "<time>",
    },
    "Ready": "True",
    "Restart Count": "0",
    "Environment": "<none>",
    "Mounts": [TOKEN, "/work-dir from workdir (rw)"],
}
WEB = {
    "Container ID": "<container>",
    "Image": "nginx",
    "Image ID": "<image>",
    "Port": "80/TCP",
    "Host Port": "0/TCP",
    "State": {"": "Running", "Started": "<time>"},
    "Ready": "True",
    "Restart Count": "0",
    "Environment": "<none>",
    "Mounts": ["/usr/share/nginx/html from workdir (rw)", TOKEN],
}
CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def test_description_of_a_pod_is_that_of_the_documentation(lives: Lives) -> None:
    """Two of the kubelet's messages are shorter today, and images that were loaded are not pulled."""
    pod = lives.shown("init-demo", lambda pod: running(pod) and first_status(pod)["ready"])
    text = lives.kubectl("describe", "pod", "init-demo")
    shown = descriptions.sections(text)
    status, node = pod["status"], pod["spec"]["nodeName"]
    assert (shown["Status"], shown["Node"]) == ("Running", f"{node}/{status['hostIP']}")
    assert (shown["IP"], shown["IPs"]) == (status["podIP"], {"IP": status["podIP"]})
    for field in ("Labels", "Annotations", "Node-Selectors"):
        assert shown[field] == "<none>"
    assert [shown[field] for field in ("Priority", "Service Account", "QoS Class")] == [
        "0",
        "default",
        "BestEffort",
    ]
    assert (shown["Init Containers"], shown["Containers"]) == ({"install": INSTALL}, {"web": WEB})
    assert [line.split() for line in shown["Conditions"][1:]] == [[each, "True"] for each in CONDITIONS]
    assert shown["Volumes"]["workdir"] == {
        "Type": "EmptyDir (a temporary directory that shares a pod's lifetime)",
        "Medium": "",
        "SizeLimit": "<unset>",
    }
    tolerated = ("not-ready", "unreachable")
    assert shown["Tolerations"] == [
        f"node.kubernetes.io/{each}:NoExecute op=Exists for 300s" for each in tolerated
    ]
    scheduled, *others = descriptions.events(text)
    message = f"Successfully assigned default/init-demo to {node}"
    assert scheduled == ("Normal", "Scheduled", "default-scheduler", message)
    present = 'Container image "{}" already present on machine and can be accessed by the pod'
    assert others == [
        ("Normal", reason, "kubelet", message)
        for image in ("busybox", "nginx")
        for reason, message in (
            ("Pulled", present.format(image)),
            ("Created", "Container created"),
            ("Started", "Container started"),
        )
    ]


def test_two_init_containers_wait_for_services(lives: Lives) -> None:
    """``Init:0/2`` for as long as the services are not there; later containers wait with a reason."""
    lives.shown("myapp-pod", lambda pod: "running" in first_status(pod, "initContainerStatuses")["state"])
    row = lives.kubectl("get", "pod", "myapp-pod").splitlines()[1].split()
    assert row[1:4] == ["0/1", "Init:0/2", "0"]
    status = lives.get("pod", "myapp-pod")["status"]
    assert status["phase"] == "Pending"
    first, second = status["initContainerStatuses"]
    assert "running" in first["state"]
    assert second["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    shown = descriptions.sections(lives.kubectl("describe", "-f", str(MANIFESTS / "myapp.yaml")))
    assert (shown["Status"], shown["Labels"]) == ("Pending", "app.kubernetes.io/name=MyApp")
    waits = {"": "Waiting", "Reason": "PodInitializing"}
    states = {
        name: (found["State"], found["Ready"])
        for name, found in (shown["Init Containers"] | shown["Containers"]).items()
    }
    assert states == {
        "init-myservice": ({"": "Running", "Started": "<time>"}, "False"),
        "init-mydb": (waits, "False"),
        "myapp-container": (waits, "False"),
    }
    early = lives.try_kubectl("logs", "myapp-pod", "-c", "init-mydb")
    assert 'container "init-mydb" in pod "myapp-pod" is waiting to start: PodInitializing' in early.err
    lives.kubectl("exec", "myapp-pod", "-c", "init-myservice", "--", "true")
    follow = subprocess.Popen(
        lives.kubectl_command("logs", "-f", "myapp-pod", "-c", "init-myservice"),
        stdout=subprocess.PIPE,
        text=True,
    )
    with follow:
        assert follow.stdout is not None
        assert any("waiting for myservice" in line for line in follow.stdout)
        follow.terminate()


def test_services_let_the_app_start(lives: Lives) -> None:
    """Once the Services exist, both init containers resolve their names, and the app runs: ``1/1``."""
    said = lives.kubectl("apply", "-f", str(MANIFESTS / "services.yaml"))
    assert said == "service/myservice created\nservice/mydb created\n"
    pod = lives.shown("myapp-pod", lambda pod: running(pod) and first_status(pod)["ready"], 60)
    for status in pod["status"]["initContainerStatuses"]:
        assert status["state"]["terminated"]["reason"] == "Completed"
    row = lives.kubectl("get", "pod", "myapp-pod").splitlines()[1].split()
    assert row[1:4] == ["1/1", "Running", "0"]
    assert lives.kubectl("logs", "myapp-pod").startswith("The app is running!")
    for init, name in (("init-myservice", "myservice"), ("init-mydb", "mydb")):
        ip = lives.get("service", name)["spec"]["clusterIP"]
        log = lives.kubectl("logs", "myapp-pod", "-c", init)
        assert f"Name:\t{name}.default.svc.cluster.local" in log
        assert f"Address: {ip}" in log
    short = lives.try_kubectl("exec", "myapp-pod", "--", "ping", "-c", "1", "-W", "1", "myservice")
    ip = lives.get("service", "myservice")["spec"]["clusterIP"]
    assert f"PING myservice ({ip})" in short.out, "the short name, by the search path"


def test_a_job_makes_its_pod_from_the_template(lives: Lives) -> None:
    """The pod is the Job's; it logs its line and stays when the Job is only relabelled."""
    lives.kubectl("wait", "--for=condition=Ready", "pod", "-l", "job-name=hello", "--timeout=60s")
    (pod,) = lives.get("pods", "-l", "job-name=hello")["items"]
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert lives.kubectl("logs", pod["metadata"]["name"]) == "Hello, Kubernetes!\n"
    change = {"spec": {"template": {"spec": {"containers": [{"name": "hello", "image": "nginx"}]}}}}
    refused = lives.try_kubectl("patch", "job", "hello", "--type=strategic", "-p", json.dumps(change))
    assert refused.code != 0
    assert "field is immutable" in refused.err
    (after,) = lives.get("pods", "-l", "job-name=hello")["items"]
    assert after["metadata"]["uid"] == pod["metadata"]["uid"]
    assert first_status(after)["restartCount"] == 0


def test_a_pre_stop_hook_ends_the_server_before_any_signal(lives: Lives) -> None:
    """hook-demo2's hook makes the server quit: it ends by that, not by the signal, and long before 30 s."""
    lives.wait_ready("hook-demo2")
    command, pipe = lives.kubectl_command("logs", "-f", "hook-demo2", "-v=6"), subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as follow:
        assert follow.stderr is not None
        assert any("follow=true" in line and "200 OK" in line for line in follow.stderr)
        lives.kubectl("delete", "pod", "hook-demo2", "--timeout=20s")
        said, _ = follow.communicate(timeout=20)
    assert said == "quit gracefully\n"
    lives.kubectl("wait", "--for=delete", "pod/hook-demo2", "--timeout=10s")


def test_a_pre_stop_hook_leaves_its_message_on_the_node(lives: Lives) -> None:
    lives.wait_ready("hook-demo3")
    MESSAGE.unlink(missing_ok=True)  # another cluster of this machine may have run the same pod
    try:
        lives.kubectl("delete", "pod", "hook-demo3", "--timeout=20s")
        assert MESSAGE.read_text() == "Hello from the preStop Handler\n"
    finally:
        MESSAGE.unlink(missing_ok=True)


def test_a_post_start_hook_that_cannot_run_is_an_event(lives: Lives) -> None:
    """The container is killed because of the hook and started again under back-off."""
    pod = lives.shown("lifecycle-demo", failed_to_greet)
    place = f"lifecycle-demo_default({pod['metadata']['uid']})"
    message = first_status(pod)["state"]["waiting"]["message"]
    assert message.startswith(
        "Exec lifecycle hook ([badcommand -c echo Hello from the postStart handler > /usr/share/message]) "
        f'for Container "lifecycle-demo-container" in Pod "{place}" failed - error: '
    )
    assert 'exec: "badcommand": executable file not found in $PATH' in message
    assert message.endswith(', message: ""')
    lives.shown("lifecycle-demo", restarted, 150)
    failed = told(lives, "lifecycle-demo", "FailedPostStartHook")
    assert (failed["type"], failed["message"]) == ("Warning", "PostStartHook failed")
    killing = told(lives, "lifecycle-demo", "Killing")
    assert (killing["type"], killing["message"]) == ("Normal", "FailedPostStartHook")
    lives.shown("lifecycle-demo", backing_off, 100)


def failed_to_greet(pod: dict[str, Any]) -> bool:
    return bool(first_status(pod)["state"].get("waiting", {}).get("reason") == "PostStartHookError")


def backing_off(pod: dict[str, Any]) -> bool:
    return bool(first_status(pod)["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff")


def probed_at(lives: Lives, pod: str, times: int) -> list[float]:
    """Return how long after the container's start each of ``times`` probes ran."""
    lives.wait_ready(pod)
    started = moment(first_status(lives.get("pod", pod))["state"]["running"]["startedAt"])
    follow = subprocess.Popen(
        lives.kubectl_command("logs", "-f", "--timestamps", pod), stdout=subprocess.PIPE, bufsize=0
    )
    with follow:
        assert follow.stdout is not None
        found: list[float] = []
        for _ in range(times):
            assert select.select([follow.stdout], [], [], 40)[0], f"{pod} was not probed: {found}"
            stamp, _, text = follow.stdout.readline().decode().partition(" ")
            assert text == "Checking liveness\n"
            found.append(moment(stamp) - started)
        follow.terminate()
    return found


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [("liveness-probe-example-1", (5, 15, 25)), ("liveness-probe-example-2", (10, 15, 20))],
)
def test_probes_begin_after_their_delay_and_go_on_every_period(
    lives: Lives, pod: str, wanted: tuple[float, ...]
) -> None:
    """Times are to the second (``startedAt`` has no fraction), and a busy machine may be a little late."""
    for found, expected in zip(probed_at(lives, pod, len(wanted)), wanted, strict=True):
        assert expected <= found < expected + 3
    assert first_status(lives.get("pod", pod))["restartCount"] == 0


def test_a_server_is_not_ready_before_its_first_probe(lives: Lives) -> None:
    """15 s after its start the first readiness probe succeeds, and no sooner is the pod Ready."""
    lives.wait_ready("goproxy")
    pod = lives.get("pod", "goproxy")
    ready = next(found for found in pod["status"]["conditions"] if found["type"] == "Ready")
    started = moment(first_status(pod)["state"]["running"]["startedAt"])
    assert 15 <= moment(ready["lastTransitionTime"]) - started < 19
    assert first_status(pod)["restartCount"] == 0
    assert not [event for event in events(lives, "goproxy") if event["reason"] == "Unhealthy"]


def test_a_server_that_answers_500_is_restarted(lives: Lives) -> None:
    """200 for ten seconds, then 500: three failures, then a new container."""
    pod = lives.shown("liveness-http", restarted, 90)
    requests = lives.kubectl("logs", "liveness-http", "--previous").splitlines()
    for line in ("GET /healthz HTTP/1.1", "Custom-Header: Awesome", "User-Agent: kube-probe/1.36"):
        assert line in requests
    unhealthy = told(lives, "liveness-http", "Unhealthy")
    assert unhealthy["message"] == "Liveness probe failed: HTTP probe failed with statuscode: 500"
    assert unhealthy["type"] == "Warning"
    assert unhealthy["count"] >= 3
    killing = told(lives, "liveness-http", "Killing")
    assert killing["message"] == "Container liveness failed liveness probe, will be restarted"
    terminated = first_status(pod)["lastState"]["terminated"]
    lived = moment(terminated["finishedAt"]) - moment(terminated["startedAt"])
    assert 16 <= lived < 25, "probes at 3, 6, 9 pass; those from 12 s on fail"


def test_a_container_that_loses_its_health_is_restarted_in_its_pod(lives: Lives) -> None:
    """Healthy for 30 s, three failures, killed; pod IP and node stay, the container is new."""
    before = lives.shown("liveness-exec", running)
    first = descriptions.sections(lives.kubectl("describe", "pod", "liveness-exec"))["Containers"]["liveness"]
    assert first["Args"] == ["/bin/sh", "-c", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"]
    assert first["Liveness"] == "exec [cat /tmp/healthy] delay=5s timeout=1s period=5s #success=1 #failure=3"
    after = lives.shown("liveness-exec", restarted, 120)
    unhealthy = told(lives, "liveness-exec", "Unhealthy")
    assert unhealthy["message"].strip() == (
        "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory"
    )
    assert unhealthy["type"] == "Warning"
    assert unhealthy["count"] >= 3
    killing = told(lives, "liveness-exec", "Killing")
    assert killing["message"] == "Container liveness failed liveness probe, will be restarted"
    for field in ("podIP", "hostIP", "startTime"):
        assert after["status"][field] == before["status"][field]
    assert after["spec"]["nodeName"] == before["spec"]["nodeName"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    terminated = first_status(after)["lastState"]["terminated"]
    assert (terminated["reason"], terminated["exitCode"]) == ("Error", 137)
    assert terminated["containerID"] != first_status(after)["containerID"]
    text = lives.kubectl("describe", "pod", "liveness-exec")
    last = descriptions.sections(text)["Containers"]["liveness"]["Last State"]
    assert last == {
        "": "Terminated",
        "Reason": "Error",
        "Exit Code": "137",
        "Started": "<time>",
        "Finished": "<time>",
    }
    told_by_kubelet = descriptions.reasons(descriptions.events(text), "kubelet")
    assert {*told_by_kubelet} == {"Pulled", "Created", "Started", "Unhealthy", "Killing"}
    row = lives.kubectl("get", "pod", "liveness-exec", "--no-headers")
    assert re.fullmatch(r"liveness-exec +1/1 +Running +1 \(\d+s ago\) +\w+\n", row)
