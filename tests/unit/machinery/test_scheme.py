"""The scheme: which resources there are, where they live, and that names cost nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from podling.api import apps_v1, core_v1, events_v1, meta_v1
from podling.machinery import scheme
from podling.machinery.scheme import Resource


def resource(group: str, version: str, plural: str) -> Resource:
    found = scheme.by_path(group, version, plural)
    assert found
    return found


PODS = resource("", "v1", "pods")
NODES = resource("", "v1", "nodes")
DEPLOYMENTS = resource("apps", "v1", "deployments")


def test_a_resource_knows_its_paths() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("default") == "/api/v1/namespaces/default/pods"
    assert PODS.path("default", "web", "log") == "/api/v1/namespaces/default/pods/web/log"
    assert NODES.path(None, "one", "status") == "/api/v1/nodes/one/status"
    assert DEPLOYMENTS.path("default", "web") == "/apis/apps/v1/namespaces/default/deployments/web"


def test_a_resource_knows_its_keys() -> None:
    assert PODS.key("default", "web") == "/registry/pods/default/web"
    assert NODES.key(None, "one") == "/registry/nodes/one"
    assert DEPLOYMENTS.key("default", "web") == "/registry/apps/deployments/default/web"
    assert PODS.key("default", "web").startswith(PODS.namespace_prefix("default"))
    assert PODS.namespace_prefix("default").startswith(PODS.key_prefix)


def test_found_by_path_kind_and_type() -> None:
    assert scheme.by_kind("apps", "v1", "Deployment") is DEPLOYMENTS
    assert scheme.resource_of(apps_v1.Deployment) is DEPLOYMENTS
    assert DEPLOYMENTS.type is apps_v1.Deployment
    assert scheme.by_path("apps", "v1", "nothing") is None
    with pytest.raises(LookupError, match="Status is not the kind of a resource"):
        scheme.resource_of(meta_v1.Status)


def test_both_kinds_of_events_are_stored_as_one() -> None:
    new, core = scheme.resource_of(events_v1.Event), scheme.resource_of(core_v1.Event)
    assert new.storage_resource is core
    assert new.key("default", "x") == core.key("default", "x") == "/registry/events/default/x"


def test_the_newest_autoscaler_is_the_stored_and_preferred_one() -> None:
    old = resource("autoscaling", "v1", "horizontalpodautoscalers")
    assert old.storage_resource.version == "v2"
    assert scheme.preferred_versions()["autoscaling"] == "v2"
    assert scheme.group_versions()["autoscaling"] == ("v2", "v1")


def test_subresources_may_have_another_kind() -> None:
    assert "status" in PODS.subresources
    assert (PODS.subresources["eviction"].group, PODS.subresources["eviction"].kind) == ("policy", "Eviction")
    scale = DEPLOYMENTS.subresources["scale"]
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")


def test_reviews_are_answered_but_not_stored() -> None:
    review = resource("authorization.k8s.io", "v1", "subjectaccessreviews")
    assert review.verbs == ("create",)
    assert not review.stored
    assert PODS.stored


@pytest.mark.parametrize("each", scheme.RESOURCES, ids=lambda each: f"{each.group_version}/{each.plural}")
def test_every_resource_has_its_types(each: Resource) -> None:
    assert each.type.group_version_kind == (each.group, each.version, each.kind)
    if "list" in each.verbs:
        list_type = scheme.type_of(each.group, each.version, each.list_kind)
        assert list_type().items == ()
    for part in each.subresources.values():
        if not part.kind.endswith("Options"):
            assert scheme.type_of(part.group, part.version, part.kind)


def test_short_names_and_plurals_are_unambiguous_within_a_group() -> None:
    taken: dict[tuple[str, str, str], str] = {}
    for each in scheme.RESOURCES:
        for name in (each.plural, *each.short_names):
            assert taken.setdefault((each.group, each.version, name), each.plural) == each.plural


def test_kubectl_get_all_shows_workloads() -> None:
    shown = {each.plural for each in scheme.RESOURCES if "all" in each.categories}
    assert shown == {
        "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets",
        "statefulsets", "horizontalpodautoscalers", "cronjobs", "jobs",
    }  # fmt: skip


def test_unknown_kinds_are_refused_in_kubernetes_words() -> None:
    with pytest.raises(LookupError, match='no kind "Foo" is registered for version "apps/v1"'):
        scheme.type_of("apps", "v1", "Foo")
    with pytest.raises(LookupError, match='no kind "datetime" is registered for version "v1"'):
        scheme.type_of("", "v1", "datetime")


def test_importing_the_scheme_imports_no_types() -> None:
    code = (
        "import sys, podling.machinery.scheme\n"
        "print([name for name in sys.modules if name.startswith('podling.api.') and '_v' in name])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
