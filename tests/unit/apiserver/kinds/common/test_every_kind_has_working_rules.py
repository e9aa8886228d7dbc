"""Every resource that is stored: its rules take an empty object without falling over, and its table fits."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.registry import rules_for
from podling.machinery.encoding import codec
from podling.machinery.scheme import RESOURCES, Resource
from tests.support.manifests import NOW

STORED = [each for each in RESOURCES if each.stored]
CONTEXT = Context(NOW)


@pytest.mark.parametrize("resource", STORED, ids=lambda each: f"{each.group_resource}-{each.version}")
def test_an_empty_object_passes_through(resource: Resource) -> None:
    rules = rules_for(resource)
    kind = resource.storage_resource.type
    empty = structs.replace(kind(), metadata=ObjectMeta(name="x", namespace="default"))
    made = rules.prepare_create(rules.default(empty), CONTEXT)
    assert rules.default(made) == made, "defaulting what was defaulted changes nothing"
    rules.validate(made, CONTEXT)
    rules.validate_update(rules.prepare_update(made, made, CONTEXT), made, CONTEXT)
    rules.warnings(made, None, CONTEXT)
    assert rules.selectable_fields(made).keys() == set(rules.field_labels)
    assert len(rules.row(made, NOW)) == len(rules.columns)
    assert codec.decode(codec.encode(made), kind) == made


@pytest.mark.parametrize("resource", STORED, ids=lambda each: f"{each.group_resource}-{each.version}")
def test_kinds_with_a_status_keep_it_from_writers_of_the_spec(resource: Resource) -> None:
    rules = rules_for(resource)
    assert rules.status_subresource == ("status" in resource.subresources)
