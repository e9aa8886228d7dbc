"""Health checks in Kubernetes' words, and metrics under Kubernetes' names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from podling.apiserver.server import ApiServer
from podling.store.memory import MemoryStore
from tests.support.served_here import serving
from tests.support.wire import Wire

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"


class Monitor:
    def __init__(self, port: int) -> None:
        self.wire = Wire(port)

    async def read(self, path: str, **headers: str) -> tuple[int, str]:
        headers["Authorization"] = "Bearer monitor"
        answer = await self.wire.exchange("GET", path.encode(), headers, None)
        return answer.code, answer.body.decode()


@pytest.fixture
async def monitor() -> AsyncIterator[Monitor]:
    """A monitor of a server whose disk is full."""
    async with serving("monitor", checks={"etcd": lambda: "disk is full"}) as (_, port):
        found = Monitor(port)
        yield found
        found.wire.close()


async def test_health_summary_withholds_reasons(monitor: Monitor) -> None:
    text = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
    assert await monitor.read("/readyz") == (500, text)
    assert await monitor.read("/readyz?verbose") == (500, text)


async def test_single_check_reports_its_reason(monitor: Monitor) -> None:
    assert await monitor.read("/readyz/etcd") == (500, "internal server error: disk is full\n")
    assert await monitor.read("/livez/ping") == (200, "ok")
    assert (await monitor.read("/livez/nothing"))[0] == 404


async def test_checks_can_be_left_out(monitor: Monitor) -> None:
    assert await monitor.read("/readyz?exclude=etcd") == (200, "ok")
    assert await monitor.read("/readyz?verbose&exclude=etcd&exclude=moon") == (
        200,
        "[+]ping ok\n[+]etcd excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "moon"\nreadyz check passed\n',
    )


async def test_check_results_are_counted_by_endpoint(monitor: Monitor) -> None:
    for path in ("/readyz", "/readyz?exclude=etcd", "/livez", "/readyz/etcd"):
        await monitor.read(path)
    code, text = await monitor.read("/metrics/slis")
    assert (code, [line for line in text.splitlines() if not line.startswith("#")]) == (
        200,
        [
            'kubernetes_healthcheck{name="ping",type="readyz"} 1.0',
            'kubernetes_healthcheck{name="etcd",type="readyz"} 0.0',
            'kubernetes_healthcheck{name="ping",type="livez"} 1.0',
            'kubernetes_healthcheck{name="etcd",type="livez"} 0.0',
            'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2.0',
            'kubernetes_healthchecks_total{name="etcd",status="error",type="readyz"} 1.0',
            'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1.0',
            'kubernetes_healthchecks_total{name="etcd",status="error",type="livez"} 1.0',
        ],
    )
    assert "# TYPE kubernetes_healthchecks_total counter" in text


async def test_every_check_has_a_path_below_every_endpoint(monitor: Monitor) -> None:
    paths = json.loads((await monitor.read("/"))[1])["paths"]
    for path in ("/healthz", "/healthz/etcd", "/livez/etcd", "/livez/ping", "/readyz/etcd", "/metrics/slis"):
        assert path in paths
        assert (await monitor.read(path))[0] in (200, 500)


async def test_metrics_count_requests_and_objects(monitor: Monitor) -> None:
    await monitor.read(MAPS)
    await monitor.read(MAPS + "/nothing")
    await monitor.read("/readyz")
    text = (await monitor.read("/metrics"))[1]
    for line in (
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",'
        'scope="namespace",subresource="",verb="LIST",version="v1"} 1.0',
        'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",'
        'scope="resource",subresource="",verb="GET",version="v1"} 1.0',
        'apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="",'
        'scope="",subresource="/readyz",verb="GET",version=""} 1.0',
        'apiserver_storage_objects{resource="namespaces"} ',
        'apiserver_storage_objects{resource="jobs.batch"} 0.0',
        'apiserver_resource_objects{group="batch",resource="jobs"} 0.0',
        'apiserver_current_inflight_requests{request_kind="readOnly"} 1.0',
        'apiserver_current_inflight_requests{request_kind="mutating"} 0.0',
        'etcd_requests_total{group="",operation="create",resource="namespaces"} 4.0',
        'etcd_request_duration_seconds_count{group="rbac.authorization.k8s.io",operation="create",'
        'resource="clusterroles"} ',
        'apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 0.0',
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "# HELP apiserver_longrunning_requests ",
        "# TYPE apiserver_longrunning_requests gauge",
        "# TYPE apiserver_watch_events_total counter",
        "# TYPE apiserver_request_duration_seconds histogram",
    ):
        assert line in text, line


async def test_a_server_looks_after_its_store_and_its_loops() -> None:
    store = MemoryStore()
    api = ApiServer(store, ())
    await api.start()
    checks = api.checks()
    assert {name: check() for name, check in checks.items()} == {
        "etcd": "",
        "poststarthook/compaction": "",
        "poststarthook/start-apiextensions-controllers": "",
        "poststarthook/validatingadmissionpolicy-status-controller": "",
        "poststarthook/apiservice-status-available-controller": "",
        "poststarthook/start-kubernetes-service-controller": "",
        "poststarthook/start-kubernetes-service-cidr-controller": "",
        "poststarthook/start-service-ip-repair-controllers": "",
        "poststarthook/start-legacy-token-tracking-controller": "",
    }
    await api.stop()
    ended = {name: check() for name, check in checks.items() if check()}
    assert ended == {name: "it was cancelled" for name in checks if name != "etcd"}
    await store.close()
