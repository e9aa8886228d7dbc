"""All extenders of a scheduler, in the order in which they are called.

Those that may be ignored come last. A failure of one that may not be ignored is a failure of the attempt;
scores of an extender that fails are left out.

Upstream: ``buildExtenders`` in ``pkg/scheduler/scheduler.go``, ``findNodesThatPassExtenders``,
``prioritizeNodes`` and ``extendersBinding`` in ``schedule_one.go``, ``callExtenders`` in
``framework/preemption``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from podling.scheduler.binding.binding_cycle import BindingFailed
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis
from podling.scheduler.extenders.http_extender import ExtenderFailed, HttpExtender
from podling.scheduler.framework import Plugin
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Refusal, Victims, least_harmful
from podling.scheduler.surroundings import FOLLOWED

logger = logging.getLogger(__name__)


class ExtenderRejection(Plugin):
    """Stands for the extenders among the plugins that reject a pod: any change may help the pod."""

    name = "Extender"
    wakes_on_objects = FOLLOWED


class Extenders:
    """The extenders that a configuration names."""

    def __init__(self, extenders: Sequence[HttpExtender], cache: Cache) -> None:
        self._all = sorted(extenders, key=lambda each: each.is_ignorable)
        self._cache = cache

    def concern(self, pod: PodFacts) -> bool:
        """Return whether the decision about a pod needs an extender."""
        return any(
            (each.filters or each.prioritizes or each.preempts) and each.is_interested(pod)
            for each in self._all
        )

    async def filter(self, pod: PodFacts, names: Sequence[str], diagnosis: Diagnosis) -> list[str]:
        """Return the nodes that all extenders accept; notes the others. Raises ``ExtenderFailed``."""
        left = list(names)
        for extender in self._all:
            if not left:
                break
            if not extender.filters or not extender.is_interested(pod):
                continue
            try:
                result = await extender.filter(pod, left, self._cache)
            except ExtenderFailed as failed:
                if not extender.is_ignorable:
                    raise
                logger.info("skipping extender %s, which may be ignored: %s", extender.name, failed)
                continue
            resolvable = {
                name: text for name, text in result.failed.items() if name not in result.unresolvable
            }
            diagnosis.reasons.update((*result.unresolvable.values(), *resolvable.values()))
            diagnosis.resolvable_names |= resolvable.keys()
            left = list(result.names or ())
        if len(left) != len(names):
            diagnosis.rejected_by.add(ExtenderRejection.name)
        return left

    async def prioritize(self, pod: PodFacts, names: Sequence[str]) -> dict[str, int]:
        """Return the sum of the extenders' scores of each node."""
        asked = [each for each in self._all if each.prioritizes and each.is_interested(pod)]
        results = await asyncio.gather(*(self._scores_of(each, pod, names) for each in asked))
        total: dict[str, int] = {}
        for result in results:
            for name, score in result.items():
                total[name] = total.get(name, 0) + score
        return total

    async def bind(self, pod: PodFacts, node: str) -> bool:
        """Let the extender bind that does so for this pod; False if there is none.

        Raises ``BindingFailed``.
        """
        for extender in self._all:
            if not extender.binds or not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node)
            except ExtenderFailed as failed:
                if extender.is_ignorable:
                    logger.info("skipping extender %s, which may be ignored: %s", extender.name, failed)
                    continue
                raise BindingFailed(str(failed), is_doubtful=failed.is_doubtful) from failed
            return True
        return False

    async def process_preemption(self, pod: PodFacts, found: Victims) -> Victims | Refusal:
        """Return the victims that the extenders leave, or the reason for none."""
        candidates = {each.node: each for each in (found.candidates or (found,))}
        for extender in self._all:
            if not extender.preempts or not extender.is_interested(pod):
                continue
            try:
                left = await extender.process_preemption(pod, candidates, self._cache)
            except ExtenderFailed as failed:
                if extender.is_ignorable:
                    logger.info("skipping extender %s, which may be ignored: %s", extender.name, failed)
                    continue
                return Refusal(f"preemption: {failed}", keeps_nomination=True)
            for node in [node for node, victims in left.items() if not victims.pods]:
                if not extender.is_ignorable:
                    text = f'preemption: expected at least one victim pod on node "{node}"'
                    return Refusal(text, keeps_nomination=True)
                del left[node]
            candidates = left
            if not candidates:
                break
        if not candidates:
            return Refusal("preemption: no candidate node for preemption", keeps_nomination=True)
        return least_harmful(tuple(candidates.values()))

    async def _scores_of(self, extender: HttpExtender, pod: PodFacts, names: Sequence[str]) -> dict[str, int]:
        try:
            return await extender.prioritize(pod, names, self._cache)
        except ExtenderFailed as failed:
            logger.info("extender %s gives no scores: %s", extender.name, failed)
            return {}
