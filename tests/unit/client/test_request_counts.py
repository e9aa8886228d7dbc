"""Metrics of a component's requests to the API server."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.local import LocalClient
from podling.client.request_counts import CountedBackend
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.counts import samples


async def test_by_their_methods_and_answers(cluster: ControlPlane) -> None:
    counted = CountedBackend(cluster.backend, lambda: "here:6443")
    client = LocalClient(counted)
    made = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    await client.update(made)
    await client.patch(ConfigMap, "a", {"data": {"b": "c"}}, "default")
    await client.list(ConfigMap)
    await client.delete(ConfigMap, "a", "default", uid=made.metadata.uid or "")
    with pytest.raises(ApiError):
        await client.get(ConfigMap, "a", "default")
    with pytest.raises(ApiError):
        client.watch(ConfigMap, resource_version="later")
    assert samples([counted], "rest_client_requests_total") == {
        ("201", "here:6443", "POST"): 1,
        ("200", "here:6443", "PUT"): 1,
        ("200", "here:6443", "PATCH"): 1,
        ("200", "here:6443", "GET"): 1,
        ("200", "here:6443", "DELETE"): 1,
        ("404", "here:6443", "GET"): 1,
        ("400", "here:6443", "GET"): 1,
    }
    durations = samples([counted], "rest_client_request_duration_seconds_count")
    assert durations["here:6443", "GET"] == 2, "a watch has no duration"
