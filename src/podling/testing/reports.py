"""The report of a failed test: why what is not Ready is not, its timeline, and the last events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from click import unstyle

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.cli import timeline_model, timeline_sources, timeline_text
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import time_since
from podling.cli.queries import why
from podling.cli.recorded_events import events_of, moment_of
from podling.cli.why import paragraph
from podling.machinery.errors import ApiError
from podling.testing.operations import Operations

PODS_MAX = 5
EVENTS_MAX = 20
WIDTH = 100


async def describe(operations: Operations, namespace: str) -> str:
    """Return explanations and timelines of pods that are not well, and the last events of a namespace."""
    lines = [f"cluster time {clock.now():%Y-%m-%dT%H:%M:%SZ}, namespace {namespace}"]
    client = operations.cluster.client
    pods = (await client.list(Pod, namespace)).items
    unwell = [pod for pod in pods if not _is_well(pod)]
    for pod in unwell[:PODS_MAX]:
        lines += ["", f"pod/{pod.metadata.name}: {await _why(operations, pod)}"]
        lines += await _timeline(operations, pod)
    if len(unwell) > PODS_MAX:
        lines.append(f"... and {len(unwell) - PODS_MAX} more pods are not Ready")
    if not unwell:
        lines.append(f"pods: {len(pods)}, all of them Ready or ended well")
    return "\n".join([*lines, "", *_events((await client.list(Event, namespace)).items)])


def _is_well(pod: Pod) -> bool:
    if pod.status.phase == "Succeeded":
        return True
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


async def _why(operations: Operations, pod: Pod) -> str:
    name, namespace = pod.metadata.name or "", pod.metadata.namespace or ""
    try:
        return paragraph(await why(operations.cluster.client, "pod", name, namespace), clock.now())
    except (NoAnswer, ApiError) as error:
        return str(error)


async def _timeline(operations: Operations, pod: Pod) -> Iterator[str]:
    now = clock.now()
    told = timeline_sources.told(pod, await events_of(operations.cluster.client, pod), None)
    drawn = timeline_model.timeline(timeline_sources.subject_of(pod, now), told, now)
    return map(unstyle, timeline_text.lines(drawn, WIDTH))


def _events(events: Sequence[Event]) -> Iterator[str]:
    now = clock.now()
    last = sorted(events, key=moment_of)[-EVENTS_MAX:]
    yield f"last events ({len(last)} of {len(events)}):" if events else "no events"
    for each in last:
        about = f"{each.involved_object.kind.lower()}/{each.involved_object.name}"
        yield f"  {time_since(moment_of(each), now):>6}  {each.type:8}{each.reason:24}{about}: {each.message}"
