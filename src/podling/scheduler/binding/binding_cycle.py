"""Reserve, Permit, PreBind, Bind and PostBind: the way of a pod from the decision to its node."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable
from podling.machinery.errors import ApiError, is_not_found
from podling.scheduler.binding.permits import PERMIT_SECONDS_MAX, Preempted, WaitingPod, WaitingPods
from podling.scheduler.cache import Cache
from podling.scheduler.decide import ERROR_STATUS, SUCCESS, UNSCHEDULABLE, Diagnosis
from podling.scheduler.framework import Plugin, PluginFailed, Refused
from podling.scheduler.metrics import BIND, PERMIT, POST_BIND, PRE_BIND, RESERVE, SchedulerMetrics
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile

logger = logging.getLogger(__name__)

WAIT = "Wait"

READ_SECONDS = 1.0
READ_SECONDS_MAX = 10.0
"""The wait between two reads of a pod that may have been bound."""


class BindingFailed(Exception):
    """A pod did not get its node; the text is the reason.

    ``is_unexpected``: it was no answer of the API. ``is_doubtful``: the API may have bound the pod.
    """

    def __init__(self, text: str, *, is_unexpected: bool = False, is_doubtful: bool = False) -> None:
        super().__init__(text)
        self.is_unexpected = is_unexpected
        self.is_doubtful = is_doubtful


def failure_of(point: str, plugin: Plugin, error: Exception) -> BindingFailed:
    """Return the failure of a plugin at an extension point."""
    is_lost = isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.code >= 500)
    return BindingFailed(
        f'running {point} plugin "{plugin.name}": {error}',
        is_unexpected=not isinstance(error, ApiError | Unreachable | Refused),
        is_doubtful=point == "Bind" and is_lost,
    )


class Binder(Protocol):
    """Binds pods instead of the plugins of a profile."""

    async def bind(self, pod: PodFacts, node: str) -> bool:
        """Return whether this binder was responsible. Raises ``BindingFailed``."""


class BindingCycle:
    """Runs the extension points behind the decision."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        metrics: SchedulerMetrics,
        waiting: WaitingPods,
        binder: Binder | None = None,
    ) -> None:
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._binder = binder
        self._waiting = waiting
        self._pre_binding: dict[str, asyncio.Task[None]] = {}
        self._preempted: dict[str, str] = {}
        """Why PreBind ends early, by the UID of the pod."""

    def accept(self, profile: Profile, pod: PodFacts, node: str) -> Diagnosis | None:
        """Let plugins reserve something on the node and permit it; return why one refuses, if one does.

        Then nothing stays reserved. A permitted pod may have to wait. Raises ``PluginFailed``.
        """
        try:
            refused = self._reserve(profile, pod, node) or self._permit(profile, pod, node)
        except PluginFailed:
            self.unreserve(profile, pod, node)
            raise
        if refused is not None:
            self.unreserve(profile, pod, node)
        return refused

    def try_out(self, profile: Profile, pod: PodFacts, node: str) -> Diagnosis | str:
        """Reserve on the node what plugins do; return why the pod would wait for permission, or a refusal.

        The caller gives back what is reserved. After a refusal nothing is. Raises ``PluginFailed``.
        """
        refused, waits = self._reserve(profile, pod, node), list[str]()
        for plugin in profile.permit if refused is None else ():
            try:
                waits.append(plugin.permit_in_group(pod, node, self._cache))
            except Refused as error:
                refused = refusal_of(plugin.name, str(error))
                break
            except Exception as error:
                raise PluginFailed(f'running Permit plugin "{plugin.name}": {error}') from error
        return refused or ", ".join(filter(None, waits))

    def _reserve(self, profile: Profile, pod: PodFacts, node: str) -> Diagnosis | None:
        if not profile.reserve:
            return None
        started, status = clock.monotonic(), ERROR_STATUS
        try:
            for plugin in profile.reserve:
                try:
                    plugin.reserve(pod, node, self._cache)
                except Refused as refused:
                    status = UNSCHEDULABLE
                    return refusal_of(plugin.name, str(refused))
                except Exception as error:
                    raise PluginFailed(f'running Reserve plugin "{plugin.name}": {error}') from error
            status = SUCCESS
        finally:
            self._metrics.observe_point(profile.name, RESERVE, status, clock.monotonic() - started)
        return None

    def unreserve(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Give back what plugins reserved, the last one first."""
        for plugin in reversed(profile.reserve):
            try:
                plugin.unreserve(pod, node, self._cache)
            except Exception:
                logger.exception("%s failed to give back for %s/%s", plugin.name, pod.namespace, pod.name)

    def _permit(self, profile: Profile, pod: PodFacts, node: str) -> Diagnosis | None:
        if not profile.permit:
            return None
        started, status = clock.monotonic(), ERROR_STATUS
        waits: dict[str, float] = {}
        try:
            for plugin in profile.permit:
                try:
                    seconds = plugin.permit(pod, node, self._cache)
                except Refused as refused:
                    status = UNSCHEDULABLE
                    return refusal_of(plugin.name, str(refused))
                except Exception as error:
                    raise PluginFailed(f'running Permit plugin "{plugin.name}": {error}') from error
                if seconds is not None:
                    waits[plugin.name] = min(seconds, PERMIT_SECONDS_MAX)
            status = WAIT if waits else SUCCESS
        finally:
            self._metrics.observe_point(profile.name, PERMIT, status, clock.monotonic() - started)
        if waits:
            self._waiting.add(WaitingPod(pod, node, waits))
        return None

    def takes_time(self, profile: Profile, pod: PodFacts, node: str) -> bool:
        """Return whether the pod will be bound some time later only.

        Raises ``PluginFailed``; then nothing stays reserved.
        """
        if self._waiting.get(pod.uid) is not None:
            return True
        for plugin in profile.pre_bind:
            try:
                if plugin.takes_time(pod, node, self._cache):
                    return True
            except Exception as error:
                self.unreserve(profile, pod, node)
                raise PluginFailed(f'running PreBindPreFlight "{plugin.name}": {error}') from error
        return False

    async def run(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Wait for permission, do what must come before, then bind the pod.

        Raises ``PermitRejected`` and ``BindingFailed``.
        """
        if profile.permit:
            await self._wait_for_permission(pod)
        if profile.pre_bind:
            await self._pre_bind(profile, pod, node)
        if self._binder is not None and await self._binder.bind(pod, node):
            return
        started, status = clock.monotonic(), ERROR_STATUS
        try:
            for plugin in profile.bind:
                try:
                    if await plugin.bind(pod, node, self._client):
                        status = SUCCESS
                        return
                except Exception as error:
                    raise failure_of("Bind", plugin, error) from error
            status = "Skip"
        finally:
            self._metrics.observe_point(profile.name, BIND, status, clock.monotonic() - started)
        raise failure_of("Bind", profile.bind[-1], Refused("no plugin binds this pod"))

    async def _wait_for_permission(self, pod: PodFacts) -> None:
        waiting = self._waiting.get(pod.uid)
        if waiting is None:
            return
        started, status = clock.monotonic(), UNSCHEDULABLE
        try:
            await waiting.decision()
            status = SUCCESS
        except Preempted as preempted:
            status = ERROR_STATUS
            raise BindingFailed(f"waiting on permit for pod: {preempted}") from preempted
        finally:
            self._waiting.remove(pod.uid)
            self._metrics.permitted(status, clock.monotonic() - started)

    def preempt(self, uid: str, plugin: str) -> bool:
        """Take the node from a pod before it is bound; return whether that was still possible.

        The pod is tried again after a back-off.
        """
        if self._waiting.get(uid) is not None:
            return self._waiting.preempt(uid)
        task = self._pre_binding.get(uid)
        if task is not None and uid not in self._preempted:
            self._preempted[uid] = f"preempted by {plugin}"
            task.cancel()
        return task is not None

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
        started, status = clock.monotonic(), ERROR_STATUS
        task = asyncio.current_task()
        if task is not None:
            self._pre_binding[pod.uid] = task
        try:
            for plugin in profile.pre_bind:
                try:
                    await plugin.pre_bind(pod, node, self._cache, self._client)
                except asyncio.CancelledError:
                    text = self._preempted.get(pod.uid)
                    if text is None or task is None or task.uncancel():
                        raise
                    raise failure_of("PreBind", plugin, Refused(text)) from None
                except Exception as error:
                    raise failure_of("PreBind", plugin, error) from error
            status = SUCCESS
        finally:
            self._pre_binding.pop(pod.uid, None)
            self._preempted.pop(pod.uid, None)
            self._metrics.observe_point(profile.name, PRE_BIND, status, clock.monotonic() - started)

    def after(self, profile: Profile, pod: PodFacts, node: str) -> None:
        """Run the plugins that follow a pod that has got its node."""
        if not profile.post_bind:
            return
        started = clock.monotonic()
        for plugin in profile.post_bind:
            try:
                plugin.post_bind(pod, node)
            except Exception:
                logger.exception("%s failed to follow %s/%s", plugin.name, pod.namespace, pod.name)
        self._metrics.observe_point(profile.name, POST_BIND, SUCCESS, clock.monotonic() - started)


def refusal_of(plugin: str, text: str) -> Diagnosis:
    """Return the diagnosis of a pod that is refused its chosen node."""
    diagnosis = Diagnosis(1, rejected_by={plugin} if plugin else set())
    diagnosis.reasons[text] += 1
    return diagnosis
