"""Explanations of containers that do not start."""

from __future__ import annotations

import pytest

from tests.support.ailing_pods import BOUND, ask, waiting


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
def test_waiting_reason_decides_area_and_advice(reason: str, message: str, area: str, advice: str) -> None:
    answer = ask(BOUND, waiting(reason, message))
    assert (answer.area, answer.reason, answer.container) == (area, reason, "main")
    assert reason in answer.text
    assert message.removeprefix("ErrImagePull: ") in answer.text
    assert advice in answer.advice
    assert answer.evidence[0].detail == f"waiting, {reason}: {message}"


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ('configmap "settings" not found', "kubectl create configmap settings -n default"),
        ('persistentvolumeclaims "data" not found', "Create the claim data in namespace default"),
        ("hostPath type check failed: /x is not a directory", "correct path and type"),
        ("something new", "Create what the volume refers to"),
    ],
)
def test_missing_volume_is_reported_with_advice(message: str, advice: str) -> None:
    answer = ask(BOUND, waiting("ContainerCreating"), ("FailedMount", message))
    assert (answer.area, answer.reason) == ("volume", "FailedMount")
    assert message in answer.text
    assert advice in answer.advice


def test_running_pull_is_reported_with_its_age() -> None:
    answer = ask(BOUND, waiting("ContainerCreating"), ("Pulling/main", 'Pulling image "app:1"'))
    assert (answer.area, answer.container) == ("image", "main")
    assert "waits for its image app:1, which has been pulled for 30s" in answer.text


def test_running_post_start_hook_is_reported() -> None:
    main = {"name": "main", "lifecycle": {"postStart": {"exec": {"command": ["sleep", "99"]}}}}
    spec = {**BOUND, "containers": [main]}
    answer = ask(spec, waiting("ContainerCreating"), ("Started/main", "Container started"))
    assert (answer.area, answer.container) == ("hook", "main")
    assert "was started 30s ago and is in its postStart hook" in answer.text


def test_newly_bound_pod_waits_for_its_kubelet() -> None:
    assert "has not taken it up yet" in ask(BOUND).text
    assert ask(BOUND, waiting("ContainerCreating")).area == "start"


def test_failed_sandbox_is_reported() -> None:
    answer = ask(
        BOUND, waiting("ContainerCreating") | {"conditions": []}, ("FailedCreatePodSandBox", "no bridge")
    )
    assert (answer.area, answer.text) == ("sandbox", "The node cannot make the pod's sandbox: no bridge.")
