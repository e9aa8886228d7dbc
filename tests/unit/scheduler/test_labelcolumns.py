"""Requirements over label columns agree with requirements over each row's labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.selectors import NOTHING, Operator, Requirement
from podling.scheduler.labelcolumns import LabelColumns

LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "30", "x"]))


def requirement(operator: Operator, key: str, first: str) -> Requirement:
    match operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            values: tuple[str, ...] = ()
        case Operator.IN | Operator.NOT_IN:
            values = (first, "x")
        case _:
            values = (first,)
    return Requirement(key, operator, values)


@given(
    before=st.lists(LABELS, min_size=4, max_size=4),
    after=st.lists(LABELS, min_size=4, max_size=4),
    operator=st.sampled_from(list(Operator)),
    key=st.sampled_from(["a", "b", "c"]),
    value=st.sampled_from(["1", "2", "9"]),
)
def test_columns_match_the_rows_that_a_requirement_matches(
    before: list[dict[str, str]],
    after: list[dict[str, str]],
    operator: Operator,
    key: str,
    value: str,
) -> None:
    columns = LabelColumns(2)
    columns.set(0, {}, before[0])
    columns.grow(4)
    for row in range(1, 4):
        columns.set(row, {}, before[row])
    for row in range(4):
        columns.set(row, before[row], after[row])
    wanted = requirement(operator, key, value)
    rows = np.arange(4, dtype=np.intp)
    assert columns.matches(wanted, rows).tolist() == [wanted.matches(labels) for labels in after]


def test_selector_that_matches_nothing_selects_no_row() -> None:
    assert not LabelColumns(3).selected(NOTHING, np.arange(3, dtype=np.intp)).any()
