"""The parts of objects that the informers of controllers keep."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap, Pod, PodSpec, Secret
from podling.api.meta_v1 import ManagedFieldsEntry, ObjectMeta
from podling.client.base import Key
from podling.controllers.auth.root_ca import CONFIG_MAP, RootCAController
from podling.controllers.informer_contents import kept_of
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.tokens.legacy_tokens import SECRET_TYPE
from podling.testing import ControlPlane
from tests.support.control_loops import running

META = ObjectMeta(name="a", namespace="default", uid="u", resource_version="7", annotations={"x": "y"})
ROOT_CA = ObjectMeta(name=CONFIG_MAP, namespace="default")
INFORMATION = ObjectMeta(name="cluster-info", namespace="kube-public")
MANAGED = ObjectMeta(name="a", managed_fields=(ManagedFieldsEntry(manager="kubectl"),))


@pytest.mark.parametrize(
    ("obj", "kept"),
    [
        (ConfigMap(metadata=META, data={"a": "1"}, binary_data={"b": "MQ=="}), ConfigMap(metadata=META)),
        (ConfigMap(metadata=ROOT_CA, data={"a": "1"}), ConfigMap(metadata=ROOT_CA, data={"a": "1"})),
        (Secret(metadata=META, data={"a": "MQ=="}, type="Opaque"), Secret(metadata=META, type="Opaque")),
        (
            Secret(metadata=META, data={"a": "MQ=="}, type=SECRET_TYPE),
            Secret(metadata=META, data={"a": "MQ=="}, type=SECRET_TYPE),
        ),
        (ConfigMap(metadata=INFORMATION, data={"a": "1"}), ConfigMap(metadata=INFORMATION, data={"a": "1"})),
        (
            Secret(metadata=META, data={"a": "MQ=="}, type="bootstrap.kubernetes.io/token"),
            Secret(metadata=META, data={"a": "MQ=="}, type="bootstrap.kubernetes.io/token"),
        ),
        (CustomObject(metadata=META, content={"spec": {"a": 1}}), CustomObject(metadata=META)),
        (
            Pod(metadata=MANAGED, spec=PodSpec(node_name="n")),
            Pod(metadata=ObjectMeta(name="a"), spec=PodSpec(node_name="n")),
        ),
    ],
)
def test_informers_drop_contents_that_controllers_do_not_read(obj: Any, kept: Any) -> None:
    assert kept_of(obj) == kept


async def test_controller_keeps_the_record_of_managers_that_its_informer_dropped(
    cluster: ControlPlane,
) -> None:
    async with running(cluster.client, lambda context: RootCAController(context, "CERTIFICATE")) as manager:
        await cluster.advance(seconds=1)
        patch = {"data": {"ca.crt": "FORGED", "mine": "1"}}
        managed = {"metadata": {"managedFields": [{
            "manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:mine": {}}},
        }]}}  # fmt: skip
        await cluster.client.patch(ConfigMap, CONFIG_MAP, {**patch, **managed}, "default")
        changed = await cluster.client.get(ConfigMap, CONFIG_MAP, "default")
        assert changed.metadata.managed_fields
        await cluster.advance(seconds=1)
        restored = await cluster.client.get(ConfigMap, CONFIG_MAP, "default")
        held = manager.informers.informer(ConfigMap).get(Key("default", CONFIG_MAP))
    assert restored.data == {"ca.crt": "CERTIFICATE"}
    assert restored.metadata.managed_fields, "an update without a record keeps the stored one"
    assert held is not None
    assert held.metadata.managed_fields == ()
