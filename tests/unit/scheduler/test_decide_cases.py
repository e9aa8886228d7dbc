"""The decision with plugins of the tests: upstream's cases of ``TestSchedulerSchedulePod`` and more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from podling.api.core_v1 import PodStatus
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, Nominated, Placement, decide
from podling.scheduler.framework import Hopeless, Plugin, PluginFailed, Rejected, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.measures import NO_MEASURES, Measures
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile, Scorer
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, cache_of, facts, node

NO = "no"


class Fake(Plugin):
    """Narrows the search to nodes, rejects nodes and scores nodes, all by name."""

    name = "Fake"

    def __init__(
        self,
        *,
        rejects: Collection[str] = (),
        narrows: Collection[str] | None = None,
        hopeless: str = "",
        points: Mapping[str, int] | None = None,
        is_skipped: bool = False,
        fails_at: str = "",
        fails_on: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._rejects, self._narrows, self._hopeless = rejects, narrows, hopeless
        self._points, self._is_skipped, self._fails_at = points or {}, is_skipped, fails_at
        self._fails_on = fails_on
        self.looked_at = 0

    def _fail(self, point: str) -> None:
        if self._fails_at == point:
            raise ValueError("bug")

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        self._fail("PreFilter")
        if self._hopeless:
            raise Hopeless(self._hopeless)
        if self._narrows is None:
            return None
        rows = (cache.row_of(name) for name in self._narrows)
        return np.array([row for row in rows if row is not None], np.intp)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        self._fail("Filter")
        self.looked_at += len(rows)
        names = [cache.name_of(row) for row in rows.tolist()]
        if any(name in self._fails_on for name in names):
            raise ValueError("bug")
        rejected = [name in self._rejects for name in names]
        return (Rejected(NO, np.array(rejected, np.bool_)),) if any(rejected) else ()

    def pre_score(self, pod: PodFacts, cache: Cache, rows: Rows) -> bool:
        self._fail("PreScore")
        return not self._is_skipped

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        self._fail("Score")
        return np.array([self._points.get(cache.name_of(row), 0) for row in rows.tolist()], np.int64)


def fake(name: str, **answers: Any) -> Fake:
    made: Fake = type(name, (Fake,), {"name": name})(**answers)
    return made


def profile(*plugins: Fake, scoring: Sequence[tuple[Fake, int]] = ()) -> Profile:
    """Return a profile that filters with all plugins, and scores with some, by weight."""
    scorers = tuple(Scorer(plugin, weight) for plugin, weight in scoring)
    return structs.replace(
        DEFAULT_PROFILE,
        pre_filter=plugins,
        filter=plugins,
        pre_score=tuple(plugin for plugin, _ in scoring),
        score=scorers,
    )


def cluster(*names: str) -> Cache:
    return cache_of(*(node(name) for name in names))


class Noted(Measures):
    """Notes the extension points and the plugins with their statuses."""

    sampled = True

    def __init__(self) -> None:
        self.points: list[tuple[str, str]] = []
        self.plugins: list[tuple[str, str, str]] = []

    def ended(self, point: str, status: str) -> None:
        self.points.append((point, status))

    def ran(self, plugin: str, point: str, status: str) -> None:
        self.plugins.append((plugin, point, status))


def outcome(
    chosen: Profile,
    cache: Cache,
    one: PodFacts | None = None,
    nominated: Sequence[Nominated] = (),
    measures: Measures = NO_MEASURES,
) -> tuple[Placement | Diagnosis, list[str]]:
    """Return the outcome, and the nodes that were equally good."""
    best: list[str] = []

    def first(rows: Sequence[int]) -> int:
        best.extend(sorted(cache.name_of(row) for row in rows))
        return rows[0]

    found = decide(one or facts(), cache, chosen, nominated, first, measures)
    if isinstance(found, Placement) and not best:
        best.append(found.node)
    return found, best


ANY = fake("Any")
NUMERIC, REVERSED = {"1": 1, "2": 2, "3": 3}, {"1": 3, "2": 2, "3": 1}
EQUAL = fake("Equal")


@pytest.mark.parametrize(
    ("chosen", "nodes", "best", "examined"),
    [
        (profile(ANY, scoring=[(EQUAL, 1)]), "12", "12", 2),
        (profile(fake("Match", rejects="1")), "12", "2", 2),
        (profile(ANY, scoring=[(fake("Numeric", points=NUMERIC), 1)]), "321", "3", 3),
        (
            profile(fake("Match", rejects="13"), scoring=[(fake("Numeric", points=NUMERIC), 1)]),
            "321",
            "2",
            3,
        ),
        (
            profile(
                ANY,
                scoring=[(fake("Numeric", points=NUMERIC), 1), (fake("Reversed", points=REVERSED), 2)],
            ),
            "321",
            "1",
            3,
        ),
        (
            profile(fake("A"), fake("B", narrows="2"), fake("C", narrows="12")),
            "123",
            "2",
            1,
        ),
        (profile(fake("A", rejects="1"), scoring=[(EQUAL, 1)]), "123", "23", 3),
        (profile(ANY, scoring=[(fake("Skipped", is_skipped=True, fails_at="Score"), 1)]), "12", "12", 2),
        (profile(ANY), "123", "1", 1),
        (profile(fake("A", narrows="12")), "123", "1", 1),
    ],
    ids=[
        "equal scores",
        "one node matches",
        "highest score",
        "highest score of those that match",
        "weights",
        "intersection",
        "some rejected",
        "all scores skipped",
        "one is enough without scores",
        "one of the narrowed is enough without scores",
    ],
)
def test_best_node_is_chosen(chosen: Profile, nodes: str, best: str, examined: int) -> None:
    found, equal = outcome(chosen, cluster(*nodes))
    assert isinstance(found, Placement)
    assert (equal, found.examined) == (list(best), examined)


@pytest.mark.parametrize(
    ("chosen", "nodes", "message", "rejected_by"),
    [
        (profile(fake("False", rejects="12")), "12", f"2 {NO}", "False"),
        (profile(ANY, fake("False", rejects="123")), "321", f"3 {NO}", "False"),
        (profile(fake("NoPods", rejects="2"), fake("Match", rejects="1")), "12", f"2 {NO}", "Match NoPods"),
        (profile(fake("A", hopeless="not today"), fake("B", narrows="1")), "12", "not today", "A"),
        (
            profile(fake("A"), fake("B", narrows="2"), fake("C", narrows="1")),
            "123",
            "node(s) didn't satisfy plugin(s) [B C] simultaneously",
            "B C",
        ),
        (
            profile(fake("A", narrows="2"), fake("B", rejects="2")),
            "12",
            f"1 {NO}, 1 node(s) didn't satisfy plugin(s) [A]",
            "A B",
        ),
        (profile(fake("A", narrows="x"), ANY), "12", "2 node(s) didn't satisfy plugin(s) [A]", "A"),
    ],
    ids=[
        "all rejected",
        "second filter",
        "each by another filter",
        "hopeless",
        "no intersection",
        "narrowed and rejected",
        "narrowed to an unknown node",
    ],
)
def test_rejected_pod_knows_why_and_by_whom(
    chosen: Profile, nodes: str, message: str, rejected_by: str
) -> None:
    found, _ = outcome(chosen, cluster(*nodes))
    assert isinstance(found, Diagnosis)
    assert found.message() == f"0/{len(nodes)} nodes are available: {message}."
    assert found.rejected_by == set(rejected_by.split())


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("PreFilter", 'running PreFilter plugin "A": bug'),
        ("Filter", 'running "A" filter plugin: bug'),
        ("PreScore", 'running PreScore plugin "A": bug'),
        ("Score", 'running Score plugins: plugin "A" failed with: bug'),
    ],
)
def test_error_names_extension_point_and_plugin(point: str, text: str) -> None:
    broken, noted = fake("A", fails_at=point), Noted()
    with pytest.raises(PluginFailed) as failed:
        outcome(profile(broken, scoring=[(broken, 1)]), cluster("1", "2"), measures=noted)
    assert str(failed.value) == text
    points = ("PreFilter", "Filter", "PreScore", "Score")
    before = points[: points.index(point)]
    assert noted.points == [*((each, "Success") for each in before), (point, "Error")]
    assert noted.plugins[-1] == ("A", point, "Error")


def test_error_on_the_nominated_node_is_measured() -> None:
    noted = Noted()
    with pytest.raises(PluginFailed):
        outcome(profile(fake("A", fails_on="1")), cluster("1"), nominated_to("1"), measures=noted)
    assert [status for point, status in noted.points if point == "Filter"] == ["Error", "Error"]


def test_score_out_of_range_is_measured_as_an_error() -> None:
    noted, wrong = Noted(), fake("A", points={"1": 101})
    checked = structs.replace(profile(wrong), score=(Scorer(wrong, 1, is_checked=True),))
    with pytest.raises(PluginFailed):
        outcome(checked, cluster("1", "2"), measures=noted)
    assert noted.points[-1] == ("Score", "Error")


@pytest.mark.parametrize(("priority", "times"), [(1000, 1), (0, 2)])
def test_filters_run_twice_where_a_nominated_pod_counts(priority: int, times: int) -> None:
    """``TestFindFitPredicateCallCounts``: with the nominated pod there, and without it."""
    cache, plugin = cluster("1"), fake("A")
    outcome(profile(plugin), cache, facts(priority=priority), [Nominated(facts(priority=100), 0)])
    assert plugin.looked_at == times


@pytest.mark.parametrize(
    ("nominated", "rejects", "nodes"),
    [("1", "", 1), ("", "", 3), ("1", "1", 4), ("gone", "", 3)],
    ids=["nominated", "not nominated", "nominated node is rejected", "nominated node is gone"],
)
def test_nominated_node_is_tried_first(nominated: str, rejects: str, nodes: int) -> None:
    """``TestPreferNominatedNodeFilterCallCounts``: the number of nodes that the filter looks at."""
    plugin = fake("A", rejects=rejects)
    one = facts(status=PodStatus(nominated_node_name=nominated))
    outcome(profile(plugin, scoring=[(EQUAL, 1)]), cluster("1", "2", "3"), one)
    assert plugin.looked_at == nodes


def nominated_to(name: str) -> PodFacts:
    return facts(status=PodStatus(nominated_node_name=name))


def test_error_on_the_nominated_node_leaves_the_others() -> None:
    broken = fake("A", fails_on="1")
    chosen = profile(broken, fake("B", narrows="2"))
    found, _ = outcome(chosen, cluster("1", "2"), nominated_to("1"))
    assert found == Placement("2", 1, failure='running "A" filter plugin: bug')
    with pytest.raises(PluginFailed):
        outcome(profile(broken), cluster("1", "2"), nominated_to("1"))


@pytest.mark.parametrize(
    ("nominated", "message", "rejected_by", "resolvable"),
    [
        ("", "1 no, 2 node(s) didn't satisfy plugin(s) [B]", "A B", 1),
        ("1", "1 node(s) didn't satisfy plugin(s) [B], 2 no", "A B", 2),
        ("2", "1 no, 2 node(s) didn't satisfy plugin(s) [B]", "A B", 1),
        ("3", "1 no, 2 node(s) didn't satisfy plugin(s) [B]", "A B", 1),
    ],
    ids=["none", "to another node than the search", "to the node of the search", "to a node that fails"],
)
def test_reasons_are_those_of_the_nominated_node_too(
    nominated: str, message: str, rejected_by: str, resolvable: int
) -> None:
    chosen = profile(fake("A", rejects="12", fails_on="3"), fake("B", narrows="2"))
    found, _ = outcome(chosen, cluster("1", "2", "3"), nominated_to(nominated))
    assert isinstance(found, Diagnosis)
    assert found.message() == f"0/3 nodes are available: {message}."
    assert found.rejected_by == set(rejected_by.split())
    assert len(found.resolvable()) == resolvable


def test_every_node_of_a_large_cluster_is_looked_at_in_turn() -> None:
    """``TestFairEvaluationForNodes``: each search begins where the one before has ended."""
    cache = cluster(*(str(number) for number in range(500)))
    chosen = structs.replace(profile(ANY, scoring=[(EQUAL, 1)]), percentage=30)
    wanted, start = chosen.nodes_to_find(500), 0
    seen: list[int] = []
    for number in range(2 * (500 // wanted + 1)):
        offered: list[int] = []

        def first(rows: Sequence[int], offered: list[int] = offered) -> int:
            offered.extend(rows)
            return rows[0]

        found = decide(facts(), cache, chosen, (), first, start=start)
        assert len(offered) == wanted
        start = (start + found.examined) % 500
        assert start == (number + 1) * wanted % 500
        seen += offered
    assert set(seen) == set(cache.rows.tolist())
