"""All LimitRanges of a namespace as one."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import LimitRange
from podling.machinery.encoding import codec
from podling.machinery.quantity import parse
from podling_vpa.limit_ranges import Limits, namespace_limits
from tests.support.vertical_autoscalers import amounts


def limit_range(**item: Any) -> LimitRange:
    return codec.from_plain({"spec": {"limits": [{"type": "Container", **item}]}}, LimitRange)


def test_narrowest_bounds_count_and_the_last_default() -> None:
    found = namespace_limits(
        [
            limit_range(max=amounts("4", "4G"), min=amounts("1"), default=amounts("2")),
            limit_range(max=amounts("3"), min=amounts("2", "1G"), default=amounts("1")),
            limit_range(type="Pod", max=amounts("9")),
        ]
    )
    assert found.containers == Limits(
        least={"cpu": parse("2"), "memory": parse("1G")},
        most={"cpu": parse("3"), "memory": parse("4G")},
        default={"cpu": parse("1")},
    )
    assert found.pods == Limits(most={"cpu": parse("9")})


def test_there_are_no_bounds_without_limit_ranges() -> None:
    assert namespace_limits([]).containers is None
    assert namespace_limits([limit_range(maxLimitRequestRatio=amounts("2"))]).containers is None
