"""Labels of request metrics."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.http.metrics import Labels, RequestMetrics, path_labels, target_labels
from podling.apiserver.http.resource_paths import parse_path

POD = "/api/v1/namespaces/default/pods/web"
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize(
    ("verb", "path", "options", "shown", "scope"),
    [
        ("get", POD, {}, "GET", "resource"),
        ("list", PODS, {}, "LIST", "namespace"),
        ("list", "/api/v1/pods", {}, "LIST", "cluster"),
        ("watch", "/api/v1/pods", {}, "WATCH", "cluster"),
        ("create", PODS, {}, "POST", "resource"),
        ("update", POD, {}, "PUT", "resource"),
        ("patch", POD, {}, "PATCH", "resource"),
        ("patch", POD, {"applies": True}, "APPLY", "resource"),
        ("delete", POD, {}, "DELETE", "resource"),
        ("deletecollection", PODS, {}, "DELETECOLLECTION", "namespace"),
        ("create", POD + "/exec", {}, "CONNECT", "resource"),
        ("get", POD + "/log", {}, "GET", "resource"),
    ],
)
def test_labels_have_verb_and_scope(
    verb: str, path: str, options: dict[str, Any], shown: str, scope: str
) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    labels = target_labels(verb, parsed.target, **options)
    assert (labels.verb, labels.scope, labels.resource) == (shown, scope, "pods")


def test_unknown_paths_do_not_become_labels() -> None:
    assert path_labels("GET", "/readyz").subresource == "/readyz"
    assert path_labels("HEAD", "/any/thing") == Labels("GET")


def counted(metrics: RequestMetrics, family: str) -> dict[str, float]:
    """Return the samples of one family that are not zero, by their distinguishing label."""
    (found,) = (each for each in metrics.collect() if each.name == family)
    named = ((each.labels.get("request_kind") or each.labels["verb"], each.value) for each in found.samples)
    return {name: value for name, value in named if value}


def test_long_running_requests_are_counted_separately() -> None:
    metrics = RequestMetrics(dict)
    pods = parse_path(PODS)
    assert pods is not None
    under_way = [target_labels(verb, pods.target) for verb in ("watch", "watch", "list", "create")]
    for labels in under_way:
        metrics.of(labels).begin()
    assert counted(metrics, "apiserver_longrunning_requests") == {"WATCH": 2}
    assert counted(metrics, "apiserver_current_inflight_requests") == {"readOnly": 1, "mutating": 1}
    for labels in under_way:
        metrics.of(labels).end(200, 0.1)
    assert counted(metrics, "apiserver_longrunning_requests") == {}
    assert counted(metrics, "apiserver_current_inflight_requests") == {}
    assert counted(metrics, "apiserver_request") == {"WATCH": 2, "LIST": 1, "POST": 1}


def test_dry_runs_are_no_series_of_their_own_among_terminations() -> None:
    metrics = RequestMetrics(dict)
    for dry_run in ("", "All"):
        counts = metrics.of(Labels("POST", "apps", "v1", "deployments", "", "resource", dry_run))
        counts.begin()
        counts.end(504, 60.0, terminated=True)
    (family,) = (each for each in metrics.collect() if each.name == "apiserver_request_terminations")
    (sample,) = family.samples
    assert sample.value == 2
    assert sample.labels == {
        "verb": "POST", "group": "apps", "version": "v1", "resource": "deployments", "subresource": "",
        "scope": "resource", "component": "apiserver", "code": "504",
    }  # fmt: skip
