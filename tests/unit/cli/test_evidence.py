"""Facts about a pod in words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStateTerminated, ContainerStatus, Event, Pod
from podling.cli.evidence import (
    Evidence,
    condition_source,
    container_of,
    container_source,
    how_it_ended,
    one_line,
    pod_arguments,
    signal_name,
)
from tests.support.ailing_pods import NOW, event


def terminated(code: int, reason: str = "Error", **fields: Any) -> ContainerStateTerminated:
    return msgspec.convert({"exitCode": code, "reason": reason, **fields}, ContainerStateTerminated)


@pytest.mark.parametrize(
    ("ended", "name"),
    [
        (terminated(0, "Completed"), ""),
        (terminated(1), ""),
        (terminated(128), ""),
        (terminated(137), "SIGKILL"),
        (terminated(143), "SIGTERM"),
        (terminated(192), "SIGRTMAX"),
        (terminated(193), ""),
        (terminated(255), ""),
        (terminated(0, signal=9), "SIGKILL"),
        (terminated(128, "StartError", signal=9), ""),
        (terminated(0, signal=99), "signal 99"),
    ],
)
def test_signal_is_read_from_exit_code_or_runtime(ended: ContainerStateTerminated, name: str) -> None:
    assert signal_name(ended) == name


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        (terminated(3), "ended 2m ago with exit code 3 (Error)"),
        (
            terminated(3, message="no\ndatabase.\n"),
            'ended 2m ago with exit code 3 (Error), saying "no database"',
        ),
        (terminated(143), "was ended 2m ago by SIGTERM (exit code 143)"),
        (
            terminated(137, "OOMKilled"),
            "was killed 2m ago for using more memory than it may (OOMKilled, exit code 137)",
        ),
        (
            terminated(128, "StartError", message="no such file"),
            "could not be started 2m ago: no such file (exit code 128)",
        ),
    ],
)
def test_end_of_container_is_described(ended: ContainerStateTerminated, text: str) -> None:
    assert how_it_ended(ended, "2m ago") == text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spec.containers{main}", "main"),
        ("spec.initContainers{setup}", "setup"),
        ("spec.ephemeralContainers{debugger}", "debugger"),
        ("spec.containers[0]", ""),
        ("", ""),
    ],
)
def test_container_of_event_is_read_from_field_path(path: str, name: str) -> None:
    assert container_of(msgspec.convert({"involvedObject": {"fieldPath": path}}, Event)) == name


def test_last_event_matches_reason_container_and_text() -> None:
    events = [event("Failed/main", "one"), event("Failed/side", "two"), event("Failed", "three")]
    evidence = Evidence(Pod(), events, None, NOW)
    assert evidence.last_event("Failed") is events[2]
    assert evidence.last_event("Failed", says="one") is events[0]
    assert evidence.last_event("Failed", container="side", says="t") is events[2]
    assert evidence.last_event("Failed", container="main", says="two") is None
    assert evidence.last_event("BackOff") is None


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"state": {"waiting": {"reason": "ErrImagePull"}}}, "waiting, ErrImagePull"),
        (
            {
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s."}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
            },
            "waiting, CrashLoopBackOff: back-off 10s; before that exit code 1 (Error)",
        ),
        (
            {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            "terminated, exit code 0 (Completed)",
        ),
        ({"state": {"running": {}}, "started": True, "ready": True}, "running, ready"),
        ({"state": {"running": {}}, "started": False}, "running, not started, not ready"),
    ],
)
def test_container_state_is_one_line(fields: dict[str, Any], detail: str) -> None:
    plain = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0, **fields}
    assert container_source(msgspec.convert(plain, ContainerStatus)).detail == detail


def test_condition_is_a_source_only_if_present() -> None:
    ready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "not ready: a."}
    pod = msgspec.convert({"status": {"conditions": [ready]}}, Pod)
    assert [each.detail for each in condition_source(pod, "Ready")] == [
        "False (ContainersNotReady: not ready: a)"
    ]
    assert condition_source(pod, "PodScheduled") == ()


def test_long_message_loses_its_middle() -> None:
    assert one_line("  a\n b.. ") == "a b"
    assert one_line("a" * 10 + "b" * 10, 6) == "aaa ... bbb"


@pytest.mark.parametrize(("namespace", "text"), [("default", "web"), ("", "web"), ("prod", "web -n prod")])
def test_arguments_for_kubectl_name_other_namespaces(namespace: str, text: str) -> None:
    pod = msgspec.convert({"metadata": {"name": "web", "namespace": namespace}}, Pod)
    assert pod_arguments(pod) == text
