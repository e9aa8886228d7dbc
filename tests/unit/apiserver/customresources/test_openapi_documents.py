"""Established definitions in discovery and in OpenAPI documents; both end with the definition."""

from __future__ import annotations

from typing import Any

import msgspec

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources import openapi_documents
from podling.apiserver.http import discovery
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.openapi import openapi, openapi_proto, openapi_v3_proto
from podling.testing import ControlPlane
from tests.support.custom_resources import Define

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "description": "How large."},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"type": "string", "oneOf": [{"pattern": "a"}, {"pattern": "b"}]},
            },
        },
    },
}


async def test_established_definition_is_discovered(cluster: ControlPlane, define: Define) -> None:
    assert discovery.group("example.com", cluster.server.catalogue.resources()) is None
    await define(
        SCHEMA,
        names={"categories": ["all"]},
        versions=[
            {"name": "v1beta1", "served": True, "storage": False},
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}},
            {"name": "v2", "served": False, "storage": False},
        ],
    )
    custom = cluster.server.catalogue.resources()
    group = discovery.group("example.com", custom)
    assert group is not None
    assert [each.version for each in group.versions] == ["v1", "v1beta1"]
    assert group.preferred_version.version == "v1"
    listed = discovery.resources("example.com", "v1", custom)
    assert listed is not None
    assert [each.name for each in listed.resources] == ["widgets", "widgets/status"]
    assert listed.resources[0].short_names == ("wd",)
    assert listed.resources[0].categories == ("all",)
    assert discovery.resources("example.com", "v2", custom) is None
    items = discovery.aggregated(custom, core=False)["items"]
    found = next(each for each in items if each["metadata"]["name"] == "example.com")
    assert [each["version"] for each in found["versions"]] == ["v1", "v1beta1"]
    await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
    await clock.sleep(10)
    assert discovery.group("example.com", cluster.server.catalogue.resources()) is None


async def test_established_definition_is_in_openapi_documents(cluster: ControlPlane, define: Define) -> None:
    await define(SCHEMA)
    resources = cluster.server.catalogue.resources()
    custom = tuple(each for each in resources if isinstance(each, CustomResource))
    document = msgspec.json.decode(openapi_documents.v3_document(custom))
    made = document["components"]["schemas"]["com.example.v1.Widget"]
    assert made["description"] == "A widget."
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    expected = {**SCHEMA["properties"]["spec"]["properties"]}
    assert made["properties"]["spec"]["properties"] == {**expected, "port": {**expected["port"], **either}}
    assert made["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "Widget"}
    ]
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert openapi_v3_proto.v3_document(msgspec.json.encode(document)), "every key has its place"
    built_in = openapi.v2_document()
    everything = openapi_documents.with_custom(built_in, custom)
    definitions = msgspec.json.decode(everything)["definitions"]
    assert definitions.keys() > msgspec.json.decode(built_in)["definitions"].keys()
    spec = definitions["com.example.v1.Widget"]["properties"]["spec"]["properties"]
    assert spec["size"] == {"type": "integer", "description": "How large."}
    assert spec["port"] == {"x-kubernetes-int-or-string": True}
    assert spec["free"] == {"x-kubernetes-preserve-unknown-fields": True}, "no object: it would be closed"
    assert spec["either"] == {"type": "string"}
    assert openapi_proto.v2_document(everything), "every key has its place in the protobuf form too"
