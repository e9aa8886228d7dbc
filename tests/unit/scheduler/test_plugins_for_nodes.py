"""The plugins that look at the node: cordons, names, taints, selectors, images. Tables, one per plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import (
    Affinity,
    ContainerImage,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from podling.scheduler.framework import Hopeless
from podling.scheduler.plugins import image_locality, node_affinity, node_name, node_unschedulable
from podling.scheduler.plugins import taint_toleration as taints
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    container,
    facts,
    node,
    rejections,
    scores,
    taint,
    toleration,
    unresolvable,
)

CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "taken"),
    [
        ((), ["open"]),
        ((toleration(CORDON),), ["open", "cordoned"]),
        ((toleration(CORDON, effect="NoSchedule"),), ["open", "cordoned"]),
        ((toleration(CORDON, effect="NoExecute"),), ["open"]),
        ((toleration(),), ["open", "cordoned"]),
    ],
)
def test_cordoned_nodes_need_toleration(tolerations: tuple[Any, ...], taken: list[str]) -> None:
    cache = cache_of(node("open"), node("cordoned", unschedulable=True))
    one = facts(tolerations=tolerations)
    plugin = node_unschedulable.NodeUnschedulable()
    assert accepted(plugin, one, cache) == taken
    assert unresolvable(plugin, one, cache) == [name for name in ["cordoned"] if name not in taken]


@pytest.mark.parametrize(
    ("asked", "taken"), [("", ["a", "b"]), ("b", ["b"]), ("elsewhere", [])], ids=["any", "one", "unknown"]
)
def test_a_pod_that_names_its_node(asked: str, taken: list[str]) -> None:
    cache = cache_of(node("a"), node("b"))
    assert accepted(node_name.NodeName(), facts(node_name=asked or None), cache) == taken


class TestTaints:
    @pytest.mark.parametrize(
        ("tainted", "tolerations", "taken"),
        [
            (taint("k"), (), False),
            (taint("k", "NoExecute"), (), False),
            (taint("k", "PreferNoSchedule"), (), True),
            (taint("k"), (toleration("k"),), True),
            (taint("k"), (toleration("other"),), False),
            (taint("k"), (toleration(),), True),
            (taint("k", value="v"), (toleration("k", "Equal", value="v"),), True),
            (taint("k", value="v"), (toleration("k", "", value="v"),), True),
            (taint("k", value="v"), (toleration("k", "Equal", value="w"),), False),
            (taint("k"), (toleration("k", "Equal"),), True),
            (taint("k"), (toleration("k", effect="NoExecute"),), False),
            (taint("k"), (toleration("other"), toleration("k", effect="NoSchedule")), True),
        ],
    )
    def test_taints_and_tolerations_decide_nodes(
        self, tainted: Any, tolerations: tuple[Any, ...], taken: bool
    ) -> None:
        cache = cache_of(node("clean"), node("tainted", taints=[tainted]))
        found = accepted(taints.TaintToleration(), facts(tolerations=tolerations), cache)
        assert found == (["clean", "tainted"] if taken else ["clean"])

    def test_every_taint_must_be_tolerated(self) -> None:
        cache = cache_of(node("n", taints=[taint("a"), taint("b")]))
        one = facts(tolerations=(toleration("a"),))
        assert rejections(taints.TaintToleration(), one, cache) == {"n": ["node(s) had untolerated taint(s)"]}
        assert unresolvable(taints.TaintToleration(), one, cache) == ["n"]

    def test_the_fewer_disliked_taints_the_better(self) -> None:
        def disliked(*keys: str) -> list[Any]:
            return [taint(key, "PreferNoSchedule") for key in keys]

        cache = cache_of(
            node("none"),
            node("one", taints=disliked("a")),
            node("two", taints=disliked("a", "b")),
            node("tolerated", taints=disliked("t", "p")),
        )
        prefer = toleration("p", effect="PreferNoSchedule")
        one = facts(tolerations=(toleration("t"), prefer, toleration("a", effect="NoSchedule")))
        assert scores(taints.TaintToleration(), one, cache) == {
            "none": 100,
            "one": 50,
            "two": 0,
            "tolerated": 100,
        }

    def test_a_node_loses_its_taint(self) -> None:
        cache = cache_of(node("n", taints=[taint("k")]))
        cache.set_node(node("n"))
        assert accepted(taints.TaintToleration(), facts(), cache) == ["n"]


def requires(*terms: NodeSelectorTerm) -> Affinity:
    required = NodeSelector(node_selector_terms=terms)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


def labelled(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),)
    )


def named(operator: str, *values: str) -> NodeSelectorTerm:
    requirement = NodeSelectorRequirement(key="metadata.name", operator=operator, values=values)
    return NodeSelectorTerm(match_fields=(requirement,))


class TestNodeAffinity:
    nodes = (
        node("small", labels={"zone": "a", "cores": "2"}),
        node("big", labels={"zone": "b", "cores": "16"}),
        node("bare"),
    )

    @pytest.mark.parametrize(
        ("term", "taken"),
        [
            (labelled("zone", "In", "a"), ["small"]),
            (labelled("zone", "In", "a", "b", "nowhere"), ["small", "big"]),
            (labelled("zone", "In", "nowhere"), []),
            (labelled("zone", "NotIn", "a"), ["big", "bare"]),
            (labelled("zone", "Exists"), ["small", "big"]),
            (labelled("zone", "DoesNotExist"), ["bare"]),
            (labelled("cores", "Gt", "4"), ["big"]),
            (labelled("cores", "Lt", "4"), ["small"]),
            (labelled("zone", "Gt", "4"), []),
            (labelled("unknown", "Exists"), []),
            (labelled("unknown", "NotIn", "x"), ["small", "big", "bare"]),
            (named("In", "bare"), ["bare"]),
            (named("NotIn", "bare"), ["small", "big"]),
            (NodeSelectorTerm(), []),
        ],
    )
    def test_single_term_selects_nodes(self, term: NodeSelectorTerm, taken: list[str]) -> None:
        cache = cache_of(*self.nodes)
        assert accepted(node_affinity.NodeAffinity(), facts(affinity=requires(term)), cache) == taken

    def test_terms_are_alternatives_and_what_is_in_one_must_all_hold(self) -> None:
        both = NodeSelectorTerm(
            match_expressions=(
                NodeSelectorRequirement(key="zone", operator="Exists"),
                NodeSelectorRequirement(key="cores", operator="In", values=("16",)),
            )
        )
        cache = cache_of(*self.nodes)
        one = facts(affinity=requires(both, labelled("zone", "DoesNotExist")))
        assert accepted(node_affinity.NodeAffinity(), one, cache) == ["big", "bare"]

    def test_the_node_selector_and_the_affinity_must_both_hold(self) -> None:
        cache = cache_of(*self.nodes)
        one = facts(node_selector={"zone": "a"}, affinity=requires(labelled("cores", "In", "16")))
        assert accepted(node_affinity.NodeAffinity(), one, cache) == []
        reason = "node(s) didn't match Pod's node affinity/selector"
        assert rejections(node_affinity.NodeAffinity(), one, cache)["big"] == [reason]

    @pytest.mark.parametrize(
        ("terms", "candidates"),
        [
            ((named("In", "big"),), ["big"]),
            ((named("In", "big"), named("In", "bare", "gone")), ["big", "bare"]),
            ((named("In", "big"), labelled("zone", "Exists")), None),
            ((named("NotIn", "big"),), None),
            ((), None),
        ],
    )
    def test_terms_that_all_name_nodes_narrow_the_search(
        self, terms: tuple[NodeSelectorTerm, ...], candidates: list[str] | None
    ) -> None:
        cache = cache_of(*self.nodes)
        rows = node_affinity.NodeAffinity().candidates(facts(affinity=requires(*terms)), cache)
        found = None if rows is None else [cache.name_of(int(row)) for row in rows]
        assert (sorted(found) if found is not None else None) == (sorted(candidates) if candidates else None)

    def test_names_that_contradict_each_other_are_hopeless(self) -> None:
        fields = tuple(
            NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
            for name in ("small", "big")
        )
        one = facts(affinity=requires(NodeSelectorTerm(match_fields=fields)))
        with pytest.raises(Hopeless, match="pod affinity terms conflict"):
            node_affinity.NodeAffinity().candidates(one, cache_of(*self.nodes))

    def test_preferred_terms_add_up_and_the_best_node_gets_a_hundred(self) -> None:
        preferred = NodeAffinity(
            preferred_during_scheduling_ignored_during_execution=(
                PreferredSchedulingTerm(weight=10, preference=labelled("zone", "Exists")),
                PreferredSchedulingTerm(weight=30, preference=labelled("cores", "Gt", "4")),
            )
        )
        one = facts(affinity=Affinity(node_affinity=preferred))
        cache = cache_of(*self.nodes)
        assert scores(node_affinity.NodeAffinity(), one, cache) == {"small": 25, "big": 100, "bare": 0}
        assert scores(node_affinity.NodeAffinity(), facts(), cache) is None


class TestImageLocality:
    MIB = 1024 * 1024

    def test_a_node_with_the_image_wins_and_images_everywhere_count_more(self) -> None:
        half = ContainerImage(names=("app:1",), size_bytes=1000 * self.MIB)
        everywhere = ContainerImage(names=("base:1",), size_bytes=1000 * self.MIB)
        cache = cache_of(node("a", images=[half, everywhere]), node("b", images=[everywhere]))
        plugin = image_locality.ImageLocality()
        assert scores(plugin, facts(containers=[container(image="base:1")]), cache) == {"a": 100, "b": 100}
        # Spread over half of the nodes the image counts half: (500 - 23) / (1000 - 23).
        assert scores(plugin, facts(containers=[container(image="app:1")]), cache) == {"a": 48, "b": 0}

    def test_small_images_do_not_matter(self) -> None:
        cache = cache_of(node("a", images=[ContainerImage(names=("tiny:1",), size_bytes=20 * self.MIB)]))
        one = facts(containers=[container(image="tiny:1")])
        assert scores(image_locality.ImageLocality(), one, cache) == {"a": 0}

    @pytest.mark.parametrize(
        ("image", "name"),
        [
            ("app", "app:latest"),
            ("app:1", "app:1"),
            ("registry:5000/app", "registry:5000/app:latest"),
            ("registry:5000/app:1", "registry:5000/app:1"),
            ("app@sha256:0f", "app@sha256:0f"),
        ],
    )
    def test_an_image_without_a_tag_means_latest(self, image: str, name: str) -> None:
        assert image_locality.with_tag(image) == name
