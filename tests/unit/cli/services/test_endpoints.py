"""Explanations of Services whose pods exist and do not serve."""

from __future__ import annotations

from typing import Any

import pytest

from podling.cli.services.evidence import CONNECTED, LOOPBACK, REFUSED, SILENT, PortProbe
from tests.support.ailing_services import ask, pod, service, slice_of


def test_pods_that_are_not_ready_explain_their_service() -> None:
    answer = ask(service(), [pod(ready=False), pod("web-2", ready=False)], [slice_of(False, False)])
    assert (answer.area, answer.advice, answer.healthy) == ("crash", "Look.", False)
    assert answer.text == (
        "Service web has no Ready endpoint: 0 of its 2 pods are Ready. One of them is web-1: It keeps ending."
    )


def test_addresses_of_unready_pods_serve_where_the_service_publishes_them() -> None:
    about = service(publishNotReadyAddresses=True)
    assert ask(about, [pod(ready=False)], [slice_of(True)]).healthy


def test_pods_that_ended_are_no_endpoints() -> None:
    answer = ask(service(), [pod(ready=False, phase="Succeeded")], [slice_of()])
    assert (answer.reason, answer.healthy) == ("PodsEnded", False)
    assert answer.evidence[0].detail == "Succeeded"


@pytest.mark.parametrize(
    ("port", "words"),
    [
        ({"targetPort": "web"}, "pod web-1 has only ports named http (8080/TCP)"),
        ({"targetPort": "http", "protocol": "UDP"}, "a port of this name for TCP only, not for UDP"),
    ],
)
def test_target_port_without_container_port_is_named(port: dict[str, Any], words: str) -> None:
    answer = ask(service({"port": 80} | port), [pod()], [slice_of(True)])
    assert (answer.reason, answer.healthy) == ("TargetPortNotFound", False)
    assert words in answer.text


def test_ready_pods_without_slices_await_the_endpoints_controller() -> None:
    answer = ask(service(), [pod()], [])
    assert (answer.reason, answer.healthy) == ("EndpointsNotWritten", False)
    assert "1 Ready pod, and no EndpointSlice has them yet" in answer.text


def test_refused_connection_means_that_nothing_listens() -> None:
    about = service({"port": 80, "targetPort": 9090, "protocol": "TCP"})
    probes = [
        PortProbe("web-1", "10.88.0.5", 9090, REFUSED),
        PortProbe("web-2", "10.88.0.6", 9090, CONNECTED),
    ]
    answer = ask(about, [pod(), pod("web-2")], [slice_of(True, True)], probes=probes)
    assert (answer.reason, answer.healthy) == ("ConnectionRefused", False)
    assert (
        "nothing listens on port 9090 of pod web-1: a connection to 10.88.0.5 is refused (1 of 2"
        in answer.text
    )
    assert "the pod declares 8080; its log: kubectl logs web-1 -n shop -c main" in answer.advice
    assert answer.evidence[0].name == "connection to 10.88.0.5:9090"


def test_process_that_listens_on_loopback_only_is_named() -> None:
    probes = [PortProbe("web-1", "10.88.0.5", 8080, LOOPBACK)]
    answer = ask(service(), [pod()], [slice_of(True)], probes=probes)
    assert "Inside the pod, 127.0.0.1:8080 answers." in answer.text
    assert "0.0.0.0" in answer.advice


def test_port_without_answer_is_only_noted() -> None:
    probes = [PortProbe("web-1", "10.88.0.5", 8080, SILENT)]
    answer = ask(service(), [pod()], [slice_of(True)], probes=probes)
    assert answer.healthy
    assert answer.text.endswith("Pod web-1 did not answer on port 8080 within a second.")
