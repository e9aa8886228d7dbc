"""Selectors of many conditions decide as the conditions do one by one, without looking at all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api import meta_v1
from podling.machinery.requirements import Operator, Requirement
from podling.machinery.selector_index import FEW, FieldIndex, LabelIndex, label_index
from podling.machinery.selectors import (
    FieldTerm,
    from_label_selector,
    parse_field_selector,
    parse_label_selector,
)

VALUES = st.sampled_from(["", "a", "b", "3", "4", "5", "-1", "99999999999999999999"])
KEYS = st.sampled_from(["k", "l", "m"])
LABELS = st.dictionaries(KEYS, VALUES)
NUMBERS = (Operator.GREATER_THAN, Operator.LESS_THAN)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(list(Operator)))
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return Requirement(draw(KEYS), operator)
    if operator in NUMBERS:
        return Requirement(draw(KEYS), operator, (draw(st.sampled_from(["3", "4", "x"])),))
    many = operator in (Operator.IN, Operator.NOT_IN)
    return Requirement(
        draw(KEYS), operator, tuple(draw(st.lists(VALUES, min_size=1, max_size=3 if many else 1)))
    )


@given(st.lists(requirements(), max_size=5), LABELS)
def test_label_index_decides_as_its_requirements(found: list[Requirement], labels: Mapping[str, str]) -> None:
    assert LabelIndex(found).matches(labels) == all(each.matches(labels) for each in found)


@given(st.lists(st.tuples(KEYS, VALUES, st.booleans()), max_size=5), LABELS)
def test_field_index_decides_as_its_terms(
    found: list[tuple[str, str, bool]], values: Mapping[str, str]
) -> None:
    terms = [FieldTerm(*each) for each in found]
    wanted = all((values.get(term.field, "") == term.value) == term.equal for term in terms)
    assert FieldIndex(found).matches(values) == wanted


class Counted(dict[str, str]):
    """Labels that count how often they are looked at."""

    looks = 0

    def __contains__(self, key: object) -> bool:
        self.looks += 1
        return super().__contains__(key)

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        self.looks += 1
        return super().get(key, default)

    def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override]
        self.looks += len(self)
        return iter(super().items())


@pytest.mark.parametrize(
    "text",
    [
        ",".join(f"!gone{number}" for number in range(5000)),
        ",".join(f"app!=x{number}" for number in range(5000)),
        f"app in ({','.join(f'x{number}' for number in range(5000))},web)",
        ",".join(f"needed{number}" for number in range(5000)),
    ],
    ids=["absent", "unequal", "in", "present"],
)
def test_cost_does_not_grow_with_the_selector(text: str) -> None:
    labels = Counted(app="web", tier="front")
    assert parse_label_selector(text).matches(labels) == ("needed" not in text)
    assert labels.looks <= 2 * len(labels)


def test_cost_of_fields_does_not_grow_with_the_selector() -> None:
    selector = parse_field_selector(",".join(f"metadata.name!=x{number}" for number in range(5000)))
    values = Counted({"metadata.name": "web"})
    assert selector.matches(values)
    assert values.looks <= 2
    assert not selector.matches({"metadata.name": "x3"})


def test_few_requirements_need_no_index() -> None:
    few = tuple(Requirement(f"k{number}", Operator.EXISTS) for number in range(FEW))
    assert label_index(few) is None
    assert label_index((*few, few[0])) is not None
    assert label_index((Requirement("k", Operator.IN, tuple(map(str, range(FEW + 1)))),)) is not None


def test_selector_of_a_spec_with_many_labels_is_indexed() -> None:
    wanted = {f"k{number}": "v" for number in range(FEW + 1)}
    selector = from_label_selector(meta_v1.LabelSelector(match_labels=wanted))
    assert selector.matches(wanted)
    assert not selector.matches({**wanted, "k0": "x"})
    assert str(selector) == ",".join(f"{key}=v" for key in sorted(wanted))
