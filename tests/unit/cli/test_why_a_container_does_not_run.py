"""Why is it not Running? For each way in which a container does not start, or does not stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling.kubelet.status.slow_calls import slow_message
from tests.support.ailing_pods import BOUND, EARLIER, NOW, PROBE, STARTABLE, ask, container, ended, waiting


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


def test_init_container_that_waits_for_a_name_without_cluster_dns() -> None:
    running = {"state": {"running": {"startedAt": EARLIER}}}
    status = {
        "conditions": [STARTABLE],
        "initContainerStatuses": [
            {"name": "wait", "image": "", "imageID": "", "ready": False, "restartCount": 0, **running}
        ],
    }
    spec = {**BOUND, "initContainers": [{"name": "wait", "image": "x"}]}
    message = 'pod: "web_default(1)". kubelet does not have ClusterDNS IP configured'
    answer = ask(spec, status, ("MissingClusterDNS", message))
    assert (answer.area, answer.container) == ("init", "wait")
    assert "this cluster has no DNS for services yet" in answer.text
    assert ("event", "MissingClusterDNS") in [(source.kind, source.name) for source in answer.evidence]
    assert "MissingClusterDNS" not in ask(spec, status).text


def test_failures_of_several_containers_are_all_reported() -> None:
    spec = {**BOUND, "containers": [{"name": "main"}, {"name": "other", "readinessProbe": PROBE}]}
    status = looping(ended(3))
    running = {"running": {"startedAt": EARLIER}}
    fixed = {"image": "", "imageID": "", "ready": False, "started": True, "restartCount": 0}
    status["containerStatuses"].append({"name": "other", "state": running, **fixed})
    answer = ask(spec, status)
    assert answer.container == "main"
    assert "Beside that: Container other runs, but is not ready." in answer.text
    assert [source.name for source in answer.evidence] == ["main", "other"]
