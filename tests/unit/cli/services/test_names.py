"""Names of Services in the commands of init containers, and what they stand for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container, Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.cli.evidence import Evidence, Explanation
from podling.cli.explain import explain
from podling.cli.services.names import looked_up
from tests.support.ailing_pods import BOUND, EARLIER, NOW

DOCUMENTED = (
    "until nslookup myservice.$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)"
    ".svc.cluster.local; do echo waiting for myservice; sleep 2; done"
)


@pytest.mark.parametrize(
    ("script", "names"),
    [
        (DOCUMENTED, [("shop", "myservice")]),
        ("for i in 1 2; do nslookup db && nslookup db.back; done", [("shop", "db"), ("back", "db")]),
        ("until nc -z -w 2 db 5432; do sleep 1; done", [("shop", "db")]),
        ("until wget -qO- http://web.back.svc:8080/ready; do sleep 1; done", [("back", "web")]),
        ("getent hosts cache && ping -c 1 cache", [("shop", "cache")]),
        ("nslookup www.example.com; wget http://127.0.0.1/; curl http://localhost:8080", []),
        ("nslookup web-0.web.shop.svc.cluster.local", []),
        ("sleep 3600", []),
    ],
)
def test_names_of_services_are_read_from_commands(script: str, names: list[tuple[str, str]]) -> None:
    assert looked_up(Container(name="c", command=("sh", "-c", script)), "shop") == names


def ask(script: str, *services: Service, slices: tuple[EndpointSlice, ...] = ()) -> Explanation:
    """Explain a pod whose only init container runs a script."""
    running = {"name": "wait", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            **BOUND,
            "containers": [{"name": "main"}],
            "initContainers": [{"name": "wait", "command": ["sh", "-c", script]}],
        },
        "status": {
            "phase": "Pending",
            "initContainerStatuses": [running | {"state": {"running": {"startedAt": EARLIER}}}],
        },
    }
    pod = msgspec.convert(plain, Pod)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    node = msgspec.convert(ready, Node)
    return explain(Evidence(pod, [], node, NOW, services=services, slices=slices))


def service(name: str, **spec: Any) -> Service:
    plain = {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterIP": "10.96.0.7"} | spec}
    return msgspec.convert(plain, Service)


def test_missing_service_is_what_the_pod_waits_for() -> None:
    answer = ask("until nslookup mydb; do sleep 2; done", service("mydb2"))
    assert answer.area == "init"
    assert "there is no Service mydb in namespace default, so the name does not resolve." in answer.text
    assert answer.advice.startswith("Is the Service mydb2 meant?")
    assert answer.evidence[-1].detail == "looks up mydb.default"


def test_first_missing_name_is_reported_beside_existing_ones() -> None:
    answer = ask("nslookup there && nslookup missing", service("there"))
    assert "looks up missing, and there is no Service missing" in answer.text


def test_existing_service_is_not_in_the_way() -> None:
    answer = ask("nslookup mydb", service("mydb"))
    assert "Its command looks up mydb, and the Service has the address 10.96.0.7." in answer.text
    assert answer.advice == "See what it does: kubectl logs web -c wait"


def test_headless_service_without_ready_endpoint_has_no_address() -> None:
    headless = service("mydb", clusterIP="None")
    answer = ask("nslookup mydb", headless)
    assert "a headless Service without a Ready endpoint, so its name has no address" in answer.text
    assert answer.advice.endswith("podling why service/mydb")
    plain = {
        "metadata": {"namespace": "default", "labels": {"kubernetes.io/service-name": "mydb"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.88.0.2"], "conditions": {"ready": True}}],
    }
    answer = ask("nslookup mydb", headless, slices=(msgspec.convert(plain, EndpointSlice),))
    assert "which stands for 1 Ready endpoint." in answer.text


def test_name_of_another_domain_is_left_out() -> None:
    assert "looks up" not in ask("nslookup example.com", service("mydb")).text
