"""Wrong input gets Kubernetes' own answer and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(autouse=True)
def nothing_changes(cluster: RealCluster) -> Iterator[None]:
    """Assert that each test ends with the objects it began with."""
    before = cluster.kubectl("get", "pods,configmaps", "-o", "name")
    yield
    assert cluster.kubectl("get", "pods,configmaps", "-o", "name") == before


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def config_map(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wrong"}, **fields}


def test_malformed_json_and_yaml(cluster: RealCluster) -> None:
    code, status, _ = cluster.request("POST", MAPS, b'{"kind": "ConfigMap",')
    assert (code, status["kind"], status["reason"]) == (400, "Status", "BadRequest")
    code, status, _ = cluster.request("POST", MAPS, b"kind: [unclosed", "application/yaml")
    assert (code, status["reason"]) == (400, "BadRequest")
    code, status, _ = cluster.request("POST", MAPS, b"kind: x", "text/plain")
    assert (code, status["reason"]) == (415, "UnsupportedMediaType")


def test_unknown_and_duplicate_fields_under_strict(cluster: RealCluster) -> None:
    text = (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong"},"data":{},"data":{},"datum":{}}'
    )
    code, status, _ = cluster.request("POST", MAPS + "?fieldValidation=Strict", text)
    assert code == 400
    assert "strict decoding error: " in status["message"]
    assert 'unknown field "datum"' in status["message"]
    assert 'duplicate field "data"' in status["message"]


def test_unknown_fields_under_warn_and_ignore(cluster: RealCluster) -> None:
    text = body(config_map(datum={}))
    code, _, warnings = cluster.request("POST", MAPS + "?fieldValidation=Warn&dryRun=All", text)
    assert (code, warnings) == (201, ['299 - "unknown field \\"datum\\""'])
    code, _, warnings = cluster.request("POST", MAPS + "?fieldValidation=Ignore&dryRun=All", text)
    assert (code, warnings) == (201, [])


def test_wrong_types_are_refused(cluster: RealCluster) -> None:
    manifest = shell_pod("wrong", "true")
    manifest["spec"]["containers"] = "one"
    code, status, _ = cluster.request("POST", PODS, body(manifest))
    assert (code, status["reason"]) == (400, "BadRequest")
    assert 'Pod in version "v1" cannot be handled as a Pod' in status["message"]
    assert "cannot unmarshal string into Go struct field" in status["message"]


def test_invalid_names_and_duplicate_containers(cluster: RealCluster) -> None:
    manifest = shell_pod("Wrong_Name", "true")
    manifest["spec"]["containers"] *= 2
    code, status, _ = cluster.request("POST", PODS, body(manifest))
    assert (code, status["reason"]) == (422, "Invalid")
    causes = {(cause["field"], cause["reason"]) for cause in status["details"]["causes"]}
    assert ("metadata.name", "FieldValueInvalid") in causes
    assert ("spec.containers[1].name", "FieldValueDuplicate") in causes
    assert "a lowercase RFC 1123 subdomain must consist of" in status["message"]


def test_unknown_kinds_and_paths(cluster: RealCluster) -> None:
    code, status, _ = cluster.request("GET", "/api/v1/namespaces/default/gizmos")
    assert (code, status["message"]) == (404, "the server could not find the requested resource")
    code, status, _ = cluster.request("POST", MAPS, body(shell_pod("wrong", "true")))
    assert code == 400
    refused = cluster.try_kubectl("apply", "-f", "-", stdin=json.dumps(config_map(kind="Gizmo")))
    assert 'no matches for kind "Gizmo" in version "v1"' in refused.err


def test_stale_resource_version_conflicts(cluster: RealCluster) -> None:
    cluster.request("POST", MAPS, body(config_map()))
    stale = config_map(data={"a": "1"})
    stale["metadata"] = {"name": "wrong", "resourceVersion": "1"}
    code, status, _ = cluster.request("PUT", MAPS + "/wrong", body(stale))
    assert (code, status["reason"]) == (409, "Conflict")
    assert (
        "the object has been modified; please apply your changes to the latest version" in status["message"]
    )
    code, _, _ = cluster.request("DELETE", MAPS + "/wrong", body({"preconditions": {"uid": "other"}}))
    assert code == 409
    assert cluster.request("DELETE", MAPS + "/wrong")[0] == 200


def test_oversized_bodies_are_refused(cluster: RealCluster) -> None:
    code, status, _ = cluster.request("POST", MAPS, body(config_map(data={"a": "x" * 4_000_000})))
    assert (code, status["reason"]) == (413, "RequestEntityTooLarge")


def test_an_image_that_is_not_there(cluster: RealCluster) -> None:
    cluster.apply(shell_pod("absent", "true", image="localhost:1/absent:1"))
    try:
        for reason in ("ErrImagePull", "ImagePullBackOff"):
            cluster.kubectl(
                "wait",
                f"--for=jsonpath={{.status.containerStatuses[0].state.waiting.reason}}={reason}",
                "pod/absent",
                "--timeout=40s",
            )
        assert cluster.kubectl("get", "pod", "absent").splitlines()[1].split()[2] in (
            "ImagePullBackOff",
            "ErrImagePull",
        )
        described = cluster.kubectl("describe", "pod", "absent")
        assert 'Failed to pull image "localhost:1/absent:1"' in described
        assert "Error: ErrImagePull" in described
        assert 'Back-off pulling image "localhost:1/absent:1"' in described
    finally:
        cluster.kubectl("delete", "pod", "absent", "--now")
