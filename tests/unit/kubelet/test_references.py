"""Reads of ConfigMaps and Secrets that pods refer to."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.failures import MissingReference
from podling.kubelet.references import References
from podling.testing import ControlPlane


async def test_present_config_map_is_returned(cluster: ControlPlane) -> None:
    await cluster.client.create(
        ConfigMap(metadata=ObjectMeta(name="one", namespace="default"), data={"a": "b"})
    )
    found = await References(cluster.client).config_map("default", "one")
    assert found is not None
    assert found.data == {"a": "b"}


async def test_absent_objects_are_errors_unless_optional(cluster: ControlPlane) -> None:
    references = References(cluster.client)
    assert await references.config_map("default", "none", optional=True) is None
    assert await references.secret("default", "none", optional=True) is None
    with pytest.raises(MissingReference, match=r'^configmap "none" not found$'):
        await references.config_map("default", "none")
    with pytest.raises(MissingReference, match=r'^secret "none" not found$'):
        await references.secret("default", "none")
