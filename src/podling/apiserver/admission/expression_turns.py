"""The evaluation of expressions of admission: briefly on the event loop, else in a thread.

Most expressions take microseconds. One may take half a second, for which no other request may wait, so the
event loop evaluates with a small budget only. An expression that needs more is evaluated again, from its
start, in the thread for long computations. The authorizer of expressions reads state of the loop;
calls from the thread run there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from podling import turns
from podling.api.admissionregistration_v1 import MatchCondition
from podling.apiserver.admission.webhook_matching import Find, conditions_hold

T = TypeVar("T")

NewBudget = Callable[[], list[int]]
"""Returns a new budget of costs for expressions that are paid for together."""


async def evaluated_in_turn(work: Callable[[NewBudget], T]) -> T:
    """Return what ``work`` returns. It may be called twice, so it must change nothing.

    ``work`` evaluates with the budgets that it is given, and lets ``OverBudget`` of a ``TrialBudget`` pass.
    """
    from podling.apiserver.cel.programs import PER_OBJECT, PER_TRIAL, OverBudget, TrialBudget

    try:
        return work(lambda: TrialBudget([PER_TRIAL]))
    except OverBudget:
        return await turns.in_thread(work, lambda: [PER_OBJECT])


async def all_hold(conditions: Sequence[MatchCondition], find: Find, values: Mapping[str, Any]) -> bool:
    """Return whether all conditions hold, as ``conditions_hold`` does. Raises ``ConditionFailed``."""
    if not conditions:
        return True
    return await evaluated_in_turn(lambda new_budget: conditions_hold(conditions, find, values, new_budget()))
