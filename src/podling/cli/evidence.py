"""The facts about a pod for ``podling why``, and the form of its answer."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from podling.api.core_v1 import (
    Container,
    ContainerStateTerminated,
    ContainerStatus,
    Event,
    Node,
    Pod,
    Service,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.cli.recorded_events import moment_of
from podling.extensions.explanations import Explanation as Explanation
from podling.extensions.explanations import Source as Source
from podling.machinery.pods import condition
from podling.machinery.tables import human_duration

if TYPE_CHECKING:
    from podling.api.scheduling_v1alpha2 import PodGroup


class PartProblems(Struct, frozen=True):
    """The problem of each process of a cluster; empty texts if there is none. ``nodes``: by node."""

    api: str = ""
    control: str = ""
    nodes: Mapping[str, str] = {}


class PodGang(Struct, frozen=True):
    """The pod group that a pod names, None if it does not exist, and all pods that name it."""

    name: str
    group: PodGroup | None
    pods: Sequence[Pod] = ()


class Evidence(Struct, frozen=True):
    """All that is known: the pod, its events oldest first, its node if it has one, and the time.

    ``nodes`` are the cluster's, where a pod waits for one of them; ``parts`` is the state of its processes.
    ``services`` and ``slices`` are the cluster's, where an init container may wait for a name. ``gang`` is
    the pod's group, where it waits for a node.
    """

    pod: Pod
    events: Sequence[Event]
    node: Node | None
    now: datetime
    nodes: Sequence[Node] = ()
    parts: PartProblems = PartProblems()
    services: Sequence[Service] = ()
    slices: Sequence[EndpointSlice] = ()
    gang: PodGang | None = None

    def last_event(self, *reasons: str, container: str = "", says: str = "") -> Event | None:
        """The newest event with one of these reasons, about this container and with these words if given."""
        for event in reversed(self.events):
            about = container_of(event) in (container, "") if container else True
            if event.reason in reasons and about and says in (event.message or ""):
                return event
        return None

    def ago(self, then: datetime | None) -> str:
        return human_duration(max(self.now - then, timedelta())) if then else "some time"


def container_of(event: Event) -> str:
    """Return the container that an event is about, by its field path; empty for the pod."""
    match = re.fullmatch(r"spec\.\w*[cC]ontainers\{(.+)\}", event.involved_object.field_path or "")
    return match[1] if match else ""


def event_source(event: Event) -> Source:
    return Source(
        kind="event",
        name=event.reason or "",
        detail=one_line(event.message),
        count=(event.series.count if event.series is not None else event.count) or 1,
        last=moment_of(event),
    )


def condition_source(pod: Pod, type_: str) -> tuple[Source, ...]:
    """Return the condition as a source; nothing if the pod has none such."""
    found = condition(pod, type_)
    return (source_of_condition(found),) if found is not None else ()


def source_of_condition(found: Any) -> Source:
    """Return a condition, of an object of any kind, as a source."""
    said = ": ".join(filter(None, (found.reason, one_line(found.message))))
    detail = f"{found.status}{f' ({said})' if said else ''}"
    return Source(kind="condition", name=found.type, detail=detail, last=found.last_transition_time)


def container_source(status: ContainerStatus) -> Source:
    """Return a container's state from the status."""
    state, last = status.state, None
    if state.waiting is not None:
        detail = ": ".join(
            filter(None, (f"waiting, {state.waiting.reason}", one_line(state.waiting.message)))
        )
        last = status.last_state.terminated
        detail += f"; before that exit code {last.exit_code} ({last.reason})" if last is not None else ""
    elif state.terminated is not None:
        detail = f"terminated, exit code {state.terminated.exit_code} ({state.terminated.reason})"
    else:
        detail = f"running, {'' if status.started else 'not started, '}{'' if status.ready else 'not '}ready"
    return Source(kind="container", name=status.name, detail=detail, count=max(1, status.restart_count))


def all_statuses(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses
    yield from pod.status.container_statuses


def container_named(pod: Pod, name: str) -> Container | None:
    return next((c for c in (*pod.spec.init_containers, *pod.spec.containers) if c.name == name), None)


def one_line(text: str | None, limit: int = 600) -> str:
    """Return a message in one line without a full stop, its middle left out where it is very long."""
    flat = " ".join((text or "").split()).rstrip(".")
    return flat if len(flat) <= limit else f"{flat[: limit // 2]} ... {flat[-limit // 2 :]}"


def how_it_ended(ended: ContainerStateTerminated, when: str = "") -> str:
    """Describe a container's end: ``ended 2m ago with exit code 3 (Error), saying "no database"``."""
    at = f" {when}" if when else ""
    said = f', saying "{one_line(ended.message, 300)}"' if ended.message else ""
    if ended.reason == "StartError":
        return f"could not be started{at}: {one_line(ended.message)} (exit code {ended.exit_code})"
    if ended.reason == "OOMKilled":
        how = f"for using more memory than it may (OOMKilled, exit code {ended.exit_code})"
        return f"was killed{at} {how}{said}"
    name = signal_name(ended)
    if name:
        return f"was ended{at} by {name} (exit code {ended.exit_code}){said}"
    return f"ended{at} with exit code {ended.exit_code} ({ended.reason}){said}"


def signal_name(ended: ContainerStateTerminated) -> str:
    """Return the signal that ended a container, by its exit code or the runtime; empty for none."""
    number = ended.signal or (ended.exit_code - 128 if 128 < ended.exit_code <= 128 + 64 else 0)
    try:
        return signal.Signals(number).name if number and ended.reason != "StartError" else ""
    except ValueError:
        return f"signal {number}"


def time_since(then: datetime | None, now: datetime) -> str:
    return human_duration(now - then) if then else "some time"


def pod_arguments(pod: Pod) -> str:
    """Return the pod's arguments for kubectl: ``web``, with its namespace unless that is ``default``."""
    namespace = pod.metadata.namespace
    return f"{pod.metadata.name}{f' -n {namespace}' if namespace not in (None, '', 'default') else ''}"


def logs_command(pod: Pod, container: str, *, previous: bool = False) -> str:
    flag = " --previous" if previous else ""
    return f"kubectl logs {pod_arguments(pod)} -c {container}{flag}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
