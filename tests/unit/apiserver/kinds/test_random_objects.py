"""Random objects of every kind: rules default, validate and show them without an internal error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import structs

from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.registry import rules_for
from podling.machinery import errors
from podling.machinery.encoding import codec, intake
from podling.machinery.scheme import RESOURCES, Resource
from tests.support.choices import Choices
from tests.support.manifests import NOW
from tests.support.nonsense import blobs, mixed, nonsense

STORED = [each for each in RESOURCES if each.stored]
ROUNDS = 25


def make(resource: Resource, plain: dict[str, Any]) -> Any:
    kind = resource.storage_resource.type
    named = {**plain, "apiVersion": resource.storage_resource.group_version, "kind": resource.kind}
    thing, _ = intake.convert(named, kind)
    return structs.replace(thing, metadata=ObjectMeta(name="x", namespace="default"))


@pytest.mark.parametrize("resource", STORED, ids=lambda each: f"{each.group_resource}-{each.version}")
@settings(max_examples=ROUNDS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(blob=blobs)
def test_rules_survive_random_objects(resource: Resource, blob: bytes) -> None:
    rules, choices, kind = rules_for(resource), Choices(blob), resource.storage_resource.type
    share = choices.one_of((0.2, 0.5, 0.8))
    first, second = nonsense(choices, kind, share), nonsense(choices, kind, share)
    old = create(rules, make(resource, first))
    wanted = make(resource, mixed(choices, first, second))
    for subresource in ("", *resource.subresources):
        update(rules, structs.replace(wanted, metadata=old.metadata), old, subresource)


def create(rules: KindRules[Any], thing: Any) -> Any:
    context = Context(NOW)
    defaulted = rules.default(thing)
    assert rules.default(defaulted) == defaulted
    new = rules.prepare_create(defaulted, context)
    encode_errors(rules.validate(new, context))
    rules.warnings(new, None, context)
    show(rules, new)
    show(rules, thing)
    return new


def update(rules: KindRules[Any], wanted: Any, old: Any, subresource: str) -> None:
    context = Context(NOW, subresource=subresource)
    new = rules.prepare_update(rules.default(wanted), old, context)
    encode_errors(rules.validate_update(new, old, context))
    rules.warnings(new, old, context)
    show(rules, new)


def show(rules: KindRules[Any], thing: Any) -> None:
    assert rules.selectable_fields(thing).keys() == set(rules.field_labels)
    codec.encode(list(rules.row(thing, NOW)))
    rules.row_conditions(thing)
    codec.encode(thing)


def encode_errors(found: Any) -> None:
    """Encode the errors as a response."""
    codec.encode(errors.invalid("Kind", "group", "x", found).status)
