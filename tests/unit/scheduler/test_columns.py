"""Columns of amounts: sums are exact for any requests, and nothing overflows 64 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from podling.scheduler.columns import AMOUNT_MAX, MEMORY, ResourceColumns

amounts = st.one_of(st.integers(0, 2**40), st.integers(0, AMOUNT_MAX), st.just(AMOUNT_MAX))


@given(st.lists(amounts, max_size=60), st.integers(0, 2**63 - 1))
def test_pods_that_leave_give_back_what_they_took(requests: list[int], allocatable: int) -> None:
    columns = ResourceColumns(2)
    columns.set_allocatable(1, {"memory": allocatable, "example.com/x": allocatable})
    with np.errstate(all="raise"):
        for position, amount in enumerate(requests):
            columns.add(1, {"memory": amount, "example.com/x": amount}, (amount, amount), 1)
            taken = sum(requests[: position + 1])
            assert columns.requested[MEMORY, 1] == min(taken, AMOUNT_MAX)
            assert columns.scored[1, 1] == min(taken, AMOUNT_MAX)
        for amount in requests:
            columns.add(1, {"memory": amount, "example.com/x": amount}, (amount, amount), -1)
    assert not columns.requested.any()
    assert not columns.scored.any()
    assert columns.allocatable[MEMORY, 1] == min(allocatable, AMOUNT_MAX - 1)
