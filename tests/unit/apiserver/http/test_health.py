"""Health checks by endpoint."""

from __future__ import annotations

from podling.apiserver.http.health import Health


def test_checks_of_readiness_belong_to_readyz_alone() -> None:
    health = Health({"etcd": lambda: ""}, {"part/control": lambda: "killed by SIGKILL"})
    assert health.paths() == [
        "/healthz",
        "/healthz/ping",
        "/healthz/etcd",
        "/livez",
        "/livez/ping",
        "/livez/etcd",
        "/readyz",
        "/readyz/ping",
        "/readyz/etcd",
        "/readyz/part/control",
    ]
    assert health.serves(["readyz", "part", "control"])
    assert not health.serves(["livez", "part", "control"])
