"""OpenAPI: what kubectl looks for in the documents is there, and every reference leads somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from podling.machinery import scheme
from podling.machinery.openapi import openapi

GROUP_VERSIONS = [(group, version) for group, all_ in scheme.group_versions().items() for version in all_]


def v3(group: str, version: str) -> dict[str, Any]:
    document = openapi.v3_document(group, version)
    assert document is not None
    found: dict[str, Any] = json.loads(document)
    return found


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


@pytest.mark.parametrize(("group", "version"), GROUP_VERSIONS)
def test_every_reference_leads_to_a_schema(group: str, version: str) -> None:
    document = v3(group, version)
    wanted = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert wanted <= document["components"]["schemas"].keys()


def test_every_reference_of_the_old_document_too() -> None:
    document = json.loads(openapi.v2_document())
    wanted = {reference.removeprefix("#/definitions/") for reference in references(document)}
    assert wanted <= document["definitions"].keys()
    assert document["swagger"] == "2.0"


def test_the_index_names_every_document() -> None:
    urls = openapi.v3_index()
    assert len(urls) == len(GROUP_VERSIONS)
    assert urls["api/v1"].startswith("/openapi/v3/api/v1?hash=")
    assert urls["apis/apps/v1"].startswith("/openapi/v3/apis/apps/v1?hash=")
    assert len({url.partition("hash=")[2] for url in urls.values()}) == len(urls)


def test_a_group_that_is_not_served_has_no_document() -> None:
    assert openapi.v3_document("nothing.example", "v1") is None


def test_kubectl_explain_finds_fields_with_texts_and_types() -> None:
    schemas = v3("", "v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    spec = pod["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    assert spec["description"].startswith("Specification of the desired behavior of the pod.")
    assert schemas["io.k8s.api.core.v1.PodSpec"]["required"] == ["containers"]


def test_lists_say_how_they_merge() -> None:
    properties = v3("", "v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    containers, volumes = properties["containers"], properties["volumes"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert properties["nodeSelector"]["x-kubernetes-map-type"] == "atomic"
    assert "x-kubernetes-list-type" not in properties["tolerations"]


def test_kubectl_sees_that_field_validation_and_dry_run_are_known() -> None:
    for document in (v3("apps", "v1"), json.loads(openapi.v2_document())):
        patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
        assert patch["x-kubernetes-action"] == "patch"
        assert patch["x-kubernetes-group-version-kind"] == {
            "group": "apps",
            "kind": "Deployment",
            "version": "v1",
        }
        names = {parameter["name"] for parameter in patch["parameters"]}
        assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names


@pytest.mark.parametrize("resource", scheme.RESOURCES, ids=lambda each: each.group_resource)
def test_every_verb_of_every_resource_has_its_operation(resource: scheme.Resource) -> None:
    paths = v3(resource.group, resource.version)["paths"]
    collection = paths.get(resource.path("{namespace}"), {})
    single = paths.get(resource.path("{namespace}", "{name}"), {})
    methods = {"create": "post", "list": "get", "deletecollection": "delete"}
    assert all(methods[verb] in collection for verb in resource.verbs if verb in methods)
    methods = {"get": "get", "update": "put", "patch": "patch", "delete": "delete"}
    assert all(methods[verb] in single for verb in resource.verbs if verb in methods)
    for part in resource.subresources.values():
        assert resource.path("{namespace}", "{name}", part.name) in paths


def test_operation_ids_are_unique() -> None:
    paths = json.loads(openapi.v2_document())["paths"]
    ids = [
        operation["operationId"]
        for path in paths.values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids))


def test_special_values_have_their_formats() -> None:
    schemas = v3("", "v1")["components"]["schemas"]
    assert schemas[openapi.QUANTITY]["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert schemas[openapi.INT_OR_STRING]["format"] == "int-or-string"
    secret = schemas["io.k8s.api.core.v1.Secret"]["properties"]["data"]
    assert secret["additionalProperties"] == {"type": "string", "format": "byte"}
    port = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["containerPort"]
    assert (port["type"], port["format"]) == ("integer", "int32")
