"""One answer to "why is it not Running?", for each place where a pod can be stuck."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Event, Node, Pod
from podling.cli.evidence import Evidence, Explanation
from podling.cli.explain import explain
from podling.cli.why import paragraph
from podling.kubelet.slow_calls import slow_message

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
EARLIER = "2026-01-01T11:58:00Z"
JUST_NOW = "2026-01-01T11:59:30Z"
BOUND = {"nodeName": "one"}
STARTABLE = {"type": "PodReadyToStartContainers", "status": "True"}


def ask(
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    *events: tuple[str, str],
    node: str | None = "True",
    **metadata: Any,
) -> Explanation:
    """The answer for a pod ``web`` with one container ``main``; ``node`` is its Ready condition."""
    container = {"name": "main", "image": "app:1"}
    plain = {
        "metadata": {"name": "web", "namespace": "default", **metadata},
        "spec": {"restartPolicy": "Always", "schedulerName": "default-scheduler", "containers": [container]}
        | (spec or {}),
        "status": {"phase": "Pending"} | (status or {}),
    }
    ready = {"type": "Ready", "status": node, "reason": "KubeletNotReady", "message": "no network."}
    host = msgspec.convert({"status": {"conditions": [ready]}}, Node) if node else None
    told = [event(reason, text) for reason, text in events]
    return explain(Evidence(msgspec.convert(plain, Pod), told, host, NOW, NODES))


NODES = [
    msgspec.convert(plain, Node)
    for plain in (
        {
            "metadata": {"name": "one"},
            "spec": {"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]},
        },
        {"metadata": {"name": "two"}, "spec": {"unschedulable": True}},
    )
]


def event(reason: str, text: str) -> Event:
    """``Reason`` about the pod, ``Reason/name`` about one container of it; it happened half a minute ago."""
    reason, _, about = reason.partition("/")
    path = f"spec.containers{{{about}}}" if about else ""
    plain = {
        "reason": reason,
        "message": text,
        "lastTimestamp": JUST_NOW,
        "involvedObject": {"fieldPath": path},
    }
    return msgspec.convert(plain, Event)


def container(**state: Any) -> dict[str, Any]:
    """A status whose only container is in this state."""
    fixed = {"name": "main", "image": "app:1", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": "Running", "conditions": [STARTABLE], "containerStatuses": [fixed | state]}


def waiting(reason: str, message: str = "because") -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}})


def ended(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    times = {"startedAt": "2026-01-01T11:58:00Z", "finishedAt": JUST_NOW}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


UNPLACED = {
    "0/1 nodes are available: 1 Insufficient memory.": "Lower the pod's requests for memory, free",
    "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.": "for cpu and memory, free",
    "0/1 nodes are available: 1 node(s) had untolerated taint(s).": "the taint: one has gpu=a:NoSchedule.",
    "0/1 nodes are available: 1 node(s) were unschedulable.": "kubectl uncordon two",
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.": "--show-labels",
    "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.": "Start a pod with the labels",
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.": "drop hostPort",
    'persistentvolumeclaim "data" not found': "Create the claim",
    "0/1 nodes are available: 1 Too many pods.": "add a node",
    "no nodes available to schedule pods": "podling up",
    "0/1 nodes are available: something new.": "kubectl describe nodes",
}


@pytest.mark.parametrize(("message", "advice"), UNPLACED.items())
def test_a_pod_that_fits_nowhere(message: str, advice: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    answer = ask(None, {"conditions": [condition]})
    assert (answer.area, answer.reason) == ("scheduler", "Unschedulable")
    assert answer.text == f"No node can take the pod: {message.rstrip('.')}."
    assert advice in answer.advice
    assert [source.name for source in answer.evidence] == ["PodScheduled"]


def test_what_is_said_of_preemption_is_left_out_but_for_the_node_that_is_freed() -> None:
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: nothing helps."
    )
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    asked = [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]
    answer = ask({"containers": asked}, {"conditions": [condition], "nominatedNodeName": "one"})
    assert answer.text == (
        "No node can take the pod: 0/1 nodes are available: 1 Insufficient cpu (it requests cpu 5). "
        "Pods of lower priority are being ended on node one to make room for it."
    )


def test_a_pod_that_may_not_be_placed_or_was_not_looked_at() -> None:
    assert ask({"schedulingGates": [{"name": "example.com/quota"}]}).reason == "SchedulingGated"
    answer = ask({"schedulerName": "mine"})
    assert answer.area == "scheduler"
    assert "a scheduler that calls itself mine" in answer.advice


def test_a_node_that_is_gone_or_in_trouble() -> None:
    assert ask(BOUND, node=None).reason == "NodeNotFound"
    answer = ask(BOUND, node="False")
    text = "Its node one has not been ready for some time: KubeletNotReady: no network."
    assert (answer.area, answer.text) == ("node", text)


def test_a_sandbox_that_cannot_be_made() -> None:
    answer = ask(
        BOUND, waiting("ContainerCreating") | {"conditions": []}, ("FailedCreatePodSandBox", "no bridge")
    )
    assert (answer.area, answer.text) == ("sandbox", "The node cannot make the pod's sandbox: no bridge.")


@pytest.mark.parametrize(
    ("reason", "message", "area", "advice"),
    [
        (
            "ErrImagePull",
            "pull access denied, 401 unauthorized",
            "image",
            "the credentials in imagePullSecrets",
        ),
        ("ImagePullBackOff", 'ErrImagePull: Get "https://r/v2/": no such host', "image", "cannot be reached"),
        (
            "ImagePullBackOff",
            "ErrImagePull: reading manifest 2 in r/app: manifest unknown",
            "image",
            "no such image",
        ),
        (
            "ErrImagePull",
            "image is built for linux/arm64, this node is linux/amd64",
            "image",
            "for this node",
        ),
        ("ErrImagePull", "because", "image", "podling image load FILE"),
        ("ErrImageNeverPull", "because", "image", "imagePullPolicy is Never"),
        ("InvalidImageName", "because", "image", "Correct the image's name"),
        (
            "CreateContainerConfigError",
            'configmap "settings" not found',
            "configuration",
            "kubectl create configmap settings -n default",
        ),
        (
            "CreateContainerConfigError",
            "couldn't find key user in Secret default/login",
            "configuration",
            "Add the key user",
        ),
        ("CreateContainerConfigError", "container has runAsNonRoot and image", "configuration", "runAsUser"),
        ("RunContainerError", "because", "runtime", "command"),
    ],
)
def test_a_container_that_cannot_start(reason: str, message: str, area: str, advice: str) -> None:
    answer = ask(BOUND, waiting(reason, message))
    assert (answer.area, answer.reason, answer.container) == (area, reason, "main")
    assert reason in answer.text
    assert message.removeprefix("ErrImagePull: ") in answer.text
    assert advice in answer.advice
    assert answer.evidence[0].detail == f"waiting, {reason}: {message}"


def test_a_disk_that_takes_nothing() -> None:
    text = "error making pod data directories: no space left on device"
    answer = ask(BOUND, waiting("ContainerCreating"), ("FailedToMakePodDataDirectories", text))
    assert (answer.area, answer.reason) == ("node", "FailedToMakePodDataDirectories")
    assert answer.text == f"The node cannot write the pod's files: {text}."


def test_a_runtime_that_does_not_answer() -> None:
    message = slow_message("StartContainer", NOW - timedelta(seconds=75))
    said = ask(BOUND, waiting("ContainerCreating", message))
    assert (said.area, said.reason, said.container) == ("runtime", "ContainerCreating", "main")
    assert "has not answered StartContainer for 75s" in said.text


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ('configmap "settings" not found', "kubectl create configmap settings -n default"),
        ('persistentvolumeclaims "data" not found', "Create the claim data in namespace default"),
        ("hostPath type check failed: /x is not a directory", "correct path and type"),
        ("something new", "Create what the volume refers to"),
    ],
)
def test_a_volume_that_is_missing(message: str, advice: str) -> None:
    answer = ask(BOUND, waiting("ContainerCreating"), ("FailedMount", message))
    assert (answer.area, answer.reason) == ("volume", "FailedMount")
    assert message in answer.text
    assert advice in answer.advice


def test_a_container_whose_image_is_on_its_way() -> None:
    answer = ask(BOUND, waiting("ContainerCreating"), ("Pulling/main", 'Pulling image "app:1"'))
    assert (answer.area, answer.container) == ("image", "main")
    assert "waits for its image app:1, which has been pulled for 30s" in answer.text


def test_a_container_in_its_post_start_hook() -> None:
    main = {"name": "main", "lifecycle": {"postStart": {"exec": {"command": ["sleep", "99"]}}}}
    spec = {**BOUND, "containers": [main]}
    answer = ask(spec, waiting("ContainerCreating"), ("Started/main", "Container started"))
    assert (answer.area, answer.container) == ("hook", "main")
    assert "was started 30s ago and is in its postStart hook" in answer.text


def test_a_pod_that_its_node_has_only_just_got() -> None:
    assert "has not taken it up yet" in ask(BOUND).text
    assert ask(BOUND, waiting("ContainerCreating")).area == "start"


def looping(last: dict[str, Any], count: int = 4) -> dict[str, Any]:
    message = "back-off 1m20s restarting failed container=main pod=web"
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return container(state=state, lastState=last, restartCount=count)


@pytest.mark.parametrize(
    ("last", "text", "advice"),
    [
        (
            ended(3),
            "run number 5 ended 30s ago after 90s with exit code 3 (Error)",
            "logs web -c main --previous",
        ),
        (
            ended(3, message="no db\n"),
            'with exit code 3 (Error), saying "no db"',
            "logs web -c main --previous",
        ),
        (ended(137, "OOMKilled"), "for using more memory than it may (OOMKilled", "resources.limits.memory"),
        (ended(139), "was ended 30s ago after 90s by SIGSEGV (exit code 139)", "logs web"),
        (ended(137), "was ended 30s ago after 90s by SIGKILL", "Nobody in the cluster is on record for it"),
        (ended(127), "with exit code 127", "Correct command and args"),
        (ended(128, "StartError", message="no dir"), "could not be started 30s ago: no dir", "its mounts"),
        (ended(0, "Completed"), "with exit code 0 (Completed)", "belongs in a Job"),
    ],
)
def test_a_container_that_keeps_ending(last: dict[str, Any], text: str, advice: str) -> None:
    answer = ask(BOUND, looping(last))
    assert (answer.area, answer.reason) == ("crash", "CrashLoopBackOff")
    assert text in answer.text
    assert answer.text.endswith("it is started again in about 50s, when the back-off of 1m20s is over.")
    assert advice in answer.advice


PROBE = {"exec": {"command": ["test", "-e", "/ok"]}, "periodSeconds": 5, "failureThreshold": 2}


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_a_container_that_its_probe_kills(kind: str) -> None:
    spec = {**BOUND, "containers": [{"name": "main", f"{kind}Probe": PROBE}]}
    failing = ("Unhealthy/main", f"{kind.capitalize()} probe failed: bad state\n")
    killing = ("Killing/main", f"Container main failed {kind} probe, will be restarted")
    answer = ask(spec, looping(ended(0, "Completed")), failing, killing)
    because = f"because its {kind} probe (exec test -e /ok) failed 2 times in a row: bad state (exit code 0)"
    assert answer.area == "probe"
    assert f"was killed 30s ago after 90s {because}" in answer.text
    assert "give the probe more room" in answer.advice
    assert [source.name for source in answer.evidence] == ["main", "Killing", "Unhealthy"]
    unsure = ask(spec, looping(ended(0, "Completed")), failing)
    assert f"most likely {because}" in unsure.text


def test_a_killing_of_another_container_or_a_later_run_explains_nothing() -> None:
    spec = {**BOUND, "containers": [{"name": "main", "livenessProbe": PROBE}]}
    killing = "Container other failed liveness probe, will be restarted"
    assert ask(spec, looping(ended(3)), ("Killing/other", killing)).area == "crash"
    before = ended(3) | {"terminated": {**ended(3)["terminated"], "finishedAt": EARLIER}}
    assert ask(spec, looping(before), ("Killing/main", killing)).area == "crash"


def test_a_post_start_hook_that_fails() -> None:
    answer = ask(BOUND, looping(ended(0)), ("Killing/main", "FailedPostStartHook"))
    assert (answer.area, answer.reason) == ("hook", "CrashLoopBackOff")
    assert "because its postStart hook failed" in answer.text


def test_a_container_that_is_not_started_again() -> None:
    spec = {**BOUND, "restartPolicy": "Never"}
    answer = ask(spec, container(state=ended(1)))
    assert "its restart policy, Never, lets it be; the pod cannot be Ready without it" in answer.text
    assert answer.advice == "See what it said: kubectl logs web -c main"


def test_an_init_container_that_takes_its_time() -> None:
    status = {
        "conditions": [STARTABLE],
        "initContainerStatuses": [
            {
                "name": "first",
                "image": "",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": ended(0),
            },
            {
                "name": "second",
                "image": "",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"running": {"startedAt": EARLIER}},
            },
        ],
    }
    inits = [{"name": "first", "image": "x"}, {"name": "second", "image": "x"}]
    answer = ask({**BOUND, "initContainers": inits}, status)
    assert (answer.area, answer.reason, answer.container) == ("init", "Init:1/2", "second")
    assert "has been running for 2m" in answer.text


@pytest.mark.parametrize(
    ("probe", "said", "text", "advice"),
    [
        (
            {"httpGet": {"port": 80}},
            "dial tcp 10.0.0.2:80: connect: connection refused",
            "GET http://:80/",
            "Nothing",
        ),
        (
            {"httpGet": {"port": 80, "path": "/x"}},
            "HTTP probe failed with statuscode: 503",
            ":80/x",
            "kubectl logs",
        ),
        ({"tcpSocket": {"port": 80}}, "dial tcp 10.0.0.2:80: i/o timeout", "TCP :80", "within 1s"),
        ({"grpc": {"port": 80}}, "service unhealthy", "gRPC :80", "kubectl logs"),
        (
            {"exec": {"command": ["test", "a b"]}},
            "no",
            "exec test a b",
            "kubectl exec web -c main -- test 'a b'",
        ),
        ({"exec": {"command": ["false"]}}, "", "printed nothing", "kubectl exec web -c main -- false"),
    ],
)
def test_a_container_that_does_not_answer_its_probe(
    probe: dict[str, Any], said: str, text: str, advice: str
) -> None:
    main = {"name": "main", "image": "app:1", "readinessProbe": probe | {"periodSeconds": 5}}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    told = (
        ("Unhealthy/other", "Readiness probe failed: no"),
        ("Unhealthy/main", f"Readiness probe failed: {said}"),
    )
    answer = ask({**BOUND, "containers": [main]}, status, *told)
    assert (answer.area, answer.container) == ("probe", "main")
    assert "every 5s) has failed 1 time, the last time recorded 30s ago" in answer.text
    assert said in answer.text
    assert text in answer.text
    assert advice in answer.advice


def test_a_probe_that_has_not_been_made_yet() -> None:
    main = {"name": "main", "readinessProbe": PROBE | {"initialDelaySeconds": 180}}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    answer = ask({**BOUND, "containers": [main]}, status)
    assert "is first made in 60s (initialDelaySeconds 180)" in answer.text


def test_troubles_of_several_containers_are_all_told() -> None:
    spec = {**BOUND, "containers": [{"name": "main"}, {"name": "other", "readinessProbe": PROBE}]}
    status = looping(ended(3))
    running = {"running": {"startedAt": EARLIER}}
    fixed = {"image": "", "imageID": "", "ready": False, "started": True, "restartCount": 0}
    status["containerStatuses"].append({"name": "other", "state": running, **fixed})
    answer = ask(spec, status)
    assert answer.container == "main"
    assert "Beside that: Container other runs, but is not ready." in answer.text
    assert [source.name for source in answer.evidence] == ["main", "other"]


def test_a_readiness_gate_that_is_closed() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate X"}
    shut = {"type": "example.com/b", "status": "False", "message": "no backend."}
    status = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    answer = ask({**BOUND, "readinessGates": gates}, status | {"conditions": [STARTABLE, condition, shut]})
    assert answer.area == "gate"
    assert "example.com/a has never been set, example.com/b is False (no backend)" in answer.text
    assert "kubectl patch pod web --subresource=status" in answer.advice


RUNNING = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)


def test_a_pod_that_is_leaving() -> None:
    leaving = "2026-01-01T12:00:30Z"
    answer = ask(BOUND, RUNNING, deletionTimestamp=leaving)
    assert "container main still runs" in answer.text
    assert "in 30s, is killed (SIGKILL)" in answer.text
    hook = {"name": "main", "lifecycle": {"preStop": {"sleep": {"seconds": 9}}}}
    assert "the preStop hook of main" in ask({"containers": [hook]}, RUNNING, deletionTimestamp=leaving).text
    held = ask(BOUND, container(state=ended(0)), deletionTimestamp=leaving, finalizers=["example.com/keep"])
    assert (held.reason, held.healthy) == ("FinalizersRemain", False)
    assert "example.com/keep" in held.text
    over = ask(BOUND, {"phase": "Succeeded"}, deletionTimestamp=leaving, finalizers=["example.com/keep"])
    assert over.reason == "FinalizersRemain"
    assert "does not answer" in ask(BOUND, deletionTimestamp=EARLIER, node="Unknown").text
    assert "does not exist" in ask(BOUND, deletionTimestamp=EARLIER, node=None).text
    disruption = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "m.",
    }
    chosen = ask(BOUND, RUNNING | {"conditions": [disruption]}, deletionTimestamp=leaving)
    assert "has been deleted (PreemptionByScheduler: m) and" in chosen.text


def test_a_pod_that_is_over() -> None:
    assert ask(BOUND, {"phase": "Succeeded"}).healthy
    evicted = ask(BOUND, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})
    assert (evicted.area, evicted.reason) == ("end", "Evicted")
    assert "Node one refused the pod for good: Evicted: The node was low on memory." in evicted.text
    late = ask(BOUND, container(state=ended(0)) | {"phase": "Failed", "reason": "DeadlineExceeded"})
    assert "The pod was ended for good" in late.text
    assert "activeDeadlineSeconds" in late.advice
    failed = ask({**BOUND, "restartPolicy": "Never"}, container(state=ended(2)) | {"phase": "Failed"})
    assert (
        "container main ended with exit code 2 (Error), and its restart policy, Never, lets it be"
        in failed.text
    )


def test_a_static_pod_is_mended_in_its_file() -> None:
    annotations = {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": "x"}
    answer = ask(BOUND, waiting("ErrImagePull"), annotations=annotations)
    assert answer.advice.startswith("It is a static pod: what you change, change in its file on node one.")


def test_a_pod_with_which_nothing_is_wrong() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}
    answer = ask(BOUND, {"phase": "Running", "conditions": [condition]})
    assert answer.healthy
    assert answer.text == "Nothing is wrong: the pod is Running, and it has been Ready for 2m."
    again = ask(
        BOUND, container(ready=True, lastState=ended(3), restartCount=2) | {"conditions": [condition]}
    )
    assert again.healthy
    assert (
        "restarted 2 times, though: before this run it ended 30s ago with exit code 3 (Error)" in again.text
    )


def test_the_answer_is_one_paragraph_with_what_says_so() -> None:
    answer = ask(BOUND, waiting("ErrImageNeverPull"), ("Failed/main", "Error: ErrImageNeverPull"))
    text = paragraph(answer, NOW)
    assert "\n" not in text
    assert "[status of main: waiting, ErrImageNeverPull; event Failed, 30s ago]" in text
    assert text.endswith(answer.advice)
