"""One extender: requests, answers, errors in Kubernetes' words, and interest in pods."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Container, ResourceRequirements
from podling.scheduler.extenders.http_extender import ExtenderFailed
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Victims
from tests.unit.scheduler.extenders.remote import Remote, config, names_of, only, prefer
from tests.unit.scheduler.scheduling import cache_of, facts, node, pod

CACHE = cache_of(node("a"), node("b"))
NAMES = ["a", "b"]


def container(**resources: Any) -> Container:
    return Container(name="c", resources=ResourceRequirements(**resources))


MEMORY = container(requests={"memory": "0"})


@pytest.mark.parametrize(
    ("managed", "one", "interested"),
    [
        ((), facts(), True),
        (("memory",), facts(), False),
        (("memory",), facts(containers=[MEMORY]), True),
        (("memory",), facts(containers=[container(limits={"memory": "0"})]), True),
        (("memory",), facts(init_containers=(MEMORY,)), True),
        (("example.com/a", "example.com/b"), facts(containers=[MEMORY]), False),
    ],
    ids=["no resources managed", "none named", "request", "limit", "init container", "another"],
)
def test_extender_is_interested_in_pods_that_name_a_managed_resource(
    managed: tuple[str, ...], one: PodFacts, interested: bool
) -> None:
    assert (
        Remote().extender(managed_resources=config(*managed).managed_resources).is_interested(one)
        is interested
    )


@pytest.mark.parametrize("by_name", [True, False])
async def test_nodes_are_sent_whole_or_by_name(by_name: bool) -> None:
    remote = Remote(filter=only("b", FailedNodes={"a": "too full"}))
    extender = remote.extender(filter_verb="filter", node_cache_capable=by_name)
    result = await extender.filter(facts("p"), NAMES, CACHE)
    assert (result.names, result.failed) == (("b",), {"a": "too full"})
    [(_, request)] = remote.requests
    assert request["Pod"]["metadata"]["name"] == "p"
    assert names_of(request) == NAMES
    assert (request["Nodes"] is None) is by_name
    if not by_name:
        assert request["Nodes"]["items"][0]["status"]["allocatable"]["cpu"] == "4"


async def test_answers_are_read_without_regard_to_case() -> None:
    remote = Remote(filter=lambda _: {"nodenames": ["a"], "failedNodes": {"b": "Why"}})
    result = await remote.extender(filter_verb="filter", node_cache_capable=True).filter(
        facts(), NAMES, CACHE
    )
    assert (result.names, result.failed) == (("a",), {"b": "Why"})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (500, "failed filter with extender at URL http://extender/filter, code 500"),
        ({"Error": "out of order"}, "out of order"),
        (
            {"NodeNames": ["c"]},
            'extender "http://extender/" claims a filtered node "c" which is not found in the input node '
            "list",
        ),
        ([], "json: cannot unmarshal: an object is expected"),
    ],
)
async def test_failure_of_filter_has_text_of_kubernetes(reply: Any, text: str) -> None:
    extender = Remote(filter=lambda _: reply).extender(filter_verb="filter", node_cache_capable=True)
    with pytest.raises(ExtenderFailed) as failed:
        await extender.filter(facts(), NAMES, CACHE)
    assert str(failed.value) == text


async def test_answer_without_nodes_accepts_none() -> None:
    extender = Remote(filter=lambda _: {}).extender(filter_verb="filter")
    assert (await extender.filter(facts(), NAMES, CACHE)).names == ()


async def test_scores_are_weighted_and_scaled_from_ten_to_a_hundred() -> None:
    extender = Remote(score=prefer(a=3, b=10)).extender(prioritize_verb="score", weight=2)
    assert await extender.prioritize(facts(), NAMES, CACHE) == {"a": 60, "b": 200}


async def test_binding_names_pod_and_node() -> None:
    remote = Remote(bind=lambda _: {})
    one = facts("p")
    await remote.extender(bind_verb="bind").bind(one, "a")
    assert remote.requests == [
        ("bind", {"PodName": "p", "PodNamespace": "default", "PodUID": one.uid, "Node": "a"})
    ]
    with pytest.raises(ExtenderFailed, match="no"):
        await Remote(bind=lambda _: {"Error": "no"}).extender(bind_verb="bind").bind(one, "a")


class TestPreemption:
    """Victims on two nodes."""

    low, other = pod("low"), pod("other")
    cache = cache_of(node("a"), node("b"), pods={"a": [low], "b": [other]})

    def candidates(self) -> dict[str, Victims]:
        rows = {name: self.cache.row_of(name) or 0 for name in ("a", "b")}
        return {
            name: Victims(name, tuple(self.cache.pods_on(row)), violations=row) for name, row in rows.items()
        }

    @pytest.mark.parametrize("by_name", [True, False])
    async def test_victims_are_sent_whole_or_by_uid(self, by_name: bool) -> None:
        remote = Remote(preempt=lambda _: {"NodeNameToMetaVictims": {}})
        extender = remote.extender(preempt_verb="preempt", node_cache_capable=by_name)
        assert await extender.process_preemption(facts(), self.candidates(), self.cache) == {}
        [(_, request)] = remote.requests
        if by_name:
            assert request["NodeNameToVictims"] is None
            assert request["NodeNameToMetaVictims"] == {
                "a": {"Pods": [{"UID": self.low.metadata.uid}], "NumPDBViolations": 0},
                "b": {"Pods": [{"UID": self.other.metadata.uid}], "NumPDBViolations": 1},
            }
        else:
            assert request["NodeNameToMetaVictims"] is None
            assert request["NodeNameToVictims"]["b"]["Pods"][0]["metadata"]["name"] == "other"

    async def test_victims_of_the_answer_are_pods_of_the_node(self) -> None:
        answer = {"b": {"Pods": [{"UID": self.other.metadata.uid}], "NumPDBViolations": 2}}
        remote = Remote(preempt=lambda _: {"NodeNameToMetaVictims": answer})
        found = await remote.extender(preempt_verb="preempt").process_preemption(
            facts(), self.candidates(), self.cache
        )
        assert [each.name for each in found["b"].pods] == ["other"]
        assert found["b"].violations == 2

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            ({"c": {"Pods": []}}, 'nodeinfo not found for node name "c"'),
            (
                {"a": {"Pods": [{"UID": "gone"}]}},
                "extender: http://extender/ claims to preempt pod (UID: gone) on node: a, but the pod is not "
                "found on that node",
            ),
        ],
    )
    async def test_answer_with_unknown_node_or_pod_is_an_error(self, answer: Any, text: str) -> None:
        extender = Remote(preempt=lambda _: {"NodeNameToMetaVictims": answer}).extender(
            preempt_verb="preempt"
        )
        with pytest.raises(ExtenderFailed) as failed:
            await extender.process_preemption(facts(), self.candidates(), self.cache)
        assert str(failed.value) == text
