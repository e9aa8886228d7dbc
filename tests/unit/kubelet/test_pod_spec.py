"""Access to the three kinds of containers in a pod's spec."""

from __future__ import annotations

from podling.kubelet.pod_spec import (
    containers_with_kind,
    ephemeral_target,
    field_path,
    find_container,
    sidecars,
)
from tests.support.kubelet_node import pod

SPEC = pod(
    containers=[{"name": "app", "image": "app:1"}],
    initContainers=[{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
    ephemeralContainers=[
        {"name": "debug", "image": "tools:1", "targetContainerName": "app"},
        {"name": "free"},
    ],
).spec


def test_containers_come_by_kind_in_the_order_of_the_spec() -> None:
    assert [(kind.name, container.name) for kind, container in containers_with_kind(SPEC)] == [
        ("INIT", "setup"),
        ("INIT", "proxy"),
        ("REGULAR", "app"),
        ("EPHEMERAL", "debug"),
        ("EPHEMERAL", "free"),
    ]
    assert [container.name for container in sidecars(SPEC)] == ["proxy"]


def test_ephemeral_container_is_found_with_its_target() -> None:
    found = find_container(SPEC, "debug")
    assert found is not None
    assert found.image == "tools:1"
    assert [ephemeral_target(SPEC, name) for name in ("debug", "free", "app")] == ["app", "", ""]


def test_field_path_names_list_and_container() -> None:
    assert [field_path(SPEC, name) for name in ("setup", "app", "debug", "none")] == [
        "spec.initContainers{setup}",
        "spec.containers{app}",
        "spec.ephemeralContainers{debug}",
        "",
    ]
