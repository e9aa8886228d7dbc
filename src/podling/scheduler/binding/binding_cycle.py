"""Reserve, PreBind, Bind and PostBind: the way of a pod from the decision to its node."""

from __future__ import annotations

import logging

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable
from podling.machinery.errors import ApiError, is_not_found
from podling.scheduler.cache import Cache
from podling.scheduler.decide import SUCCESS, Diagnosis
from podling.scheduler.framework import Plugin, Refused
from podling.scheduler.metrics import BIND, PRE_BIND, SchedulerMetrics
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile

logger = logging.getLogger(__name__)

READ_SECONDS = 1.0
READ_SECONDS_MAX = 10.0
"""The wait between two reads of a pod that may have been bound."""


class BindingFailed(Exception):
    """A pod did not get its node; the text is the reason.

    ``is_unexpected``: it was no answer of the API. ``is_doubtful``: the API may have bound the pod.
    """

    def __init__(self, point: str, plugin: Plugin, error: Exception) -> None:
        super().__init__(f'running {point} plugin "{plugin.name}": {error}')
        self.is_unexpected = not isinstance(error, ApiError | Unreachable | Refused)
        is_lost = isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.code >= 500)
        self.is_doubtful = point == "Bind" and is_lost


class BindingCycle:
    """Runs the extension points behind the decision."""

    def __init__(self, client: Client, cache: Cache, metrics: SchedulerMetrics) -> None:
        self._client = client
        self._cache = cache
        self._metrics = metrics

    def reserve(self, profile: Profile, pod: PodFacts, node: str) -> Diagnosis | None:
        """Let plugins reserve something on the node; return why one refuses, if one does."""
        for plugin in profile.reserve:
            try:
                plugin.reserve(pod, node, self._cache)
            except Refused as refused:
                self.unreserve(profile, pod, node)
                diagnosis = Diagnosis(1, rejected_by={plugin.name})
                diagnosis.reasons[str(refused)] += 1
                return diagnosis
        return None

    def unreserve(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Give back what plugins reserved, the last one first."""
        for plugin in reversed(profile.reserve):
            plugin.unreserve(pod, node, self._cache)

    def takes_time(self, profile: Profile, pod: PodFacts, node: str) -> bool:
        """Return whether the pod will be bound some time later only."""
        return any(plugin.takes_time(pod, node, self._cache) for plugin in profile.pre_bind)

    async def run(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Do what must come before, then bind the pod. Raises ``BindingFailed``."""
        if profile.pre_bind:
            await self._pre_bind(profile, pod, node)
        started, status = clock.monotonic(), "Error"
        try:
            for plugin in profile.bind:
                try:
                    if await plugin.bind(pod, node, self._client):
                        status = SUCCESS
                        return
                except Exception as error:
                    raise BindingFailed("Bind", plugin, error) from error
            status = "Skip"
        finally:
            self._metrics.observe_point(profile.name, BIND, status, clock.monotonic() - started)
        raise BindingFailed("Bind", profile.bind[-1], Refused("no plugin binds this pod"))

    async def was_bound(self, pod: PodFacts, node: str) -> bool:
        """Return whether the API has bound the pod to the node; read until it answers.

        Meanwhile the pod counts on its node. Otherwise another pod could get the capacity that it has taken.
        """
        delay = READ_SECONDS
        while True:
            try:
                found = await self._client.get(Pod, pod.name, pod.namespace)
            except (ApiError, Unreachable) as error:
                if isinstance(error, ApiError) and is_not_found(error):
                    return False
                await clock.sleep(delay)
                delay = min(2 * delay, READ_SECONDS_MAX)
            else:
                return found.metadata.uid == pod.uid and found.spec.node_name == node

    async def _pre_bind(self, profile: Profile, pod: PodFacts, node: str) -> None:
        started, status = clock.monotonic(), "Error"
        try:
            for plugin in profile.pre_bind:
                try:
                    await plugin.pre_bind(pod, node, self._cache, self._client)
                except Exception as error:
                    raise BindingFailed("PreBind", plugin, error) from error
            status = SUCCESS
        finally:
            self._metrics.observe_point(profile.name, PRE_BIND, status, clock.monotonic() - started)

    def after(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Run the plugins that follow a pod that has got its node."""
        for plugin in profile.post_bind:
            try:
                plugin.post_bind(pod, node)
            except Exception:
                logger.exception("%s failed to follow %s/%s", plugin.name, pod.namespace, pod.name)
