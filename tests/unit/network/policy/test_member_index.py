"""A pod is found in the sets of exactly those selections that select it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.selectors import EVERYTHING, from_label_selector
from podling.network.policy.member_index import MemberIndex
from podling.network.policy.values import Members, PolicyPod, Selection
from tests.support import random_policies as worlds

selectors = st.one_of(st.just(EVERYTHING), worlds.selectors.map(from_label_selector))
selections = st.one_of(
    st.builds(Selection, namespace=st.sampled_from(worlds.NAMESPACES), pods=selectors),
    st.builds(Selection, namespaces=selectors, pods=selectors),
)
members = st.builds(Members, selection=selections, port=st.sampled_from(["", "web"]))


@given(
    st.lists(members, max_size=8, unique=True),
    st.data(),
    worlds.pods("pod", st.just(("10.0.0.1",))),
    st.one_of(st.none(), worlds.labels),
)
def test_pod_is_found_by_exactly_the_selections_that_select_it(
    known: list[Members], data: st.DataObject, pod: PolicyPod, labels: Mapping[str, str] | None
) -> None:
    index = MemberIndex()
    for each in known:
        index.add(each)
    gone = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    for each in gone:
        index.remove(each)
    found = list(index.matching(pod, labels))
    expected = {
        each
        for each in known
        if each not in gone and each.selection.matches(pod.namespace, labels, pod.labels)
    }
    assert set(found) == expected
    assert len(found) == len(expected)
