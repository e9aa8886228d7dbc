"""The Available condition of an APIService whose service, port or endpoints are missing."""

from __future__ import annotations

import pytest

from podling.api.apiregistration_v1 import ServiceReference
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.aggregation.reachability import unreachable
from tests.support.manifests import obj

REF = ServiceReference(name="far", namespace="ns", port=443)
HEAD = "metadata: {name: far, namespace: ns}\n"
LISTENING = HEAD + "spec: {ports: [{name: https, port: 443}]}"
OWN = "metadata: {name: far-1, namespace: ns, labels: {kubernetes.io/service-name: far}}\n"
READY = OWN + "endpoints: [{addresses: [10.0.0.1]}]\nports: [{name: https, port: 8443}]"


@pytest.mark.parametrize(
    ("service", "slices", "expected"),
    [
        (None, [], ("ServiceNotFound", 'service/far in "ns" is not present')),
        (
            HEAD + "spec: {ports: [{port: 80}]}",
            [READY],
            ("ServicePortError", 'service/far in "ns" is not listening on port 443'),
        ),
        (
            LISTENING,
            [READY.replace("service-name: far", "service-name: near")],
            ("EndpointsNotFound", 'cannot find endpointslices for service/far in "ns"'),
        ),
        (
            LISTENING,
            [OWN + "ports: [{name: https, port: 8443}]"],
            (
                "MissingEndpoints",
                'endpointslices for service/far in "ns" have no addresses with port name "https"',
            ),
        ),
        (
            LISTENING,
            [READY.replace("addresses: [10.0.0.1]", "addresses: [10.0.0.1], conditions: {ready: false}")],
            (
                "MissingEndpoints",
                'endpointslices for service/far in "ns" have no addresses with port name "https"',
            ),
        ),
        (LISTENING, [READY], None),
        (HEAD + "spec: {type: ExternalName}", [], None),
    ],
)
def test_unreachable_service_has_reason_and_message(
    service: str | None, slices: list[str], expected: tuple[str, str] | None
) -> None:
    found = None if service is None else obj(Service, service)
    assert unreachable(REF, found, [obj(EndpointSlice, each) for each in slices]) == expected
