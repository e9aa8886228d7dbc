"""Rules of every stored resource: an empty object raises no exception, and rows fit the columns."""

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
def test_empty_object_of_every_kind_passes_through_rules(resource: Resource) -> None:
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
def test_update_of_spec_keeps_the_status(resource: Resource) -> None:
    rules = rules_for(resource)
    assert rules.status_subresource == ("status" in resource.subresources)
