"""Compares the lives of pods in two event logs: of a run and its recording, or of two runtimes. Pure.

A pod's life is the order of its stages: phase, binding, ready containers, restarts, deletion. Names that
controllers draw are replaced by the order in which the pods were created. A stage that lasted less than a
moment may be missing from one side, because a kubelet gathers what follows within a moment into one write.
Times, and the order between different pods, are not compared.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from podling.sim.event_log import END

PASSING_SECONDS = 1.0
_PODS = "pods/"
_CHANGES = ("created", "modified", "deleted")
_DRAWN = re.compile(r"(-[bcdfghjklmnpqrstvwxz2456789]{6,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}$")
"""The ends of names that controllers draw: of a ReplicaSet, and of a pod."""
_FIELDS = ("phase", "ready", "restarts", "reason", "deleting")


class Stage(Struct, frozen=True):
    """A stage of a pod's life, and the seconds that it lasted; the last one lasts to the end."""

    text: str
    seconds: float


def end_of(lines: Iterable[Mapping[str, Any]]) -> float:
    """Return the second at which a recording ends; those of runs last as long as is needed."""
    return min((float(each.get("at", 0)) for each in lines if each.get("event") == END), default=math.inf)


def lives(lines: Iterable[Mapping[str, Any]], end: float = math.inf) -> dict[str, list[Stage]]:
    """Return the stages of every pod of an event log, by its name or its owner's and its number.

    What happened after ``end`` is left out.
    """
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    stages: dict[str, list[tuple[float, str]]] = {}
    for line in lines:
        key = str(line.get("object", ""))
        at = float(line.get("at", 0))
        if at > end or not key.startswith(_PODS) or line.get("event") not in _CHANGES:
            continue
        if key not in names:
            owner = _DRAWN.sub("", key)
            counts[owner] = counts.get(owner, 0) + 1
            names[key] = key if owner == key else f"{owner} #{counts[owner]}"
        found = stages.setdefault(names[key], [])
        text = _text(line)
        if not found or found[-1][1] != text:
            found.append((at, text))
        if line["event"] == "deleted":
            del names[key]
    return {name: _with_lengths(found, end) for name, found in stages.items()}


def differences(
    one: Mapping[str, Sequence[Stage]], other: Mapping[str, Sequence[Stage]], passing: float
) -> list[str]:
    """Return how the lives of two logs differ, pod by pod; empty if they are the same.

    Args:
        passing: stages shorter than so many seconds may be missing from one side.
    """
    found = [f"{name}: only in the first" for name in one if name not in other]
    found += [f"{name}: only in the second" for name in other if name not in one]
    for name in one:
        if name in other and (text := _difference(one[name], other[name], passing)):
            found.append(f"{name}:\n{text}")
    return found


def _difference(one: Sequence[Stage], other: Sequence[Stage], passing: float) -> str:
    texts = [each.text for each in one], [each.text for each in other]
    matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal" and any(each.seconds >= passing for each in (*one[i:j], *other[k:m])):
            return "\n".join(difflib.ndiff(*texts))
    return ""


def _text(line: Mapping[str, Any]) -> str:
    if line["event"] == "deleted":
        return "gone"
    words = [f"{name}={line[name]}" for name in _FIELDS if line.get(name) not in (None, "", [], 0, False)]
    return " ".join(["bound" if line.get("node") else "unbound", *words])


def _with_lengths(found: Sequence[tuple[float, str]], end: float) -> list[Stage]:
    ends = [at for at, _ in found[1:]] + [end]
    return [Stage(text, end - at) for (at, text), end in zip(found, ends, strict=True)]
