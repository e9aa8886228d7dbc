"""Representations of objects and lists over HTTP: media types, cached lists, and kinds in list items."""

from __future__ import annotations

import json

import pytest

from podling.machinery.encoding import codec
from tests.support.custom_resources import definition
from tests.support.served import ServedCluster

MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"
SCALERS = "horizontalpodautoscalers"
YAML = "application/yaml"


def config_map(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def scaled(served: ServedCluster, custom: bool) -> str:
    """Return the path of an object that has a scale of two replicas."""
    if not custom:
        deployments = "/apis/apps/v1/namespaces/default/deployments"
        pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": pod}
        body = json.dumps({"metadata": {"name": "scaled"}, "spec": spec})
        assert served.request("POST", deployments, body).code == 201
        return f"{deployments}/scaled"
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    both = {"served": True, "subresources": {"scale": paths, "status": {}}}
    versions = [{"name": "v1", "storage": False, **both}, {"name": "v2", "storage": True, **both}]
    made = definition(versions=versions)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert served.request("POST", definitions, codec.encode(made)).code == 201
    query = f"{definitions}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=widgets.example.com"
    assert b'"type":"Established"' in served.request("GET", query).body
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    body = json.dumps(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "scaled"},
            "spec": {"size": 2},
        }
    )
    assert served.request("POST", widgets, body).code == 201
    return f"{widgets}/scaled"


@pytest.fixture(scope="module")
def deployment(served: ServedCluster) -> str:
    return scaled(served, custom=False)


@pytest.fixture(scope="module")
def widget(served: ServedCluster) -> str:
    return scaled(served, custom=True)


@pytest.mark.parametrize("kind", ["deployment", "widget"])
def test_subresources_are_served_in_every_media_type(
    served: ServedCluster, kind: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(kind)
    table = served.request("GET", f"{path}/scale", accept=TABLE).json
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:3] == ["scaled", 2, 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    whole = served.request("GET", f"{path}/scale?includeObject=Object", accept=TABLE).json
    assert whole["rows"][0]["object"]["spec"] == {"replicas": 2}
    partial = served.request("GET", f"{path}/scale", accept=PARTIAL).json
    assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "scaled")
    patch = b'{"spec":{"replicas":3}}'
    merge = "application/merge-patch+json"
    changed = served.request("PATCH", f"{path}/scale", patch, accept=TABLE, content_type=merge).json
    assert changed["rows"][0]["cells"][1] == 3
    table = served.request("GET", f"{path}/status", accept=TABLE).json
    assert table["rows"][0]["cells"][0] == "scaled"
    changed = served.request("PATCH", f"{path}/status", b"{}", accept=TABLE, content_type=merge).json
    assert changed["kind"] == "Table"


def test_a_list_is_never_older_than_what_was_written_before(served: ServedCluster) -> None:
    """Any write ends the validity of all cached lists, because each list names the store's revision."""
    served.request("POST", MAPS, body=config_map("listed", a="1"))
    first = served.request("GET", MAPS)
    assert served.request("GET", MAPS).json["items"] == first.json["items"]
    patch, merge = '{"data":{"a":"2"}}', "application/merge-patch+json"
    changed = served.request("PATCH", f"{MAPS}/listed", body=patch, content_type=merge).json
    after = served.request("GET", MAPS).json
    assert [each["data"] for each in after["items"] if each["metadata"]["name"] == "listed"] == [{"a": "2"}]
    assert int(after["metadata"]["resourceVersion"]) >= int(changed["metadata"]["resourceVersion"])


def test_cached_list_is_shown_to_authorized_clients_only(served: ServedCluster) -> None:
    assert served.request("GET", MAPS).code == 200
    refused = served.request("GET", MAPS, impersonate_user="jane")
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")


def test_cached_lists_are_distinct_by_request(served: ServedCluster) -> None:
    """The cache distinguishes resources, media types and all query parameters."""
    served.request("POST", MAPS, body=config_map("told-apart"))
    served.request("POST", MAPS.replace("default", "kube-system"), body=config_map("elsewhere"))
    everywhere, here = served.request("GET", "/api/v1/configmaps"), served.request("GET", MAPS)
    assert len(everywhere.json["items"]) > len(here.json["items"])
    table = served.request("GET", MAPS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert table.json["kind"] == "Table"
    one = served.request("GET", f"{MAPS}?fieldSelector=metadata.name%3Dtold-apart")
    assert [each["metadata"]["name"] for each in one.json["items"]] == ["told-apart"]


@pytest.mark.usefixtures("widget")
def test_items_of_built_in_lists_have_no_kind(served: ServedCluster) -> None:
    """Holds for objects written in any version: events and autoscalers are served in two."""
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    }
    target = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "maxReplicas": 2,
    }
    scaler = {"metadata": {"name": "h"}, "spec": target}
    scalers = f"/apis/autoscaling/v2/namespaces/default/{SCALERS}"
    for path, body in (("/api/v1/namespaces/default/events", event), (scalers, scaler)):
        made = served.request("POST", path, json.dumps(body), content_type="application/json")
        assert made.code == 201, made.body
        assert {"kind", "apiVersion"} <= made.json.keys(), "one object says it itself"
    seen = set()
    for root in ("/api/v1", *(f"/apis/{each}" for each in group_versions(served))):
        for resource in served.request("GET", root).json["resources"]:
            if "/" in resource["name"] or "list" not in resource["verbs"]:
                continue
            items = served.request("GET", f"{root}/{resource['name']}").json["items"]
            for item in items:
                custom = root.startswith("/apis/example.com/")
                assert len({"kind", "apiVersion"} & item.keys()) == (2 if custom else 0), (root, resource)
                assert item["metadata"]["name"]
                seen.add((root, resource["name"]))
    several_versions = {(root, "events") for root in ("/api/v1", "/apis/events.k8s.io/v1")}
    several_versions |= {(f"/apis/autoscaling/v{version}", SCALERS) for version in (1, 2)}
    assert seen > several_versions | {("/api/v1", "componentstatuses"), ("/apis/example.com/v1", "widgets")}


def group_versions(served: ServedCluster) -> list[str]:
    groups = served.request("GET", "/apis").json["groups"]
    return [each["groupVersion"] for group in groups for each in group["versions"]]
