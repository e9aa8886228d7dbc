"""Explanations of problems of a node's runtime."""

from __future__ import annotations

from datetime import timedelta

from podling.kubelet.status.slow_calls import slow_message
from tests.support.ailing_pods import BOUND, NOW, ask, waiting


def test_full_disk_of_node_is_reported() -> None:
    text = "error making pod data directories: no space left on device"
    answer = ask(BOUND, waiting("ContainerCreating"), ("FailedToMakePodDataDirectories", text))
    assert (answer.area, answer.reason) == ("node", "FailedToMakePodDataDirectories")
    assert answer.text == f"The node cannot write the pod's files: {text}."


def test_slow_call_of_runtime_is_reported_with_its_age() -> None:
    message = slow_message("StartContainer", NOW - timedelta(seconds=75))
    said = ask(BOUND, waiting("ContainerCreating", message))
    assert (said.area, said.reason, said.container) == ("runtime", "ContainerCreating", "main")
    assert "has not answered StartContainer for 75s" in said.text
