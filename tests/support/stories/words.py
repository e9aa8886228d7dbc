"""Vocabulary of the stories: containers and probes, conditions to wait for, and actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.client.base import PatchType
from tests.support.pod_traces import NAMESPACE, Hands, Plain, Step

IMAGE = "podling.local/host"
UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"
ENDS_SLOWLY = "trap 'sleep 1.2; exit 0' TERM; while :; do sleep 0.1; done"
UNHURRIED: Plain = {"periodSeconds": 2, "timeoutSeconds": 10}
"""Times of every probe. Changes of their results and ends of containers happen between two probes, so that no
story depends on the speed of the machine."""
STOPS: Plain = {"stopExitCode": 0, "stopSeconds": 0.1}


def container(script: str, name: str = "main", **more: Any) -> Plain:
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        **more,
    }


def probe(command: str, **more: Any) -> Plain:
    return {"exec": {"command": ["sh", "-c", command]}, **UNHURRIED, **more}


def lives(seconds: float, exit_code: int = 0) -> Plain:
    return {"seconds": seconds, "exitCode": exit_code}


# Conditions.


def status_of(pod: Plain, name: str = "main") -> Plain:
    status = pod.get("status", {})
    kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    found = [held for kind in kinds for held in status.get(kind, ()) if held["name"] == name]
    return found[0] if found else {"state": {}, "restartCount": 0, "ready": False}


def condition(pod: Plain, type_: str) -> str:
    found = [held["status"] for held in pod.get("status", {}).get("conditions", ()) if held["type"] == type_]
    return found[0] if found else "absent"


def ready(pod: Plain) -> bool:
    return condition(pod, "Ready") == "True"


def containers_ready(pod: Plain) -> bool:
    return condition(pod, "ContainersReady") == "True"


def over(pod: Plain) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def restarted(times: int, name: str = "main") -> Callable[[Plain], bool]:
    return lambda pod: (
        status_of(pod, name)["restartCount"] == times and "running" in status_of(pod, name)["state"]
    )


def waits(reason: str, name: str = "main") -> Callable[[Plain], bool]:
    return lambda pod: status_of(pod, name)["state"].get("waiting", {}).get("reason") == reason


def ended(name: str) -> Callable[[Plain], bool]:
    return lambda pod: "terminated" in status_of(pod, name)["state"]


# Actions.


async def delete(hands: Hands, pod: Plain) -> None:
    await hands.client.delete(Pod, pod["metadata"]["name"], NAMESPACE)


async def delete_by_force(hands: Hands, pod: Plain) -> None:
    await hands.client.delete(Pod, pod["metadata"]["name"], NAMESPACE, grace_seconds=0)


async def delete_sooner(hands: Hands, pod: Plain) -> None:
    """A second request, with less grace than the first."""
    await hands.client.delete(Pod, pod["metadata"]["name"], NAMESPACE, grace_seconds=1)


async def nothing(hands: Hands, pod: Plain) -> None:
    """Do nothing: reaching the condition is enough."""


async def evict(hands: Hands, pod: Plain) -> None:
    name = pod["metadata"]["name"]
    eviction = Eviction(metadata=ObjectMeta(name=name, namespace=NAMESPACE))
    await hands.client.create_subresource(Pod, name, "eviction", eviction, NAMESPACE)


async def lose_sandbox(hands: Hands, pod: Plain) -> None:
    await hands.lose_sandbox(pod["metadata"]["uid"])


def patch(change: Plain, subresource: str = "") -> Callable[[Hands, Plain], Any]:
    """Return an action that sends a strategic merge patch of the pod or a subresource."""

    async def act(hands: Hands, pod: Plain) -> None:
        await hands.client.patch(
            Pod,
            pod["metadata"]["name"],
            change,
            NAMESPACE,
            patch_type=PatchType.STRATEGIC,
            subresource=subresource,
        )

    return act


def at(
    when: Callable[[Plain], bool], act: Callable[[Hands, Plain], Any] = delete, after: float = 1.0
) -> Step:
    """Return a step a moment after ``when``, when pending statuses have been written."""
    return Step(when, act, after)
