"""Checks of a request's pod, and what the request takes from it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, Pod
from podling_kruise.recreate.request_rules import Refused, check_pod, filled
from podling_kruise.recreate.types import PreStop
from tests.support.recreate_requests import recreate


def pod(hook: dict[str, Any] | None = None, phase: str = "Running", *conditions: str) -> Pod:
    container = {
        "name": "app",
        "ports": [{"containerPort": 8080}],
        "lifecycle": {"preStop": hook} if hook is not None else None,
    }
    status = {
        "phase": phase,
        "conditions": [{"type": each, "status": "True"} for each in conditions],
        "containerStatuses": [{"name": "app", "containerID": "sim://one", "restartCount": 2}],
    }
    return msgspec.convert({"spec": {"nodeName": "n1", "containers": [container]}, "status": status}, Pod)


@pytest.mark.parametrize(
    ("hook", "ports"),
    [
        (None, []),
        ({"exec": {"command": ["end"]}}, []),
        ({"tcpSocket": {"port": 8080}}, []),
        ({"httpGet": {"port": 8080}}, [8080]),
    ],
)
def test_request_has_the_ports_that_a_hook_may_name(hook: dict[str, Any] | None, ports: list[int]) -> None:
    (container,) = filled(recreate(), pod(hook), Node()).spec.containers
    assert [each.container_port for each in container.ports] == ports
    assert isinstance(container.pre_stop, PreStop) is (hook is not None)


@pytest.mark.parametrize(
    ("phase", "conditions", "refused"),
    [
        ("Running", (), False),
        ("Succeeded", (), True),
        ("Failed", (), True),
        ("Succeeded", ("SidecarTerminated",), False),
    ],
)
def test_pod_that_has_ended_is_refused_unless_its_sidecars_are_ended(
    phase: str, conditions: tuple[str, ...], refused: bool
) -> None:
    if not refused:
        check_pod(pod(None, phase, *conditions))
        return
    with pytest.raises(Refused, match="inactive Pod"):
        check_pod(pod(None, phase, *conditions))
