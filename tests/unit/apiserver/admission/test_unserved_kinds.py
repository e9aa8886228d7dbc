"""Warnings for kinds that no controller acts on."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import Ingress
from podling.apiserver.admission.unserved_kinds import UNSERVED
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.scheme import RESOURCES, resource_of
from podling.testing import ControlPlane
from tests.support.manifests import obj

INGRESS = """
metadata: {name: web, namespace: default}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
"""


async def test_a_kind_without_a_controller_is_answered_with_a_warning(cluster: ControlPlane) -> None:
    options = WriteOptions()
    target = Target(resource_of(Ingress), "default")
    await cluster.backend.create(target, SYSTEM, obj(Ingress, INGRESS), options)
    assert options.warnings == [
        "ingresses.networking.k8s.io: not honoured by this cluster: nothing listens for it"
    ]


async def test_kind_with_a_controller_gets_no_warning(cluster: ControlPlane) -> None:
    options = WriteOptions()
    made = ConfigMap(metadata=ObjectMeta(name="x", namespace="default"))
    await cluster.backend.create(Target(resource_of(ConfigMap), "default"), SYSTEM, made, options)
    assert options.warnings == []


@pytest.mark.parametrize("row", sorted(UNSERVED))
def test_every_row_names_a_resource(row: tuple[str, str]) -> None:
    assert row in {(each.group, each.plural) for each in RESOURCES}
