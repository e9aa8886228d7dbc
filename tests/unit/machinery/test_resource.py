"""Names, paths and store keys of resources."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod
from podling.machinery.resource import Resource, module_of, type_of

PODS = Resource("", "v1", "pods", "pod", "Pod", namespaced=True)
NODES = Resource("", "v1", "nodes", "node", "Node", namespaced=False)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "deployment", "Deployment", namespaced=True)
REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", False, verbs=("create",)
)
EVENTS = Resource("", "v1", "events", "event", "Event", namespaced=True)
NEW_EVENTS = Resource("events.k8s.io", "v1", "events", "event", "Event", namespaced=True, storage=EVENTS)


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (PODS, ("ns", "a"), "/api/v1/namespaces/ns/pods/a"),
        (PODS, ("ns", "a", "status"), "/api/v1/namespaces/ns/pods/a/status"),
        (NODES, (None, "n"), "/api/v1/nodes/n"),
        (NODES, ("ns", "n"), "/api/v1/nodes/n"),
        (DEPLOYMENTS, ("ns", "a", "scale"), "/apis/apps/v1/namespaces/ns/deployments/a/scale"),
    ],
)
def test_path_names_collection_object_or_subresource(
    resource: Resource, arguments: tuple[str | None, ...], path: str
) -> None:
    assert resource.path(*arguments) == path  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("resource", "key", "prefix", "everything"),
    [
        (PODS, "/registry/pods/ns/a", "/registry/pods/ns/", "/registry/pods/"),
        (NODES, "/registry/nodes/a", "/registry/nodes/", "/registry/nodes/"),
        (
            DEPLOYMENTS,
            "/registry/apps/deployments/ns/a",
            "/registry/apps/deployments/ns/",
            "/registry/apps/deployments/",
        ),
        (NEW_EVENTS, "/registry/events/ns/a", "/registry/events/ns/", "/registry/events/"),
    ],
)
def test_store_keys_are_those_of_the_stored_resource(
    resource: Resource, key: str, prefix: str, everything: str
) -> None:
    assert resource.key("ns", "a") == key
    assert resource.namespace_prefix("ns") == prefix
    assert resource.namespace_prefix(None) == resource.namespace_prefix("") == everything


def test_names_in_messages_carry_the_group() -> None:
    assert (PODS.group_version, PODS.group_resource, PODS.list_kind) == ("v1", "pods", "PodList")
    assert (DEPLOYMENTS.group_version, DEPLOYMENTS.group_resource) == ("apps/v1", "deployments.apps")


def test_only_readable_resources_are_stored() -> None:
    assert PODS.stored
    assert not REVIEWS.stored
    assert not Resource("", "v1", "componentstatuses", "componentstatus", "ComponentStatus", False).stored


@pytest.mark.parametrize(
    ("group", "version", "module"),
    [
        ("", "v1", "core_v1"),
        ("apps", "v1", "apps_v1"),
        ("rbac.authorization.k8s.io", "v1", "rbac_v1"),
        ("internal.apiserver.k8s.io", "v1alpha1", "apiserverinternal_v1alpha1"),
    ],
)
def test_module_is_named_after_group_and_version(group: str, version: str, module: str) -> None:
    assert module_of(group, version) == f"podling.api.{module}"


def test_type_is_found_by_group_version_and_kind() -> None:
    assert PODS.type is Pod
    assert type_of("apps", "v1", "Deployment") is Deployment


@pytest.mark.parametrize(
    ("group", "version", "kind", "where"),
    [
        ("", "v1", "Deployment", "v1"),
        ("apps", "v1", "Pod", "apps/v1"),
        ("apps", "v9", "Deployment", "apps/v9"),
        ("", "v1", "PodSpec", "v1"),
        ("", "v1", "Quantity", "v1"),
    ],
)
def test_unknown_kind_raises(group: str, version: str, kind: str, where: str) -> None:
    with pytest.raises(LookupError) as caught:
        type_of(group, version, kind)
    assert str(caught.value) == f'no kind "{kind}" is registered for version "{where}"'
