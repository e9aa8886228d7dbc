"""The start and the end of a cluster in a thread. Real threads and sockets."""

from __future__ import annotations

import threading
import urllib.request

import pytest

from podling.testing.clusters import running_cluster
from podling.testing.settings import TestSettings
from tests.support.tested_clusters import WEB, request


def test_nothing_is_left_of_a_cluster() -> None:
    before = threading.active_count()
    with running_cluster() as cluster:
        url, file = cluster.url, cluster.kubeconfig
        assert request(cluster, "/version")
    assert threading.active_count() == before
    assert not file.exists()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=60)
    with pytest.raises(RuntimeError, match="has ended with its test"):
        cluster.apply(WEB)


def test_failed_start_is_raised() -> None:
    settings = TestSettings(nodes=[{"name": "same"}, {"name": "same"}])
    with pytest.raises(ValueError, match="there is a node same already"), running_cluster(settings):
        pytest.fail("the cluster started")
