"""Limits and requests in proportion to one another. Pure.

CPU is calculated in thousandths and memory in bytes, both rounded down.
Upstream: ``utils/vpa/limit_and_request_scaling.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.machinery.quantity import NANO, Quantity
from podling_vpa.amounts import Resources, is_positive
from podling_vpa.names import CPU, RESOURCES

INT64_MAX = 2**63 - 1
MILLI = NANO // 1000
CAPPED = "failed to keep limit to request ratio; capping limit to int64"


def scale(
    resource: str, scaled: Quantity, base: Quantity, result: Quantity, *, up: bool = False
) -> tuple[Quantity, bool]:
    """Return ``scaled * result / base``, and whether it is cut to the largest int64.

    Args:
        up: round CPU up.
    """
    if not base:
        return scaled, False
    unit = MILLI if resource == CPU else NANO
    product = (_whole(scaled, resource)) * _whole(result, resource)
    whole, rest = divmod(product, _whole(base, resource))
    if whole > INT64_MAX:
        return Quantity(INT64_MAX * unit, scaled.format), True
    if rest and up and resource == CPU:
        whole += 1
    return Quantity(whole * unit, scaled.format), False


def _whole(amount: Quantity, resource: str) -> int:
    return amount.milli_value if resource == CPU else amount.value


def proportional_limit(
    resource: str,
    limit: Quantity | None,
    request: Quantity | None,
    recommended: Quantity | None,
    default: Quantity | None,
) -> tuple[Quantity | None, str]:
    """Return the limit that keeps its proportion to the request, and a note for people.

    Args:
        default: the limit of a LimitRange, for containers without one.
    """
    original = limit if is_positive(limit) else default
    if original is None or not original:
        return None, f"{resource}: limit NOT set since originalLimit is nil or 0"
    if recommended is None or not recommended:
        return None, f"{resource}: limit NOT set since recommendedRequest is nil or 0"
    if request is None or not request or request.milli_value == original.milli_value:
        return recommended, ""
    found, is_capped = scale(resource, original, request, recommended)
    return found, f"{resource}: {CAPPED}" if is_capped else ""


def proportional_limits(
    limits: Resources, requests: Resources, recommended: Resources, default: Resources
) -> tuple[dict[str, Quantity], Sequence[str]]:
    """Return the limits of CPU and memory, and notes; without any limit no notes either."""
    found: dict[str, Quantity] = {}
    notes = []
    for name in RESOURCES:
        each = (limits.get(name), requests.get(name), recommended.get(name), default.get(name))
        limit, note = proportional_limit(name, *each)
        if limit is not None:
            found[name] = limit
        if note:
            notes.append(note)
    return found, notes if found else ()


def boundary_request(
    resource: str,
    request: Quantity | None,
    limit: Quantity | None,
    boundary: Quantity,
    default: Quantity | None,
) -> Quantity:
    """Return the request whose proportional limit is ``boundary``; zero if there is no limit."""
    original = limit if is_positive(limit) else default
    if original is None or not original:
        return Quantity(0)
    if request is None or not request:
        return boundary
    return scale(resource, request, original, boundary)[0]
