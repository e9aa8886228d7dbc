"""Macros over lists and maps, and their values."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
[1, 2].all(i, v, i < v) && ['a'].exists(i, v, i == 0 && v == 'a')
{'a': 1, 'b': 2}.existsOne(k, v, k == 'a' && v == 1)
{'a': 1}.all(k, v, k == 'a' && v == 1) && [5, 6].transformList(i, v, i * v) == [0, 6]
[5, 6].transformList(i, v, v > 5, i) == [1] && {'a': 1}.transformList(k, v, k) == ['a']
{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}
['x', 'y'].transformMap(i, v, i > 0, v) == {1: 'y'}
{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}
[1, 2].transformMapEntry(i, v, v > 1, {v: i}) == {2: 1}
[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && {'a': 1}.map(k, k) == ['a'] && [1].exists_one(x, x == 1)
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_every_macro_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}", "insert failed: key 1 already exists"),
    ],
)
def test_failed_macro_has_a_message(text: str, why: str) -> None:
    assert failure(text) == why
