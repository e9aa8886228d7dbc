"""Execution of a preemption: each victim gets the condition, then is deleted with its own grace period."""

from __future__ import annotations

import logging

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, PatchType, Unreachable
from podling.client.events import EventRecorder
from podling.machinery.errors import ApiError, unless_gone
from podling.machinery.pods import condition
from podling.scheduler import messages
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Victims

logger = logging.getLogger(__name__)

REASON = "PreemptionByScheduler"


async def remove_victims(
    client: Client, recorder: EventRecorder, scheduler_name: str, preemptor: PodFacts, victims: Victims
) -> bool:
    """Return whether every victim is being deleted, or is gone already."""
    done = True
    for victim in victims.pods:
        try:
            await _remove(client, scheduler_name, victim)
        except (ApiError, Unreachable) as error:
            logger.warning("preempting %s/%s failed: %s", victim.namespace, victim.name, error)
            done = False
            continue
        recorder.event(victim.pod, "Normal", "Preempted", messages.preempted(preemptor.uid, victims.node))
    return done


async def _remove(client: Client, scheduler_name: str, victim: PodFacts) -> None:
    with unless_gone():
        if not _is_told(victim.pod):
            patch = {"status": {"conditions": [_disruption_target(victim.pod, scheduler_name)]}}
            await client.patch(
                Pod,
                victim.name,
                patch,
                victim.namespace,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        await client.delete(Pod, victim.name, victim.namespace, uid=victim.uid)


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
