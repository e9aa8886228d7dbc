"""Tests of the FlowSchemas and priority levels that every cluster has."""

from __future__ import annotations

from typing import Any

from podling.apiserver.kinds.flowcontrol.defaults import flow_schemas, priority_levels
from tests.support.manifests import created, creation_causes


def test_default_objects_are_valid() -> None:
    objects: list[Any] = [*priority_levels(), *flow_schemas()]
    for each in objects:
        assert creation_causes(created(each)) == [], each.metadata.name


def test_default_schemas_refer_to_default_levels_in_order() -> None:
    levels = {each.metadata.name for each in priority_levels()}
    schemas = list(flow_schemas())
    assert {each.spec.priority_level_configuration.name for each in schemas} == levels
    precedences = [each.spec.matching_precedence for each in schemas]
    assert precedences == sorted(precedences)
    assert (schemas[0].metadata.name, schemas[-1].metadata.name) == ("exempt", "catch-all")
