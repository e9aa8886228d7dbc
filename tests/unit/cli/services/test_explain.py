"""Explanations of Services: the name, the address, traffic policies, load balancers, and those that serve."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Service
from tests.support.ailing_services import NODES, ask, event, pod, service, slice_of


def test_service_that_serves_is_healthy() -> None:
    answer = ask(service(), [pod()], [slice_of(True)])
    assert answer.healthy
    assert answer.text == (
        "Nothing is wrong: Service web leads from 10.96.0.7 port 80/TCP to 1 Ready endpoint (10.88.0.5)."
    )


def test_healthy_service_names_pods_that_are_not_ready() -> None:
    answer = ask(service(), [pod(), pod("web-2", ready=False)], [slice_of(True, False)])
    assert answer.healthy
    assert answer.text.endswith("1 of its 2 pods are not Ready; web-2: It keeps ending.")
    assert answer.evidence[0].detail == "1 ready of 2"


def test_headless_service_is_a_name_for_addresses() -> None:
    answer = ask(service(clusterIP="None", clusterIPs=["None"]), [pod()], [slice_of(True)])
    assert answer.healthy
    assert "is headless. Its name stands for the addresses of its 1 Ready endpoint (10.88.0.5)" in answer.text


@pytest.mark.parametrize(
    ("name", "healthy", "words"),
    [
        ("db.example.com", True, "is only another name for db.example.com: it has no address"),
        ("10.0.0.1", False, "10.0.0.1 is an address, though, and DNS cannot answer with it as a name"),
        ("db.back.svc.cluster.local", True, "Nothing is wrong that can be seen from here"),
        ("dbb.back.svc.cluster.local", False, "There is no Service dbb in namespace back, though"),
    ],
)
def test_external_name_is_followed(name: str, healthy: bool, words: str) -> None:
    about = service(type="ExternalName", externalName=name, selector={}, clusterIP="", clusterIPs=[])
    answer = ask(about, services={("back", "db"): service()})
    assert answer.healthy is healthy
    assert words in answer.text


def test_cluster_ip_outside_of_every_range_of_its_family_is_named() -> None:
    answer = ask(service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9"]), [pod()], [slice_of(True)])
    assert (answer.reason, answer.healthy) == ("ClusterIPOutOfRange", False)
    assert "the cluster IP 10.0.0.9, which is not within the range of Services, 10.96.0.0/12" in answer.text
    dual = service(clusterIPs=["10.96.0.7", "fd00::7"])
    assert ask(dual, [pod()], [slice_of(True)], ranges=("10.96.0.0/12", "fd00::/112")).healthy
    assert "fd00::7" in ask(dual, [pod()], [slice_of(True)], ranges=("10.96.0.0/12", "fd01::/112")).text


@pytest.mark.parametrize(
    ("slices", "words"),
    [([], "nothing has written endpoints for it"), ([slice_of(False)], "none of its 1 endpoint is ready")],
)
def test_service_without_selector_needs_endpoints(slices: list[Any], words: str) -> None:
    answer = ask(service(selector={}), slices=slices)
    assert (answer.reason, answer.healthy) == ("NoEndpoints", False)
    assert words in answer.text
    assert "kubernetes.io/service-name=web" in answer.advice


def test_service_without_selector_and_with_endpoints_is_healthy() -> None:
    assert ask(service(selector={}), slices=[slice_of(True)]).healthy


def test_service_that_is_being_deleted_names_its_finalizers() -> None:
    plain = msgspec.to_builtins(service())
    plain["metadata"] |= {"deletionTimestamp": "2026-01-01T11:00:00Z", "finalizers": ["example.com/x"]}
    answer = ask(msgspec.convert(plain, Service), [pod()], [slice_of(True)])
    assert (answer.area, answer.healthy) == ("deletion", False)
    assert "waits for its finalizers: example.com/x" in answer.text


@pytest.mark.parametrize("field", ["internalTrafficPolicy", "externalTrafficPolicy"])
def test_local_traffic_policy_names_nodes_without_endpoints(field: str) -> None:
    about = service(**{field: "Local"})
    answer = ask(about, [pod()], [slice_of(True)], nodes=NODES)
    assert answer.healthy
    assert "node two" in answer.text
    answer = ask(about, [pod()], [slice_of(True, node=None)], nodes=NODES)
    assert (answer.reason, answer.healthy) == ("NoLocalEndpoints", False)


def test_load_balancer_of_another_class_waits_for_its_controller() -> None:
    about = service(type="LoadBalancer", loadBalancerClass="example.com/lb")
    answer = ask(about, [pod()], [slice_of(True)])
    assert (answer.reason, answer.healthy) == ("LoadBalancerPending", False)
    assert "its class is example.com/lb, which another controller has to serve" in answer.text


def test_load_balancer_without_address_gives_the_reason_of_its_event() -> None:
    about = service(type="LoadBalancer")
    message = "Error syncing load balancer: port 80/TCP of 10.0.0.1 is used by Pod a/b"
    answer = ask(about, [pod()], [slice_of(True)], events=[event("SyncLoadBalancerFailed", message)])
    assert answer.text.endswith(f"waits for the address of a load balancer: {message}.")
    assert "Use another port" in answer.advice
    none = event("UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
    answer = ask(about, [pod()], [slice_of(True)], events=[none])
    assert "node.kubernetes.io/exclude-from-external-load-balancers" in answer.advice
    assert "no event says why" in ask(about, [pod()], [slice_of(True)]).text


def test_load_balancer_with_address_is_healthy() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}}
    answer = ask(service(type="LoadBalancer", status=status), [pod()], [slice_of(True)])
    assert answer.healthy
    assert "from 10.96.0.7, 10.0.0.1 port 80/TCP" in answer.text
