"""Transforms of informers."""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ManagedFieldsEntry, ObjectMeta
from podling.client.transforms import without_managed_fields


def test_managed_fields_are_dropped_and_nothing_else() -> None:
    metadata = ObjectMeta(name="a", namespace="default", uid="u", resource_version="7", labels={"x": "y"})
    plain = ConfigMap(metadata=metadata, data={"a": "1"})
    assert without_managed_fields(plain) is plain
    managed = ObjectMeta(
        name="a", namespace="default", uid="u", resource_version="7", labels={"x": "y"},
        managed_fields=(ManagedFieldsEntry(manager="kubectl"),),
    )  # fmt: skip
    assert without_managed_fields(ConfigMap(metadata=managed, data={"a": "1"})) == plain
