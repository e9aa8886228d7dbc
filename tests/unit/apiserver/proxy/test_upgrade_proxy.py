"""Headers that the proxy forwards."""

from __future__ import annotations

from podling.api.core_v1 import (
    ObjectReference,
)
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.proxy.upgrade_proxy import forwarded


def endpoints(*ready: bool, name: str = "web") -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(name=f"{name}-1", labels={"kubernetes.io/service-name": name}),
        endpoints=tuple(
            Endpoint(
                addresses=(f"10.0.0.{number}",),
                conditions=EndpointConditions(ready=each),
                target_ref=ObjectReference(kind="Pod", namespace="default", name=f"10.0.0.{number}"),
            )
            for number, each in enumerate(ready)
        ),
        ports=(EndpointPort(name="http", port=8080), EndpointPort(name="admin", port=9090)),
    )


def test_credentials_are_not_forwarded() -> None:
    headers = {"Authorization": "Bearer t", "Connection": "close", "Accept": "*/*", "X-Own": "1"}
    assert forwarded(headers) == {"Accept": "*/*", "X-Own": "1"}
