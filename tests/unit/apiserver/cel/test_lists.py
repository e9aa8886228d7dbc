"""Functions of lists, sets and optionals."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
size('äö') == 2 && size(b'ab') == 2 && size([1]) == 1 && size({'a': 1}) == 1
'äö'.size() == 2 && b'ab'.size() == 2 && l.size() == 3 && {}.size() == 0
[1, 2, 3].isSorted() && ['a', 'b', 'b', 'c'].isSorted() && ![2.0, 1.0].isSorted() && [1].isSorted()
[false, true].isSorted() && [b'a', b'b'].isSorted() && [duration('1s'), duration('2s')].isSorted()
[1, 3].sum() == 4 && [1.0, 3.0].sum() == 4.0 && [1u].sum() == 1u
[duration('1m'), duration('1s')].sum() == duration('61s')
[].sum() == 0 && l.filter(x, x > 9).sum() == 0
[1, 3].min() == 1 && [1, 3].max() == 3 && ['a', 'b'].max() == 'b'
[timestamp(0), timestamp(1)].min() == timestamp(0)
[1, 2, 2, 3].indexOf(2) == 1 && ['a', 'b', 'b', 'c'].lastIndexOf('b') == 2 && [1.0].indexOf(1.1) == -1
[1, 2, 3, 4].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3]
[dyn(1), [dyn(2), [3]]].flatten(2) == [1, 2, 3]
[1, 2, 2, 1].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]
l.sort() == [1, 2, 3]
['b', 'a'].sort() == ['a', 'b'] && [{'n': 2}, {'n': 1}].sortBy(e, e.n) == [{'n': 1}, {'n': 2}]
sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [2]) && sets.contains([], [])
sets.equivalent([1, 1], [1]) && sets.equivalent([dyn(1)], [dyn(1u), dyn(1.0)])
sets.intersects([1, 2], [2]) && !sets.intersects([1], [])
optional.of(1).hasValue() && !optional.none().hasValue() && !optional.ofNonZeroValue('').hasValue()
optional.ofNonZeroValue(1).value() == 1 && optional.none().orValue(2) == 2 && optional.of(1).orValue(2) == 1
optional.none().or(optional.of(3)).value() == 3 && optional.of(1).or(optional.of(3)).value() == 1
!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()
optional.of(1).optMap(x, x + 1) == optional.of(2)
optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2
optional.unwrap([optional.of(1), optional.none()]) == [1]
[optional.of(1), optional.none()].unwrapOpt() == [1]
[1, 2].first() == optional.of(1) && [1, 2].last().value() == 2 && !l.filter(x, false).first().hasValue()
[?optional.of(1), 2, ?optional.none()] == [1, 2] && {?'a': optional.none(), 'b': 1} == {'b': 1}
{'a': {'b': 1}}.?a.?b.orValue(0) == 1 && !{'a': 1}.?b.hasValue() && [1][?3].orValue(9) == 9
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_function_of_lists_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("l.filter(x, x > 9).min() == 1", "min called on empty list"),
        ("l.filter(x, x > 9).max() == 1", "max called on empty list"),
        ("l.slice(0, 4) == l", "cannot slice(0, 4), list is length 3"),
        ("l.slice(2, 1) == l", "cannot slice(2, 1), start index must be less than or equal to end index"),
        ("l.slice(-1, 1) == l", "cannot slice(-1, 1), negative indexes not supported"),
        ("optional.none().value() == 1", "optional.none() dereference"),
    ],
)
def test_failed_function_of_lists_has_a_message(text: str, why: str) -> None:
    assert failure(text) == why
