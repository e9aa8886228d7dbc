"""Counts of a group of pods per row of the cache."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.api import meta_v1
from podling.machinery.selectors import LabelSelector, from_label_selector
from podling.scheduler.podgroups import PodGroup, PodGroups, counts_per_row
from tests.unit.scheduler.scheduling import facts


@given(counts=st.dictionaries(st.integers(0, 99), st.integers(1, 5), max_size=60))
def test_pods_of_a_kind_are_counted_per_row_few_or_many(counts: dict[int, int]) -> None:
    one = PodGroup(facts(labels={"app": "web"}))
    one.rows.update(counts)
    other = PodGroup(facts(labels={"app": "db"}))
    other.rows[3] = 7
    total = counts_per_row([one, other], 100)
    assert total.tolist() == [counts.get(row, 0) + 7 * (row == 3) for row in range(100)]


label_values = st.dictionaries(st.sampled_from("abc"), st.sampled_from(("1", "2", "3")), max_size=3)
selectors = st.builds(
    lambda equal, expressions: from_label_selector(
        meta_v1.LabelSelector(match_labels=equal, match_expressions=tuple(expressions))
    ),
    label_values,
    st.lists(
        st.sampled_from(
            (
                meta_v1.LabelSelectorRequirement(key="a", operator="In", values=("1", "2")),
                meta_v1.LabelSelectorRequirement(key="b", operator="DoesNotExist"),
                meta_v1.LabelSelectorRequirement(key="c", operator="NotIn", values=("3",)),
            )
        ),
        max_size=2,
    ),
)


@given(pods=st.lists(st.tuples(label_values, st.booleans()), max_size=20), selector=selectors)
def test_selected_groups_are_those_whose_labels_match(
    pods: list[tuple[dict[str, str], bool]], selector: LabelSelector
) -> None:
    groups = PodGroups()
    for labels, _ in pods:
        groups.add(facts(labels=labels), 0)
    for labels, leaves in pods:
        if leaves:
            groups.remove(facts(labels=labels), 0)
    stay = [labels for labels, leaves in pods if not leaves]
    found = groups.selected("default", selector)
    assert sum(group.rows[0] for group in found) == sum(map(selector.matches, stay))
    assert all(selector.matches(group.labels) for group in found)
    assert groups.selected("other", selector) == []
