"""Endpoints that lead to pods which are not ready are found."""

from __future__ import annotations

import msgspec
import pytest

from podling.api.discovery_v1 import EndpointSlice
from podling.sim.checkers.endpoints import Endpoints
from tests.support.checked import History, pod


def endpoint_slice(*, ready: bool) -> EndpointSlice:
    reference = {"kind": "Pod", "name": "web", "uid": "uid-web"}
    endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": ready}, "targetRef": reference}
    metadata = {"name": "web", "namespace": "default", "uid": "uid-slice"}
    plain = {"metadata": metadata, "addressType": "IPv4", "endpoints": [endpoint]}
    return msgspec.convert(plain, EndpointSlice)


@pytest.mark.parametrize(
    ("phase", "ready", "seconds", "count"),
    [("Running", True, 60, 0), ("Pending", True, 60, 1), ("Pending", True, 30, 0), ("Pending", False, 60, 0)],
)
def test_ready_endpoints_are_ready_pods(phase: str, ready: bool, seconds: int, count: int) -> None:
    history = History(Endpoints)
    history.write(pod(phase=phase))
    history.write(endpoint_slice(ready=ready))
    history.wait(seconds)
    text = "endpointslices/default/web leads to pod web, which is not ready since 00:00:00"
    assert history.texts == [text] * count


def test_deleted_pod_is_no_endpoint() -> None:
    history = History(Endpoints)
    history.write(pod())
    history.write(endpoint_slice(ready=True))
    history.delete(pod())
    history.wait(60)
    assert len(history.texts) == 1
    history.write(endpoint_slice(ready=False))
    history.wait(60)
    assert len(history.texts) == 1
