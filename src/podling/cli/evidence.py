"""What is known of a pod when somebody asks why, and the form of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import ContainerStatus, Event, Node, Pod
from podling.machinery.tables import human_duration


class Explanation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: where the trouble is, what it is, and what to do."""

    healthy: bool = False
    area: str
    """``scheduler``, ``node``, ``sandbox``, ``volume``, ``image``, ``configuration``, ``runtime``, ``init``,
    ``crash``, ``probe``, ``gate``, ``deletion``, ``end`` or ``none``."""
    reason: str
    """Kubernetes' own word for it (``ImagePullBackOff``, ``Unschedulable`` ...)."""
    container: str = ""
    text: str
    """What is the matter, in whole sentences."""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known: the pod, its events oldest first, its node if it has one, and the time."""

    pod: Pod
    events: Sequence[Event]
    node: Node | None
    now: datetime

    def last_event(self, *reasons: str) -> Event | None:
        """The newest event with one of these reasons."""
        return next((event for event in reversed(self.events) if event.reason in reasons), None)


def all_statuses(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses
    yield from pod.status.container_statuses


def how_it_ended(status: ContainerStatus) -> str:
    """How a container ended: ``ended with exit code 3 (Error)``."""
    ended = status.state.terminated or status.last_state.terminated
    if ended is None:
        return "ended"
    said = f", saying: {ended.message.strip()}" if ended.message else ""
    return f"ended with exit code {ended.exit_code} ({ended.reason}){said}"


def time_since(then: datetime | None, now: datetime) -> str:
    return human_duration(now - then) if then else "some time"


def logs_command(pod: Pod, container: str, *, previous: bool = False) -> str:
    flag = " --previous" if previous else ""
    return f"kubectl logs {pod.metadata.name} -n {pod.metadata.namespace} -c {container}{flag}"
