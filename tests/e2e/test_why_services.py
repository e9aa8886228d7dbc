"""``podling why service/NAME`` about Services with real pods behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import Done, RealCluster, namespace, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "why-services"
SERVERS = {"right": "0.0.0.0:8080", "loopback": "127.0.0.1:8080", "wrong": "0.0.0.0:8081"}
"""Pods by the address on which their server listens; each Service sends to port 8080."""


@pytest.fixture(scope="module")
def services(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with a Service in front of each of ``SERVERS``."""
    with namespace(cluster, SPACE):
        for name, address in SERVERS.items():
            manifest = shell_pod(name, f"exec busybox httpd -f -p {address}")
            manifest["metadata"] |= {"namespace": SPACE, "labels": {"app": name}}
            cluster.apply(manifest)
            cluster.apply(service(name, name))
        cluster.apply(service("mistyped", "rihgt"))
        for name in SERVERS:
            cluster.wait_ready(name, "-n", SPACE)
        yield cluster


def service(name: str, app: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80, "targetPort": 8080}]},
    }


def why(cluster: RealCluster, name: str) -> tuple[Done, Any]:
    done = cluster.podling("why", f"svc/{name}", "-n", SPACE, "-o", "json")
    return done, json.loads(done.out) if done.out else None


def test_service_whose_pod_answers_is_healthy(services: RealCluster) -> None:
    done, answer = why(services, "right")
    assert (done.code, answer["healthy"], answer["kind"]) == (0, True, "service"), done
    assert [each["detail"] for each in answer["evidence"] if each["kind"] == "connection"] == ["connected"]


def test_port_on_which_nothing_listens_is_found(services: RealCluster) -> None:
    done, answer = why(services, "wrong")
    assert (done.code, answer["reason"]) == (1, "ConnectionRefused"), done
    assert "nothing listens on port 8080 of pod wrong" in answer["text"]


def test_server_on_loopback_only_is_found(services: RealCluster) -> None:
    done, answer = why(services, "loopback")
    assert (done.code, answer["reason"]) == (1, "ConnectionRefused"), done
    assert "Inside the pod, 127.0.0.1:8080 answers." in answer["text"]


def test_mistyped_selector_is_found(services: RealCluster) -> None:
    done, answer = why(services, "mistyped")
    assert (done.code, answer["reason"]) == (1, "NoPods"), done
    assert "The nearest is pod right: it has app=right, not app=rihgt." in answer["text"]


def test_missing_service_has_near_names(services: RealCluster) -> None:
    done, _ = why(services, "rigth")
    assert done.code == 3
    assert 'There is no service "rigth" in namespace why-services. Is right meant?' in done.err
