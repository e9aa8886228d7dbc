"""Explanations of failing readiness probes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ailing_pods import BOUND, EARLIER, PROBE, ask, container


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
def test_failed_probe_is_described_with_advice(
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


def test_probe_within_initial_delay_is_reported() -> None:
    main = {"name": "main", "readinessProbe": PROBE | {"initialDelaySeconds": 180}}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    answer = ask({**BOUND, "containers": [main]}, status)
    assert "is first made in 60s (initialDelaySeconds 180)" in answer.text
