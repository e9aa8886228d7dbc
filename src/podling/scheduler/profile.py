"""A profile: the plugins that decide about the pods of one scheduler name, by extension point. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.scheduler.framework import Plugin

FEASIBLE_NODES_MIN = 100
FEASIBLE_PERCENT_MIN = 5


class Scorer(Struct, frozen=True):
    """A plugin that scores, and the weight of its scores.

    ``is_checked``: scores outside of 0 to 100 are an error. Kubernetes' own plugins need no check.
    """

    plugin: Plugin
    weight: int
    is_checked: bool = False


class Profile(Struct, frozen=True, kw_only=True):
    """The plugins of one scheduler name. ``percentage``: of nodes to score; 0 depends on their number."""

    name: str
    percentage: int = 0
    pre_enqueue: tuple[Plugin, ...] = ()
    queue_sort: tuple[Plugin, ...] = ()
    pre_filter: tuple[Plugin, ...] = ()
    filter: tuple[Plugin, ...] = ()
    post_filter: tuple[Plugin, ...] = ()
    pre_score: tuple[Plugin, ...] = ()
    score: tuple[Scorer, ...] = ()
    reserve: tuple[Plugin, ...] = ()
    permit: tuple[Plugin, ...] = ()
    pre_bind: tuple[Plugin, ...] = ()
    bind: tuple[Plugin, ...] = ()
    post_bind: tuple[Plugin, ...] = ()
    by_name: Mapping[str, Plugin]
    needs_many: bool = False
    """Extenders filter or score the nodes, too: more than one feasible node must be found."""

    def nodes_to_find(self, nodes: int) -> int:
        """Return the number of feasible nodes after which the search ends (``numFeasibleNodesToFind``)."""
        if not self.score and not self.needs_many:
            return 1
        if nodes < FEASIBLE_NODES_MIN:
            return nodes
        percentage = self.percentage or max(50 - nodes // 125, FEASIBLE_PERCENT_MIN)
        return max(nodes * percentage // 100, FEASIBLE_NODES_MIN)
