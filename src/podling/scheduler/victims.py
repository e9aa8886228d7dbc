"""Execution of a preemption: each victim gets the condition, then is deleted with its own grace period."""

from __future__ import annotations

import logging
from collections.abc import Callable

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, PatchType, Unreachable
from podling.client.events import EventRecorder
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import condition
from podling.scheduler import messages
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Victims

logger = logging.getLogger(__name__)

REASON = "PreemptionByScheduler"
PLUGIN = "DefaultPreemption"


class VictimRemover:
    """Removes the victims of the preemptions of one scheduler.

    Args:
        preempt: takes its node from a victim that is not bound yet, which is not deleted then; returns
            whether that was possible (``BindingCycle.preempt``).
    """

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        scheduler_name: str,
        preempt: Callable[[str, str], bool],
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._scheduler_name = scheduler_name
        self._preempt = preempt

    async def remove(self, preemptor: PodFacts, victims: Victims) -> bool:
        """Return whether every victim is being deleted, or is gone already.

        The last one is left when the removal of another fails, as the preemptor has to be tried again anyway.
        """
        done = True
        to_delete = [each for each in victims.pods if not each.terminating]
        for number, victim in enumerate(to_delete, 1):
            if number == len(to_delete) and not done:
                break
            try:
                removed = self._preempt(victim.uid, PLUGIN) or await self._delete(victim)
            except (ApiError, Unreachable) as error:
                logger.warning("preempting %s/%s failed: %s", victim.namespace, victim.name, error)
                done = False
                continue
            if removed:
                text = messages.preempted(preemptor.uid, victims.node)
                action = messages.ACTIONS["Preempted"]
                self._recorder.event(
                    victim.pod, "Normal", "Preempted", text, action=action, related=preemptor.pod
                )
        return done

    async def _delete(self, victim: PodFacts) -> bool:
        """Return whether the victim was still there."""
        try:
            if not _is_told(victim.pod):
                patch = {"status": {"conditions": [_disruption_target(victim.pod, self._scheduler_name)]}}
                await self._client.patch(
                    Pod,
                    victim.name,
                    patch,
                    victim.namespace,
                    patch_type=PatchType.STRATEGIC,
                    subresource="status",
                )
            await self._client.delete(Pod, victim.name, victim.namespace, uid=victim.uid)
        except ApiError as error:
            if not is_not_found(error):
                raise
            return False
        return True


def _is_told(pod: Pod) -> bool:
    found = condition(pod, "DisruptionTarget")
    return found is not None and found.status == "True" and found.reason == REASON


def _disruption_target(pod: Pod, scheduler_name: str) -> dict[str, object]:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": REASON,
        "message": messages.preempting(scheduler_name),
        "lastTransitionTime": clock.seconds_precision(clock.now()).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "observedGeneration": pod.metadata.generation,
    }
