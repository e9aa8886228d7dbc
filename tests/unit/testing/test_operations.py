"""Objects and time of a test's cluster: effects of operations. Real threads and sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling.testing.clusters import Cluster, running_cluster
from podling.testing.operations import ExpectationFailed
from podling.testing.settings import TestSettings
from tests.support.tested_clusters import SLOW, WEB, WIDGETS


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(TestSettings(nodes=2)) as running:
        yield running


def test_all_that_needs_no_time_has_happened_after_a_write(cluster: Cluster) -> None:
    cluster.apply(WEB)
    assert cluster.get("deployment/web")["status"]["readyReplicas"] == 3
    assert {pod["status"]["phase"] for pod in cluster.list("pods")} == {"Running"}
    cluster.patch("deploy/web", {"spec": {"replicas": 1}})
    cluster.advance(minutes=1)
    assert len(cluster.list("pods", labels="app=web")) == 1
    cluster.delete("deploy/web")
    cluster.expect("deploy/web", "delete")
    cluster.advance(minutes=1)
    assert cluster.list("pods", namespace="") == []


def test_time_passes_when_the_test_says_so(cluster: Cluster) -> None:
    before = cluster.now
    assert cluster.now == before
    cluster.advance(hours=1, minutes=2, seconds=3)
    assert cluster.now - before == timedelta(hours=1, minutes=2, seconds=3)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_time_cannot_go_back(cluster: Cluster, seconds: float) -> None:
    with pytest.raises(ValueError, match="time cannot go back"):
        cluster.advance(seconds=seconds)


def test_expectation_winds_the_clock_as_far_as_it_must() -> None:
    with running_cluster(TestSettings(runtime=SLOW)) as cluster:
        cluster.apply(WEB)
        before = cluster.now
        with pytest.raises(ExpectationFailed, match="did not come true within 10 s"):
            cluster.expect("deploy/web", "condition=Available", within="10s")
        found = cluster.expect("deploy/web", "condition=Available")
        assert found is not None
        assert found["status"]["readyReplicas"] == 3
        assert timedelta(seconds=40) <= cluster.now - before <= timedelta(seconds=45)


def test_expectation_may_be_a_function(cluster: Cluster) -> None:
    cluster.apply(WEB)
    found = cluster.expect("deploy/web", lambda plain: plain["status"]["replicas"] == 3)
    assert found is not None
    with pytest.raises(ExpectationFailed, match="is_large did not come true"):
        cluster.expect("deploy/web", is_large, within=5)


def is_large(plain: dict[str, Any]) -> bool:
    return bool(plain["spec"]["replicas"] > 3)


def test_custom_resources_are_known_at_once(cluster: Cluster) -> None:
    _, widget = cluster.apply(WIDGETS)
    assert (widget["kind"], widget["spec"]) == ("Widget", {"size": 3})
    cluster.patch("widget/one", {"status": {"ready": True}}, subresource="status")
    assert cluster.get("widgets.example.com/one")["status"] == {"ready": True}


def test_unknown_names_are_refused(cluster: Cluster) -> None:
    with pytest.raises(LookupError, match='resource type "nothings"'):
        cluster.list("nothings")
    with pytest.raises(LookupError, match='no matches for kind "Nothing"'):
        cluster.apply({"apiVersion": "v1", "kind": "Nothing"})
    with pytest.raises(ValueError, match="does not name an object"):
        cluster.get("pods")
    with pytest.raises(ApiError, match='pods "absent" not found'):
        cluster.get("pod/absent")


def test_expectation_waits_for_other_programs(cluster: Cluster) -> None:
    """The condition comes by another thread, while the time of the cluster stands still."""
    before = cluster.now
    late = threading.Timer(0.1, cluster.apply, [WEB])
    late.start()
    assert cluster.expect("deploy/web", "create", machine_seconds=60)
    late.join()
    assert cluster.now == before


def test_pod_that_is_deleted_while_its_container_starts_ends_in_cluster_time(cluster: Cluster) -> None:
    container = {"name": "main", "image": "web"}
    script = {"sim.podling.dev/main": '{"startSeconds": 3600}'}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "slow", "annotations": script}}
    cluster.apply({**pod, "spec": {"containers": [container]}})
    cluster.advance(seconds=30)
    cluster.delete("pod/slow")
    cluster.advance(seconds=5)
    assert cluster.list("pods") == []


def test_container_that_does_not_start_in_two_minutes_of_cluster_time_has_failed(cluster: Cluster) -> None:
    script = {"sim.podling.dev/main": '{"startSeconds": 3600}'}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "slow", "annotations": script}}
    cluster.apply({**pod, "spec": {"containers": [{"name": "main", "image": "web"}]}})
    cluster.advance(seconds=150)
    assert "Failed" in {event["reason"] for event in cluster.list("events")}
