"""Several extenders in the decision: the cases of upstream's ``extender_test``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from podling.scheduler.binding.binding_cycle import BindingFailed
from podling.scheduler.decide import Case, Diagnosis, Placement
from podling.scheduler.extenders.chain import Extenders
from podling.scheduler.extenders.decision import decide_with_extenders
from podling.scheduler.extenders.http_extender import ExtenderFailed, HttpExtender
from podling.scheduler.podfacts import facts_of
from podling.scheduler.preemption import Refusal, Victims
from tests.unit.scheduler.extenders.remote import Remote, names_of, only, prefer
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, cache_of, facts, node, pod

PROFILE = structs.replace(DEFAULT_PROFILE, score=(), needs_many=True)
"""Kubernetes' filters, and no scores: the extenders' decide."""


def filtering(*names: str, **fields: Any) -> HttpExtender:
    return Remote(filter=only(*names)).extender(filter_verb="filter", **fields)


def failing(**fields: Any) -> HttpExtender:
    verbs = {"filter_verb": "filter", "prioritize_verb": "score", "weight": 1}
    return Remote().extender(**{**verbs, **fields})


def scoring(weight: int, **scores: int) -> HttpExtender:
    return Remote(score=prefer(**scores)).extender(prioritize_verb="score", weight=weight)


async def decide(extenders: Sequence[HttpExtender], **more: Any) -> Placement | Diagnosis:
    cache = cache_of(node("a"), node("b"))
    case = Case(facts(**more), cache, PROFILE)
    return await decide_with_extenders(case, (), lambda rows: rows[0], Extenders(extenders, cache))


@pytest.mark.parametrize(
    ("extenders", "chosen"),
    [
        ([filtering("a", "b"), filtering("b")], "b"),
        ([filtering("a"), failing(prioritize_verb="")], None),
        ([scoring(1, a=10), scoring(5, b=10)], "b"),
        ([scoring(1, a=10), failing(filter_verb="")], "a"),
        ([failing(ignorable=True), filtering("b")], "b"),
    ],
    ids=["second filter", "failure", "weights", "failing scores are left out", "ignorable"],
)
async def test_extenders_filter_and_score_in_turn(extenders: list[HttpExtender], chosen: str | None) -> None:
    if chosen is None:
        with pytest.raises(ExtenderFailed, match='Post "http://extender/filter": connection refused'):
            await decide(extenders)
        return
    found = await decide(extenders)
    assert isinstance(found, Placement)
    assert found.node == chosen


async def test_nodes_that_no_extender_leaves_have_its_reasons() -> None:
    remote = Remote(
        filter=only(FailedNodes={"a": "no GPU", "b": "busy"}, FailedAndUnresolvableNodes={"a": "no"})
    )
    found = await decide([remote.extender(filter_verb="filter")])
    assert isinstance(found, Diagnosis)
    assert found.message() == "0/2 nodes are available: 1 busy, 1 no."
    assert found.rejected_by == {"Extender"}
    assert len(found.resolvable()) == 1


async def test_extenders_add_their_reasons_in_turn() -> None:
    """The case of several extenders in upstream's ``TestFindNodesThatPassExtenders``."""
    first = Remote(filter=only("a", FailedNodes={"b": "busy"}, FailedAndUnresolvableNodes={"c": "no"}))
    second = Remote(filter=only("a"))
    extenders = [each.extender(filter_verb="filter") for each in (first, second)]
    diagnosis = Diagnosis(4)
    diagnosis.reasons["earlier"] += 1
    cache = cache_of(*(node(name) for name in "abcd"))
    left = await Extenders(extenders, cache).filter(facts(), ["a", "b", "c"], diagnosis)
    assert left == ["a"]
    assert names_of(second.requests[0][1]) == ["a"]
    assert diagnosis.reasons == {"earlier": 1, "busy": 1, "no": 1}
    assert diagnosis.resolvable_names == {"b"}


async def test_ignorable_extenders_are_called_last() -> None:
    remote = Remote(filter=only("a", "b"))
    first = remote.extender(filter_verb="filter", ignorable=True)
    second = remote.extender(filter_verb="filter", url_prefix="http://other", ignorable=False)
    assert [each.name for each in Extenders([first, second], cache_of())._all] == ["http://other", first.name]


async def test_extender_without_interest_is_not_called() -> None:
    remote = Remote()
    managed = remote.extender(filter_verb="filter", managed_resources=())
    uninterested = Remote().extender(filter_verb="filter")
    uninterested._managed = frozenset({"example.com/gpu"})
    assert Extenders([managed], cache_of()).concern(facts()) is True
    assert Extenders([uninterested], cache_of()).concern(facts()) is False
    assert isinstance(await decide([uninterested]), Placement)


async def test_nominated_node_is_left_when_an_extender_rejects_it() -> None:
    cache = cache_of(node("a"), node("b"))
    one = pod()
    nominated = structs.replace(one, status=structs.replace(one.status, nominated_node_name="a"))
    only_b = Remote(filter=lambda request: 500 if names_of(request) == ["a"] else only("b")(request))
    for extender, chosen in (
        (filtering("a", "b"), "a"),
        (filtering("b"), "b"),
        (only_b.extender(filter_verb="filter"), "b"),
    ):
        extenders = Extenders([extender], cache)
        case = Case(facts_of(nominated), cache, PROFILE)
        found = await decide_with_extenders(case, (), lambda rows: rows[-1], extenders)
        assert isinstance(found, Placement)
        assert found.node == chosen


class TestBinding:
    async def test_extender_that_binds_is_preferred_to_plugins(self) -> None:
        remote = Remote(bind=lambda _: {})
        assert await Extenders([remote.extender(bind_verb="bind")], cache_of()).bind(facts(), "a") is True
        assert remote.verbs == ["bind"]

    @pytest.mark.parametrize("ignorable", [True, False])
    async def test_failing_extender_is_skipped_only_if_ignorable(self, ignorable: bool) -> None:
        extenders = Extenders([Remote().extender(bind_verb="bind", ignorable=ignorable)], cache_of())
        if ignorable:
            assert await extenders.bind(facts(), "a") is False
            return
        with pytest.raises(BindingFailed) as failed:
            await extenders.bind(facts(), "a")
        assert failed.value.is_doubtful


class TestPreemption:
    """Two candidates; victims of low priority on b."""

    cache = cache_of(node("a"), node("b"), pods={"a": [pod("x", priority=5)], "b": [pod("y", priority=1)]})

    def found(self) -> Victims:
        victims = [Victims(name, tuple(self.cache.pods_on(row)), 0) for row, name in enumerate(("a", "b"))]
        return structs.replace(victims[1], candidates=tuple(victims))

    async def processed(self, reply: Any, **fields: Any) -> Victims | Refusal:
        remote = Remote(preempt=reply) if reply else Remote()
        extender = remote.extender(preempt_verb="preempt", node_cache_capable=True, **fields)
        return await Extenders([extender], self.cache).process_preemption(facts(), self.found())

    async def test_best_of_the_candidates_that_are_left_is_chosen(self) -> None:
        def all_of(request: dict[str, Any]) -> Any:
            return {"NodeNameToMetaVictims": request["NodeNameToMetaVictims"]}

        def without_b(request: dict[str, Any]) -> Any:
            left = {key: each for key, each in request["NodeNameToMetaVictims"].items() if key != "b"}
            return {"NodeNameToMetaVictims": left}

        for reply, node_name in ((all_of, "b"), (without_b, "a")):
            chosen = await self.processed(reply)
            assert isinstance(chosen, Victims)
            assert chosen.node == node_name

    @pytest.mark.parametrize(
        ("reply", "ignorable", "text"),
        [
            (lambda _: {"NodeNameToMetaVictims": {}}, False, "no candidate node for preemption"),
            (
                lambda _: {"NodeNameToMetaVictims": {"a": {"Pods": []}}},
                False,
                'expected at least one victim pod on node "a"',
            ),
            (lambda _: {"NodeNameToMetaVictims": {"a": {}}}, True, "no candidate node for preemption"),
            (None, False, 'Post "http://extender/preempt": connection refused'),
            (None, True, ""),
        ],
    )
    async def test_answer_without_victims_or_failure_means_no_preemption(
        self, reply: Any, ignorable: bool, text: str
    ) -> None:
        found = await self.processed(reply, ignorable=ignorable)
        if text:
            assert found == Refusal(f"preemption: {text}", keeps_nomination=True)
        else:
            assert isinstance(found, Victims)
