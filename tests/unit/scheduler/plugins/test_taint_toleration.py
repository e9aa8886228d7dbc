"""The TaintToleration plugin."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.plugins import taint_toleration as taints
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    facts,
    node,
    rejections,
    scores,
    taint,
    toleration,
    unresolvable,
)


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
