"""Traces of a cluster's pods: statuses and events in order, as text that can be compared.

``Theatre`` plays stories on a cluster through any client, over HTTPS or in process, and keeps two traces
of each: every revision of the pod that a watch shows, and every write of its events. Two traces of one story
are equal on every runtime. These are all allowed differences:

* Moments, ids, addresses and the node's name have plain names (``snapshot``, ``normal``).
* Fields that only a real machine has (``ELSEWHERE``) and a registry client's own error texts
  (``WHY_NOT_PULLED``) are not compared.
* Statuses that follow each other in a moment may be gathered into one write (``PASSING_SECONDS``).
* The order between statuses and events, and between the events of different components, is not compared: they
  have different writers.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.client.base import Client, WatchEventType
from tests.support.pod_lives import normal

Plain = dict[str, Any]
Snapshot = dict[str, str]
"""A pod at one revision: every compared leaf, by its path."""

NAMESPACE = "default"
OF_RUNTIME = re.compile(r"^(oci|sim)://|^[^@ ]*@(?=sha256:)")
"""Prefixes of ids: the runtime's name, and (for images) the registry, if there is one."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NAMED_BY = ("type", "name", "ip", "mountPath", "resourceName")
"""Keys that identify the items of a list, where they have one."""
WHY_NOT_PULLED = re.compile(r'(failed to pull and unpack image "[^"]*": ).*')
ELSEWHERE = re.compile(r"\]\.user\.")
"""Paths that are not compared: the user of a process, because a simulation runs no process."""


@dataclass(frozen=True)
class Step:
    """An action on a pod: ``act`` is called ``after`` seconds after the condition holds."""

    when: Callable[[Plain], bool]
    act: Callable[[Hands, Plain], Awaitable[object]]
    after: float = 0.0


@dataclass(frozen=True)
class Story:
    """A pod, the scripts of its simulated containers, and the actions on it. The last step ends it."""

    spec: Plain
    scripts: Plain
    steps: tuple[Step, ...]
    pod_script: Plain = field(default_factory=dict)

    def pod(self, name: str) -> Pod:
        """Return the story's pod; its scripts leave time for steps that take real containers a moment."""
        scripts = {"Pod": {"sandboxSeconds": 0.2, "sandboxStopSeconds": 0.1} | self.pod_script}
        for of, script in self.scripts.items():
            answers = [{"seconds": 0.1} | answer for answer in script.get("exec", [{}])]
            lengths = {"startSeconds": 0.1, "removeSeconds": 0.1, "resizeSeconds": 0.1}
            scripts[of] = lengths | script | {"exec": answers}
        plain = {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "annotations": {
                    f"sim.podling.dev/{of}": json.dumps(script) for of, script in scripts.items()
                },
            },
            "spec": {
                "terminationGracePeriodSeconds": 2,
                "automountServiceAccountToken": False,
                "dnsPolicy": "Default",
                **self.spec,
            },
        }
        return msgspec.convert(plain, Pod)


class Hands(Protocol):
    """Actions on pods: through the API, and on the machine."""

    @property
    def client(self) -> Client: ...

    @property
    def node(self) -> str:
        """The name of the one node."""

    async def lose_sandbox(self, uid: str) -> None:
        """End the pod's sandbox with all its containers, without a request."""


@dataclass(frozen=True)
class Moment:
    """A revision of a pod, and the seconds for which it was the newest."""

    shown: Snapshot
    seconds: float


@dataclass
class Trace:
    """The trace of one story on one cluster."""

    moments: list[Moment] = field(default_factory=list)
    events: list[str] = field(default_factory=list)


def by_component(events: Sequence[str]) -> list[str]:
    """Return events with those of each component together, in their order."""
    return sorted(events, key=lambda event: event.partition(":")[0])


def plain(of: Pod | Event) -> Plain:
    found: Plain = json.loads(msgspec.json.encode(of))
    return found


def snapshot(pod: Plain) -> Snapshot:
    """Return the compared fields of the pod, leaf by leaf."""
    metadata = pod["metadata"]
    about = {
        "deleted": "deletionTimestamp" in metadata,
        "grace": metadata.get("deletionGracePeriodSeconds"),
        "generation": metadata.get("generation"),
        "bound": "nodeName" in pod["spec"],
    }
    found: Snapshot = {}
    _flatten(about, "", found)
    _flatten(pod.get("status", {}), "", found)
    return {path: text for path, text in found.items() if not ELSEWHERE.search(path)}


def in_plain_words(text: str) -> str:
    return WHY_NOT_PULLED.sub(r"\1<why>", normal(text))


def _flatten(value: object, path: str, into: Snapshot) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _flatten(item, f"{path}.{key}" if path else str(key), into)
        if not value:
            into[path] = "{}"
    elif isinstance(value, list):
        for position, item in enumerate(value):
            named = next(
                (item[key] for key in NAMED_BY if isinstance(item, Mapping) and key in item), position
            )
            _flatten(item, f"{path}[{normal(str(named))}]", into)
    else:
        text = OF_RUNTIME.sub("", str(value))
        into[path] = "<moment>" if MOMENT.fullmatch(text) else in_plain_words(text)


class Theatre:
    """Plays stories on one cluster, all at once, and records their traces."""

    def __init__(self, hands: Hands, stories: Mapping[str, Story]) -> None:
        self._hands = hands
        self._stories = stories
        self._steps = {name: list(story.steps) for name, story in stories.items()}
        self._began: dict[str, float] = {}
        self._acts: list[asyncio.Task[object]] = []
        self._gone: set[str] = set()
        self._all_gone = asyncio.Event()
        self._extra_started = asyncio.Event()
        self.traces = {name: Trace() for name in stories}

    async def play(self, seconds: float) -> None:
        """Play every story to its end, within ``seconds``. Unfinished stories keep their traces."""
        client = self._hands.client
        revision = (await client.list(Pod, NAMESPACE)).resource_version
        pods = asyncio.create_task(self._watch(Pod, revision, self._saw_pod))
        events = asyncio.create_task(self._watch(Event, revision, self._saw_event))
        try:
            # Wait until the node accepts pods and has run a first container.
            await self._extra("prologue")
            for name, story in self._stories.items():
                await client.create(story.pod(name))
            await clock.wait_for(self._all_gone, seconds)
            # Events are written one after the other: when the last pod's has come, all have.
            await self._extra("epilogue")
            for act in self._acts:
                await act
        finally:
            for task in (pods, events):
                task.cancel()
            await asyncio.gather(pods, events, *self._acts, return_exceptions=True)

    async def _extra(self, name: str) -> None:
        """Run a pod beside the stories, until the event of its start is written."""
        self._extra_started.clear()
        await self._hands.client.create(EXTRA.pod(name))
        await clock.wait_for(self._extra_started, 20)
        await self._hands.client.delete(Pod, name, NAMESPACE, grace_seconds=0)

    @property
    def unfinished(self) -> list[str]:
        return sorted(self._stories.keys() - self._gone)

    async def _watch(
        self, kind: type[Any], revision: str, saw: Callable[[WatchEventType, Plain], None]
    ) -> None:
        while True:
            stream = self._hands.client.watch(kind, NAMESPACE, resource_version=revision)
            try:
                async for event in stream:
                    revision = event.object.metadata.resource_version
                    if event.type is not WatchEventType.BOOKMARK:
                        saw(event.type, plain(event.object))
            finally:
                await stream.aclose()  # type: ignore[attr-defined] # both clients' watches are generators

    def _saw_pod(self, type_: WatchEventType, pod: Plain) -> None:
        name = pod["metadata"]["name"]
        if name not in self._stories:
            return
        moments, now = self.traces[name].moments, clock.monotonic()
        shown = snapshot(pod) | ({"gone": "True"} if type_ is WatchEventType.DELETED else {})
        if moments and moments[-1].shown != shown:
            moments[-1] = Moment(moments[-1].shown, now - self._began[name])
        if not moments or moments[-1].shown != shown:
            moments.append(Moment(shown, 0.0))
            self._began[name] = now
        if type_ is WatchEventType.DELETED:
            self._gone.add(name)
            if not self.unfinished:
                self._all_gone.set()
        elif self._steps[name] and self._steps[name][0].when(pod):
            self._acts.append(asyncio.create_task(self._act(self._steps[name].pop(0), pod)))

    def _normal(self, message: str) -> str:
        return in_plain_words(message.replace(f" to {self._hands.node}", " to <node>"))

    async def _act(self, step: Step, pod: Plain) -> None:
        await clock.sleep(step.after)
        await step.act(self._hands, pod)

    def _saw_event(self, type_: WatchEventType, event: Plain) -> None:
        name = event["involvedObject"]["name"]
        if name not in self._stories and event["reason"] == "Started":
            self._extra_started.set()
        if name in self._stories and type_ is not WatchEventType.DELETED:
            component, place = event["source"]["component"], event["involvedObject"].get("fieldPath", "")
            self.traces[name].events.append(
                f"{component}: {event['type']} {event['reason']} {place}"
                f" x{event.get('count') or 1}: {self._normal(event['message'])}"
            )


EXTRA = Story(
    {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "podling.local/host", "command": ["true"]}],
    },
    {},
    (),
)


PASSING_SECONDS = 0.5
"""The kubelet may gather what follows within a moment into one write (``status_manager.GATHER_SECONDS``), and
holds back changes during a write: an observer is owed the last status, not each one before it.
In the simulation, where every step has a length, all are written; on real containers a step that took less
than this in the simulation may be gathered into the next. This is the only freedom between the two."""


def same_story(real: list[Moment], simulated: list[Moment]) -> tuple[list[Snapshot], list[Snapshot]]:
    """Return both traces for comparison: without moments of the simulation that the other gathered."""
    kept: list[Snapshot] = []
    position = 0
    for moment in simulated:
        here = position < len(real) and real[position].shown == moment.shown
        position += here
        if here or moment.seconds >= PASSING_SECONDS:
            kept.append(moment.shown)
    return [moment.shown for moment in real], kept


def changes(shown: list[Snapshot]) -> list[str]:
    """Return a readable trace: the changes from revision to revision."""
    before: Snapshot = {}
    lines = []
    for number, now in enumerate(shown):
        lines.append(f"-- {number}")
        paths = {**before, **now}
        lines += [
            f"{path}: {now.get(path, 'no more')}" for path in paths if before.get(path) != now.get(path)
        ]
        before = now
    return lines


def difference(real: list[str], simulated: list[str]) -> str:
    """Return a readable diff; empty when both are the same."""
    return "\n".join(difflib.unified_diff(real, simulated, "oci", "sim", lineterm="", n=12))
