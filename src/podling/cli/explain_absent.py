"""The answer about a pod or a Service that does not exist. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime

from podling.api.core_v1 import Event, Pod
from podling.cli.evidence import one_line, time_since
from podling.cli.recorded_events import moment_of

PARTINGS = ("Preempted", "TaintManagerEviction", "Evicted", "Killing", "DeadlineExceeded")
"""Events with the reason of a pod's end, the most specific first."""


def explain_absent(
    name: str, namespace: str, pods: Sequence[Pod], events: Sequence[Event], now: datetime
) -> str:
    """Sentences about a pod that is not there: whether it was, where its name exists, what is like it."""
    said = [f'There is no pod "{name}" in namespace {namespace}.']
    past = sorted(events, key=moment_of)
    if past:
        told = next((e for reason in PARTINGS for e in reversed(past) if e.reason == reason), past[-1])
        ago = time_since(moment_of(told), now)
        said.append(
            f"There was one; the last word on its end: {told.reason}, {ago} ago: {one_line(told.message)}."
        )
    elsewhere = sorted({p.metadata.namespace or "" for p in pods if p.metadata.name == name} - {namespace})
    if elsewhere:
        said.append(f"There is one in namespace {', '.join(elsewhere)}: use -n {elsewhere[0]}.")
    here = [p.metadata.name or "" for p in pods if p.metadata.namespace == namespace]
    begun = [other for other in here if other.startswith(f"{name}-")]
    like = (begun or difflib.get_close_matches(name, here))[:3]
    if like and not elsewhere:
        said.append(f"Is {' or '.join(like)} meant?")
    return " ".join(said)


def explain_absent_service(name: str, namespace: str, services: Sequence[tuple[str, str]]) -> str:
    """Return sentences about a Service that does not exist: where its name exists, and near names.

    Args:
        services: namespace and name of those that exist.
    """
    said = [f'There is no service "{name}" in namespace {namespace}.']
    elsewhere = sorted(space for space, other in services if other == name)
    if elsewhere:
        said.append(f"There is one in namespace {', '.join(elsewhere)}: use -n {elsewhere[0]}.")
        return " ".join(said)
    here = [other for space, other in services if space == namespace]
    like = difflib.get_close_matches(name, here)[:3]
    if like:
        said.append(f"Is {' or '.join(like)} meant?")
    return " ".join(said)
