"""Division of the server's seats among priority levels: nominal limits, and borrowing. Pure.

Source: ``apiserver/pkg/util/flowcontrol/conc_alloc.go``, ``apf_controller.go`` (``updateBorrowingLocked``,
``finishQueueSetReconfigsLocked``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from podling.api.flowcontrol_v1 import PriorityLevelConfigurationSpec
from podling.apiserver.flowcontrol.seat_demand import SeatDemand

TARGET_MIN = 0.001
"""A smaller target counts as this one: targets are divided by."""
EPSILON = 0.0000001
MAX_SEATS_SHARE = 0.15
"""Share of a level's nominal seats that one request may take for the events it causes."""


class Limits(Struct, frozen=True):
    """The configured seats of a priority level: ``lower`` without all that it lends, ``upper`` with all that
    it borrows."""

    nominal: int
    lower: int
    upper: int
    max_seats: int = 0
    """The most seats of one request, as upstream limits them; 0 means no limit of the level's own."""


class LevelDemand(Struct, frozen=True):
    """A priority level, as borrowing sees it."""

    limits: Limits
    demand: SeatDemand
    current: int
    exempt: bool = False


class Adjusted(Struct, frozen=True):
    """The current limit of a level for the next period, and the target of its allocation."""

    current: int
    target: float


class Item(Struct, frozen=True):
    """A class among which seats are divided."""

    target: float
    lower: float
    upper: float


def shares_of(spec: PriorityLevelConfigurationSpec) -> int:
    """Return the nominal concurrency shares of a level."""
    if spec.limited is not None:
        return spec.limited.nominal_concurrency_shares or 0
    return (spec.exempt.nominal_concurrency_shares or 0) if spec.exempt is not None else 0


def limits_of(spec: PriorityLevelConfigurationSpec, share_sum: float, server_limit: int) -> Limits:
    """Return the seats of a level with this ``spec``, of ``server_limit`` seats in all."""
    nominal = math.ceil(server_limit * shares_of(spec) / share_sum) if share_sum else 0
    limited, exempt = spec.limited, spec.exempt
    if limited is None:
        lendable = (exempt.lendable_percent or 0) if exempt is not None else 0
        return Limits(nominal, nominal - _percent(nominal, lendable), nominal + server_limit)
    borrows = limited.borrowing_limit_percent
    upper = nominal + (server_limit if borrows is None else _percent(nominal, borrows))
    lower = nominal - _percent(nominal, limited.lendable_percent or 0)
    queuing, most = limited.limit_response.queuing, 0
    if queuing is not None:
        by_hand = nominal // (queuing.hand_size or 1)
        most = max(1, min(math.ceil(nominal * MAX_SEATS_SHARE), by_hand))
    return Limits(nominal, lower, upper, most)


def _percent(seats: int, percent: int) -> int:
    return _rounded(seats * percent / 100)


def _rounded(value: float) -> int:
    """Round half away from zero, as Go does; ``value`` is not negative."""
    return math.floor(value + 0.5)


def adjust(levels: Sequence[LevelDemand], nominal_sum: int) -> tuple[list[Adjusted], float]:
    """Return the current limit of each level, and the fair fraction of the allocation.

    An exempt level takes what it demands; the others divide what is left by their smoothed demand, between
    what they demanded at most (up to the nominal limit) and what they may borrow.
    """
    left = nominal_sum - sum(_least(each) for each in levels if each.exempt)
    limited = [each for each in levels if not each.exempt]
    lower_sum = sum(each.limits.lower for each in limited)
    least_sum = sum(map(_least, limited))
    items = {
        index: Item(max(_least(each), each.demand.smoothed), _least(each), each.limits.upper)
        for index, each in enumerate(levels)
        if not each.exempt
    }
    share = fraction = 0.0
    found: list[float] = [each.current for each in limited]
    if left > lower_sum and left <= least_sum:
        share = (left - lower_sum) / (least_sum - lower_sum)
    elif left > lower_sum:
        try:
            found, fraction = allocate(nominal_sum, list(items.values()))
        except ValueError:
            fraction = 0.0  # the limits stay as they are
    allocated = dict(zip(items, found, strict=True))
    adjusted = []
    for index, each in enumerate(levels):
        least, lower = _least(each), each.limits.lower
        if each.exempt:
            adjusted.append(Adjusted(least, least))
            continue
        if left <= lower_sum:
            current = lower
        elif left <= least_sum:
            current = lower + _rounded((least - lower) * share)
        else:
            current = _rounded(allocated[index])
        adjusted.append(Adjusted(current, items[index].target))
    return adjusted, fraction


def _least(level: LevelDemand) -> int:
    """Return the least limit that a level is to have for now."""
    most = level.demand.high_watermark
    return max(level.limits.lower, most if level.exempt else min(level.limits.nominal, most))


def allocate(required_sum: int, classes: Sequence[Item]) -> tuple[list[float], float]:
    """Divide ``required_sum`` among ``classes``; return the allocations and the fair proportion.

    Each class gets its target times the proportion, kept within its bounds. Raises ``ValueError`` if that is
    impossible.
    """
    _check_items(required_sum, classes)
    targets = [max(each.target, TARGET_MIN) for each in classes]
    if required_sum == 0:
        return [0.0] * len(classes), 0.0
    lowest = [each.lower / target for each, target in zip(classes, targets, strict=True)]
    highest = [each.upper / target for each, target in zip(classes, targets, strict=True)]
    if sum(each.lower for each in classes) - required_sum > -EPSILON:
        return [each.lower for each in classes], min(lowest)
    if required_sum - sum(each.upper for each in classes) > -EPSILON:
        return [each.upper for each in classes], max(highest)
    proportion = required_sum / sum(targets)
    if max(lowest) <= proportion <= min(highest):  # no bound matters
        return [target * proportion for target in targets], proportion
    proportion = _bound_proportion(required_sum, targets, lowest, highest)
    return [
        max(each.lower, min(each.upper, proportion * target))
        for each, target in zip(classes, targets, strict=True)
    ], proportion


def _check_items(required_sum: int, classes: Sequence[Item]) -> None:
    if required_sum < 0:
        raise ValueError("negative sums are not supported")
    for index, each in enumerate(classes):
        if each.lower < 0:
            raise ValueError(f"lower bound {index} is {each.lower} but negative lower bounds are not allowed")
        if each.target < each.lower:
            raise ValueError(
                f"target {index} is {each.target}, which is below its lower bound of {each.lower}"
            )
        if each.upper < each.lower:
            raise ValueError(
                f"upper bound {index} is {each.upper} but should not be less than the lower bound "
                f"{each.lower}"
            )
    low, high = sum(each.lower for each in classes), sum(each.upper for each in classes)
    if low - required_sum > EPSILON:
        raise ValueError(
            f"lower bounds sum to {low}, which is higher than the required sum of {required_sum}"
        )
    if required_sum - high > EPSILON:
        raise ValueError(
            f"upper bounds sum to {high}, which is lower than the required sum of {required_sum}"
        )


def _bound_proportion(
    required_sum: int, targets: Sequence[float], lowest: Sequence[float], highest: Sequence[float]
) -> float:
    """Return the proportion at which the allocations, some kept within their bounds, sum to what is required.

    The sum grows with the proportion, linearly between two bounds: by the targets of the classes that have
    left their lower bound and not reached the upper one.
    """
    changes = [(bound, target) for bound, target in zip(lowest, targets, strict=True)]
    changes += [(bound, -target) for bound, target in zip(highest, targets, strict=True)]
    changes.sort(key=lambda change: change[0])
    total = sum(bound * target for bound, target in zip(lowest, targets, strict=True))
    proportion, slope = changes[0][0], 0.0
    for bound, change in changes:
        risen = (bound - proportion) * slope
        if total + risen >= required_sum and slope > 0:
            break
        total, proportion, slope = total + risen, bound, slope + change
    return proportion + (required_sum - total) / slope
