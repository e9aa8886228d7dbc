"""The resources that are served by default."""

from __future__ import annotations

from collections import Counter

import pytest

from podling.machinery.resource import Resource, type_of
from podling.machinery.served import RESOURCES

BY_NAME = {(each.group, each.version, each.plural): each for each in RESOURCES}


def test_resources_are_unique() -> None:
    assert len(BY_NAME) == len(RESOURCES)
    assert [name for name, times in Counter(each.path() for each in RESOURCES).items() if times > 1] == []


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.group_resource + "/" + each.version)
def test_resource_has_types_of_its_kind_and_subresources(resource: Resource) -> None:
    assert resource.type.group_version_kind == (resource.group, resource.version, resource.kind)
    for name, part in resource.subresources.items():
        assert part.name == name
        if not part.kind.endswith("Options"):  # options are query parameters and have no struct
            assert type_of(part.group, part.version, part.kind)


@pytest.mark.parametrize(
    ("group", "version", "plural", "namespaced", "short", "parts"),
    [
        ("", "v1", "nodes", False, "no", "proxy status"),
        ("", "v1", "namespaces", False, "ns", "finalize status"),
        (
            "",
            "v1",
            "pods",
            True,
            "po",
            "attach binding ephemeralcontainers eviction exec log portforward proxy resize status",
        ),
        ("apps", "v1", "deployments", True, "deploy", "scale status"),
        ("apps", "v1", "daemonsets", True, "ds", "status"),
        ("batch", "v1", "cronjobs", True, "cj", "status"),
        ("networking.k8s.io", "v1", "ingresses", True, "ing", "status"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", False, "crd crds", "status"),
        ("certificates.k8s.io", "v1", "certificatesigningrequests", False, "csr", "approval status"),
        ("storage.k8s.io", "v1", "csistoragecapacities", True, "", ""),
    ],
)
def test_resource_has_its_scope_short_names_and_subresources(
    group: str, version: str, plural: str, namespaced: bool, short: str, parts: str
) -> None:
    found = BY_NAME[group, version, plural]
    assert found.namespaced is namespaced
    assert " ".join(found.short_names) == short
    assert " ".join(sorted(found.subresources)) == parts


def test_category_all_holds_the_workloads_that_kubectl_shows() -> None:
    assert {each.plural for each in RESOURCES if "all" in each.categories} == {
        "cronjobs", "daemonsets", "deployments", "horizontalpodautoscalers", "jobs", "pods", "replicasets",
        "replicationcontrollers", "services", "statefulsets",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group", "version", "plural", "stored_group", "stored_version"),
    [
        ("events.k8s.io", "v1", "events", "", "v1"),
        ("autoscaling", "v1", "horizontalpodautoscalers", "autoscaling", "v2"),
    ],
)
def test_second_view_stores_the_first(
    group: str, version: str, plural: str, stored_group: str, stored_version: str
) -> None:
    view = BY_NAME[group, version, plural]
    assert view.storage_resource is BY_NAME[stored_group, stored_version, plural]
    assert view.key("ns", "a") == view.storage_resource.key("ns", "a")


def test_reviews_and_bindings_take_creations_only() -> None:
    created = {each.plural for each in RESOURCES if each.verbs == ("create",)}
    assert created == {
        "bindings", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectreviews",
        "selfsubjectrulesreviews", "subjectaccessreviews", "tokenreviews",
    }  # fmt: skip
    assert not any(BY_NAME[key].stored for key in BY_NAME if key[2] in created)


def test_namespaces_cannot_be_deleted_as_a_collection() -> None:
    assert "deletecollection" not in BY_NAME["", "v1", "namespaces"].verbs
    assert "deletecollection" in BY_NAME["", "v1", "pods"].verbs
