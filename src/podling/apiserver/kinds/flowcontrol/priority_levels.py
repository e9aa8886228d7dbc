"""PriorityLevelConfigurations: the concurrency limits and queues of requests.

Upstream: ``pkg/apis/flowcontrol/validation``, ``pkg/apis/flowcontrol/v1/defaults.go``.
"""

from __future__ import annotations

import math

from podling.api.flowcontrol_v1 import (
    LimitedPriorityLevelConfiguration,
    LimitResponse,
    PriorityLevelConfiguration,
    PriorityLevelConfigurationSpec,
    QueuingConfiguration,
)
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.flowcontrol.defaults import EXEMPT, MANDATORY, priority_levels
from podling.apiserver.kinds.flowcontrol.flow_schemas import status_condition_errors
from podling.machinery import fields
from podling.machinery.fields import Path

SPEC = Path("spec")
TYPES = ("Exempt", "Limited")
RESPONSES = ("Queue", "Reject")
DEFAULT_SHARES = 30
MOST_QUEUES = 10_000_000
HASH_BITS = 60
"""The number of hash bits for the queues of a flow."""

_NEGATIVE = "must be a non-negative integer"


class PriorityLevelRules(TableRules[PriorityLevelConfiguration]):
    status_subresource = True
    status_keeps_metadata = True
    generation = True

    def default(self, obj: PriorityLevelConfiguration) -> PriorityLevelConfiguration:
        spec = obj.spec
        if spec.exempt is not None:
            exempt = fill_absent(spec.exempt, nominal_concurrency_shares=0, lendable_percent=0)
            spec = change(spec, exempt=exempt)
        if spec.limited is not None:
            spec = change(spec, limited=_default_limited(spec.limited))
        return change(obj, spec=spec)

    def validate(self, obj: PriorityLevelConfiguration, context: Context) -> Errors:
        errors = _spec_errors(obj.metadata.name or "", obj.spec) + _mandatory_level_errors(obj)
        return errors + status_condition_errors(obj.status.conditions)

    def validate_update(
        self, new: PriorityLevelConfiguration, old: PriorityLevelConfiguration, context: Context
    ) -> Errors:
        if context.subresource == "status":
            return status_condition_errors(new.status.conditions)
        return self.validate(new, context)


def _mandatory_level_errors(obj: PriorityLevelConfiguration) -> Errors:
    """Return errors for changed mandatory levels; only lendable shares of the exempt one may change."""
    name, spec = obj.metadata.name or "", obj.spec
    fixed = {each.metadata.name: each.spec for each in priority_levels()}.get(name)
    if name not in MANDATORY or fixed is None:
        return []
    if name == EXEMPT:
        spec, but = change(spec, exempt=fixed.exempt), " except the 'spec.exempt' field"
    else:
        but = ""
    if spec == fixed:
        return []
    return [fields.invalid(SPEC, obj.spec, f"spec of '{name}'{but} must equal the fixed value")]


def _default_limited(limited: LimitedPriorityLevelConfiguration) -> LimitedPriorityLevelConfiguration:
    limited = fill_absent(limited, nominal_concurrency_shares=DEFAULT_SHARES, lendable_percent=0)
    response = limited.limit_response
    if response.queuing is None:
        return limited
    queuing = fill_empty(response.queuing, hand_size=8, queues=64, queue_length_limit=50)
    return change(limited, limit_response=change(response, queuing=queuing))


def _spec_errors(name: str, spec: PriorityLevelConfigurationSpec) -> Errors:
    errors: Errors = []
    where = SPEC.child("type")
    if (name == EXEMPT) != (spec.type == "Exempt"):
        text = "type must be 'Exempt' if and only if name is 'exempt'"
        errors.append(fields.invalid(where, spec.type, text))
    exempt, limited = SPEC.child("exempt"), SPEC.child("limited")
    if spec.type == "Exempt":
        if spec.limited is not None:
            errors.append(fields.forbidden(limited, "must be nil if the type is not Limited"))
        if spec.exempt is not None:
            errors += _share_errors(exempt, spec.exempt.nominal_concurrency_shares)
            errors += _lendable_errors(exempt, spec.exempt.lendable_percent)
    elif spec.type == "Limited":
        if spec.exempt is not None:
            errors.append(fields.forbidden(exempt, "must be nil if the type is Limited"))
        if spec.limited is None:
            errors.append(fields.required(limited, "must not be empty when type is Limited"))
        else:
            errors += _limited_errors(limited, spec.limited)
    else:
        errors.append(fields.not_supported(where, spec.type, TYPES))
    return errors


def _share_errors(path: Path, shares: int | None) -> Errors:
    negative = shares is not None and shares < 0
    return [fields.invalid(path.child("nominalConcurrencyShares"), shares, _NEGATIVE)] if negative else []


def _lendable_errors(path: Path, percent: int | None) -> Errors:
    if percent is None or 0 <= percent <= 100:
        return []
    return [fields.invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]


def _limited_errors(path: Path, limited: LimitedPriorityLevelConfiguration) -> Errors:
    errors = _share_errors(path, limited.nominal_concurrency_shares)
    response = limited.limit_response or LimitResponse()
    errors += _response_errors(path.child("limitResponse"), response)
    errors += _lendable_errors(path, limited.lendable_percent)
    borrowed = limited.borrowing_limit_percent
    if borrowed is not None and borrowed < 0:
        text = "if specified, must be a non-negative integer"
        errors.append(fields.invalid(path.child("borrowingLimitPercent"), borrowed, text))
    return errors


def _response_errors(path: Path, response: LimitResponse) -> Errors:
    where, queuing = path.child("queuing"), response.queuing
    if response.type == "Reject":
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [fields.forbidden(where, text)]
    if response.type == "Queue":
        text = "must not be empty if limited.limitResponse.type is Limited"
        return [fields.required(where, text)] if queuing is None else _queuing_errors(where, queuing)
    return [fields.not_supported(path.child("type"), response.type, RESPONSES)]


def _queuing_errors(path: Path, queuing: QueuingConfiguration) -> Errors:
    errors: Errors = []
    length, queues = queuing.queue_length_limit or 0, queuing.queues or 0
    if length <= 0:
        errors.append(fields.invalid(path.child("queueLengthLimit"), length, "must be positive"))
    if queues <= 0:
        errors.append(fields.invalid(path.child("queues"), queues, "must be positive"))
    elif queues > MOST_QUEUES:
        text = f"must not be greater than {MOST_QUEUES}"
        errors.append(fields.invalid(path.child("queues"), queues, text))
    problem = _hand_problem(queuing.hand_size or 0, queues)
    return errors + ([fields.invalid(path.child("handSize"), queuing.hand_size, problem)] if problem else [])


def _hand_problem(hand: int, deck: int) -> str:
    """Return an error if the hash has too few bits to choose ``hand`` of ``deck`` queues for a flow."""
    if hand <= 0:
        return "must be positive"
    if hand > deck:
        return f"should not be greater than queues ({deck})"
    if math.ceil(math.log2(deck) * hand) <= HASH_BITS:
        return ""
    return (
        f"required entropy bits of deckSize {deck} and handSize {hand} should not be greater than {HASH_BITS}"
    )
