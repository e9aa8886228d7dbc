"""Tests of the rules of PriorityLevelConfigurations."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import created, creation_causes, obj


def queuing(text: str) -> str:
    return f"spec: {{limited: {{limitResponse: {{queuing: {{{text}}}}}}}}}"


LIMITED = "spec.limited"
HAND = f"{LIMITED}.limitResponse.queuing.handSize"
INVALID: list[KindRow] = [
    (PriorityLevelConfiguration, "", []),
    (
        PriorityLevelConfiguration,
        "spec: {type: Exempt, limited: null}",
        [invalid("spec.type", '"Exempt"', "type must be 'Exempt' if and only if name is 'exempt'")],
    ),
    (
        PriorityLevelConfiguration,
        "metadata: {name: exempt}\nspec: {type: Exempt, limited: null, exempt: {lendablePercent: 101}}",
        [invalid("spec.exempt.lendablePercent", "101", "must be between 0 and 100, inclusive")],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: null, exempt: {}}",
        [
            forbidden("spec.exempt", "must be nil if the type is Limited"),
            required(LIMITED, "must not be empty when type is Limited"),
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1}}",
        [
            invalid(f"{LIMITED}.nominalConcurrencyShares", "-1", "must be a non-negative integer"),
            invalid(f"{LIMITED}.lendablePercent", "101", "must be between 0 and 100, inclusive"),
            invalid(f"{LIMITED}.borrowingLimitPercent", "-1", "if specified, must be a non-negative integer"),
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {limitResponse: {type: Reject}}}",
        [
            forbidden(
                f"{LIMITED}.limitResponse.queuing",
                "must be nil if limited.limitResponse.type is not Limited",
            )
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {limitResponse: {type: Drop}}}",
        [unsupported(f"{LIMITED}.limitResponse.type", "Drop", "Queue", "Reject")],
    ),
    (
        PriorityLevelConfiguration,
        queuing("queues: 4"),
        [invalid(HAND, "8", "should not be greater than queues (4)")],
    ),
    (
        PriorityLevelConfiguration,
        queuing("queues: 10000000"),
        [
            invalid(
                HAND,
                "8",
                "required entropy bits of deckSize 10000000 and handSize 8 should not be greater than 60",
            )
        ],
    ),
]
VALID: dict[type[Any], dict[str, Any]] = {
    FlowSchema: {
        "metadata": {"name": "x"},
        "spec": {"priorityLevelConfiguration": {"name": "workload-low"}},
    },
    PriorityLevelConfiguration: {
        "metadata": {"name": "x"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
    },
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_priority_level_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_flow_control_defaults_are_filled_in() -> None:
    schema = created(obj(FlowSchema, "", VALID[FlowSchema]))
    assert schema.spec.matching_precedence == 1000
    level = created(obj(PriorityLevelConfiguration, "", VALID[PriorityLevelConfiguration]))
    assert codec.to_plain(level.spec.limited) == {
        "lendablePercent": 0,
        "limitResponse": {"queuing": {"handSize": 8, "queueLengthLimit": 50, "queues": 64}, "type": "Queue"},
        "nominalConcurrencyShares": 30,
    }
