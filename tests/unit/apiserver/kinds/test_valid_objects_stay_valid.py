"""One valid object of every kind, with many fields: it has no errors on creation or update."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.views import stored_form
from podling.apiserver.kinds.registry import rules_for
from podling.machinery.encoding import codec, intake
from podling.machinery.scheme import RESOURCES, Resource
from tests.support.causes import causes
from tests.support.manifests import NOW, valid_objects

CONTEXT = Context(NOW)
DOCUMENTS = valid_objects()
STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}


def resource_of(document: dict[str, Any]) -> Resource:
    return STORED[document["apiVersion"], document["kind"]]


def test_every_stored_kind_has_a_valid_object() -> None:
    assert sorted((each["apiVersion"], each["kind"]) for each in DOCUMENTS) == sorted(STORED)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_valid_object_stays_valid_after_defaulting(document: dict[str, Any]) -> None:
    resource = resource_of(document)
    rules = rules_for(resource)
    made, _ = intake.convert(document, resource.type, "Strict")
    stored = rules.prepare_create(rules.default(stored_form(resource, made)), CONTEXT)
    assert rules.name_errors(stored.metadata.name) == []
    assert causes(rules.validate(stored, CONTEXT)) == []
    assert rules.default(stored) == stored, "defaulting what was defaulted changes nothing"
    again = rules.prepare_update(stored, stored, CONTEXT)
    assert again == stored, "an update that changes nothing changes nothing"
    assert causes(rules.validate_update(again, stored, CONTEXT)) == []
    assert codec.decode(codec.encode(stored), type(stored)) == stored
