"""The decision about a pod with extenders. The nodes may change while it waits for them.

The steps are those of ``decide.decide``. Rows are kept as names while an extender works, because a row may be
given to another node meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.decide import (
    Case,
    Choose,
    Diagnosis,
    Nominated,
    Placement,
    best_of,
    narrowed,
    on_nominated_node,
    respected_nominations,
    search,
)
from podling.scheduler.extenders.chain import Extenders
from podling.scheduler.extenders.http_extender import ExtenderFailed
from podling.scheduler.labelcolumns import Rows


async def decide_with_extenders(
    case: Case, nominated: Iterable[Nominated], choose: Choose, extenders: Extenders, start: int = 0
) -> Placement | Diagnosis:
    """Return the best node for the pod, or why there is none.

    Raises ``PluginFailed`` and ``ExtenderFailed``.
    """
    pod, cache = case.pod, case.cache
    diagnosis = Diagnosis(len(cache.rows))
    if not diagnosis.total:
        return diagnosis
    candidates = narrowed(case, diagnosis)
    if diagnosis.hopeless:
        return diagnosis
    respected = respected_nominations(pod, nominated)
    there = _names(on_nominated_node(case, candidates, respected, diagnosis), cache)
    try:
        left = await extenders.filter(pod, there, Diagnosis(diagnosis.total))
    except ExtenderFailed as failed:
        diagnosis.failure, left = str(failed), []
    if len(_rows(left, cache)):
        return Placement(left[0])
    rows = search(case, candidates, respected, diagnosis, start)
    left = await extenders.filter(pod, _names(rows, cache), diagnosis)
    if not left:
        # Preemption may help on nodes that an extender rejects only because of their pods.
        diagnosis.resolvable_parts.append(_rows(sorted(diagnosis.resolvable_names), cache))
        return diagnosis
    more = await extenders.prioritize(pod, left) if len(left) > 1 else {}
    rows = _rows(left, cache)
    if not len(rows):
        # All of these nodes were deleted meanwhile: others may be there.
        return await decide_with_extenders(case, (), choose, extenders, start)
    added = np.array([more.get(name, 0) for name in _names(rows, cache)], np.int64)
    return best_of(case, rows, choose, diagnosis, added)


def _names(rows: Rows, cache: Cache) -> list[str]:
    return [cache.name_of(row) for row in rows.tolist()]


def _rows(names: Iterable[str], cache: Cache) -> Rows:
    """Return the rows of those nodes that are still there."""
    found = (cache.row_of(name) for name in names)
    return np.array([row for row in found if row is not None], np.intp)
