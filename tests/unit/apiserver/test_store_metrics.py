"""Metrics of writes: requests to the store by resource, durations, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.store_metrics import MeteredStore
from podling.machinery.errors import ApiError
from podling.machinery.histograms import Histogram
from podling.store.base import Conflict, WriteFailed
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore
from podling.testing import ControlPlane
from tests.support.counts import samples


async def test_writes_are_counted_by_resource(cluster: ControlPlane) -> None:
    before = samples(cluster.server.collectors, "etcd_requests_total")
    made = await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    await cluster.client.patch(ConfigMap, "a", {"data": {"b": "c"}}, "default")
    await cluster.client.delete(ConfigMap, "a", "default", uid=made.metadata.uid or "")
    after = samples(cluster.server.collectors, "etcd_requests_total")
    new = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    assert new == {(verb, "", "configmaps"): 1 for verb in ("create", "update", "delete")}


async def test_admission_steps_and_refusals_are_counted(cluster: ControlPlane) -> None:
    name = "apiserver_admission_step_admission_duration_seconds"
    collectors = cluster.server.collectors
    before = samples(collectors, f"{name}_count")
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    with pytest.raises(ApiError, match='namespaces "none" not found'):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="none")))
    after = samples(collectors, f"{name}_count")
    new = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    assert new == {
        ("admit", "CREATE", "false"): 1,
        ("admit", "CREATE", "true"): 1,
        ("validate", "CREATE", "false"): 1,
    }
    assert samples(collectors, f"{name}_summary_count") == after


class Full(MemoryStore):
    """A store that cannot write."""

    async def put(self, key: str, encode: Any, *, expect: int, memo: Any = None) -> Any:
        raise WriteFailed("disk is full")


async def test_conflict_is_no_error_of_the_store() -> None:
    store = MeteredStore(MemoryStore())
    key = "/registry/apps/deployments/default/web"
    await store.put(key, lambda revision: b"{}", expect=0)
    with pytest.raises(Conflict):
        await store.put(key, lambda revision: b"{}", expect=7)
    assert samples([store], "etcd_request_errors_total") == {}
    assert samples([store], "etcd_requests_total") == {
        ("create", "apps", "deployments"): 1,
        ("update", "apps", "deployments"): 1,
    }
    full = MeteredStore(Full())
    with pytest.raises(ApiError, match="disk is full"):
        await full.put("/registry/example.com/widgets/default/w", lambda revision: b"", expect=0)
    assert samples([full], "etcd_request_errors_total") == {("create", "example.com", "widgets"): 1}


@pytest.mark.asyncio(loop_factories=["real"])
async def test_size_of_the_database_file_is_reported(tmp_path: Path) -> None:
    store = MeteredStore(SqliteStore(tmp_path / "store.db"))
    try:
        assert store.size_bytes >= (tmp_path / "store.db").stat().st_size > 0
    finally:
        await store.close()


def test_histogram_buckets_include_their_bound() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 2, 50):
        histogram.observe(value)
    assert histogram.cumulative() == [("1", 2), ("10", 3), ("+Inf", 4)]
    assert (histogram.count, histogram.total) == (4, 53.5)
