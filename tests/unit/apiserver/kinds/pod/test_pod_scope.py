"""Tests of the data about the whole pod that its validation uses."""

from __future__ import annotations

from podling.apiserver.kinds.pod.pod_scope import PodScope, each_container
from podling.machinery.fields import Path
from tests.support.manifests import pod


def test_containers_are_visited_in_order_of_kubernetes() -> None:
    spec = pod("spec: {initContainers: [{name: i}], ephemeralContainers: [{name: e}]}").spec
    assert [(container.name, str(path)) for container, path in each_container(spec, Path("spec"))] == [
        ("i", "spec.initContainers[0]"),
        ("main", "spec.containers[0]"),
        ("e", "spec.ephemeralContainers[0]"),
    ]


def test_only_named_resource_claims_can_be_referred_to() -> None:
    scope = PodScope(pod("spec: {resourceClaims: [{name: gpu}, {name: ''}]}").spec)
    assert scope.claim_names == {"gpu"}


def test_pod_uses_host_users_unless_it_says_false() -> None:
    assert PodScope(pod("").spec).host_users
    assert not PodScope(pod("spec: {hostUsers: false}").spec).host_users
