"""The answers to load balancers' health checks."""

from __future__ import annotations

from podling.client.base import Key
from podling.network.services.health_checks import answer

KEY = Key("ns", "svc")


def test_answer_is_that_of_kube_proxy() -> None:
    head, _, body = answer(KEY, 2, healthy=True).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body.decode() == (
        '{\n\t"service": {\n\t\t"namespace": "ns",\n\t\t"name": "svc"\n\t},\n'
        '\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}'
    )
    assert b"X-Load-Balancing-Endpoint-Weight: 2\r\n" in head
    assert b"X-Content-Type-Options: nosniff\r\n" in head
    assert answer(KEY, 0, healthy=True).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert answer(KEY, 1, healthy=False).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
