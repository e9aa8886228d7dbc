"""Owner references: the controller of an object, and the resources of owners."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Key
from podling.controllers.owner_references import (
    controller_of,
    controller_reference,
    is_controlled_by,
    is_kind_of,
    owner_key,
    resource_named,
    without_owners,
)
from podling.machinery.scheme import by_kind

OWNER = ConfigMap(metadata=ObjectMeta(name="owner", namespace="default", uid="u1"))
PLAIN = OwnerReference(api_version="v1", kind="ConfigMap", name="other", uid="u2")


def test_controller_is_the_owner_that_manages() -> None:
    metadata = ObjectMeta(name="a", owner_references=(PLAIN, controller_reference(OWNER)))
    child = ConfigMap(metadata=metadata)
    found = controller_of(child)
    assert found is not None
    assert (found.name, found.uid, found.block_owner_deletion) == ("owner", "u1", True)
    assert is_controlled_by(child, OWNER)
    assert without_owners(metadata, ["u1"]) == (PLAIN,)


def test_plain_owner_is_no_controller() -> None:
    child = ConfigMap(metadata=ObjectMeta(name="a", owner_references=(PLAIN,)))
    assert controller_of(child) is None
    assert not is_controlled_by(child, ConfigMap(metadata=ObjectMeta(name="other", uid="u2")))


@pytest.mark.parametrize(
    ("api_version", "kind", "plural"),
    [
        ("apps/v1", "Deployment", "deployments"),
        ("apps/v1beta1", "Deployment", "deployments"),
        ("v1", "Node", "nodes"),
        ("v1", "Deployment", None),
        ("example.com/v1", "Thing", None),
    ],
)
def test_resource_of_reference_is_found_in_any_version(
    api_version: str, kind: str, plural: str | None
) -> None:
    ref = OwnerReference(api_version=api_version, kind=kind, name="x")
    found = resource_named(ref)
    assert (found.plural if found else None) == plural
    if found is not None:
        assert is_kind_of(ref, found)


@pytest.mark.parametrize(("kind", "namespace"), [("ConfigMap", "default"), ("Node", "")])
def test_owner_is_in_namespace_of_dependent_or_in_none(kind: str, namespace: str) -> None:
    resource = by_kind("", "v1", kind)
    assert resource is not None
    ref = OwnerReference(api_version="v1", kind=kind, name="x")
    assert owner_key(ref, ObjectMeta(name="a", namespace="default"), resource) == Key(namespace, "x")
