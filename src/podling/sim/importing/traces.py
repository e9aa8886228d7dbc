"""The common part of the readers of traces: machines, services and jobs, and their scenario. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from podling.runtime.sim.script import ANNOTATION_PREFIX
from podling.sim.importing.node_groups import NodeFacts, groups
from podling.sim.importing.sources import Imported

Plain = dict[str, Any]

CONTAINER = "main"
IMAGE = "trace.example/main"
AFTER_SECONDS = 600
MILLI_MIN = 1
WINDOW_SECONDS = 3600.0


class Window(Struct, frozen=True):
    """The part of a trace that is imported, and what its relative amounts are of this machine.

    Args:
        begin, length: in seconds of the trace.
        cores, memory: of a machine whose relative amounts are full: cores, and bytes.
    """

    begin: float = 0.0
    length: float = WINDOW_SECONDS
    cores: float = 64.0
    memory: float = 256 * 2.0**30

    @property
    def end(self) -> float:
        return self.begin + self.length

    def at(self, second: float) -> float:
        """Return a second of the trace as one of the scenario; what was before is at the begin."""
        return round(max(0.0, second - self.begin), 3)


class Machine(Struct, frozen=True):
    """A machine, from ``added`` until ``removed``."""

    id: str
    facts: NodeFacts
    added: float = 0.0
    removed: float | None = None


class Work(Struct, frozen=True):
    """Equal containers: of a service that lasts, or of a job if they have a length.

    Args:
        seconds: the length of a run; None: it lasts until it is deleted.
        ended: the second at which a service is taken away; None: never.
    """

    name: str
    count: int
    at: float
    cpu: float
    """Cores."""
    memory: float
    """Bytes."""
    seconds: float | None = None
    exit_code: int = 0
    ended: float | None = None


def facts(cores: float, memory: float, zone: str = "") -> NodeFacts:
    """Return the facts of a machine with these amounts, the memory in bytes."""
    return NodeFacts(
        cpu=f"{max(MILLI_MIN, round(cores * 1000))}m",
        memory=f"{max(1, round(memory / 2**20))}Mi",
        ephemeral_storage="100Gi",
        pods=250,
        zone=zone,
    )


def scenario_of(
    description: str, machines: Sequence[Machine], works: Iterable[Work], window: Window, notes: Sequence[str]
) -> Imported:
    """Return the scenario of a trace's machines and work in a window."""
    here = [each for each in machines if each.added <= window.begin and _lasts(each, window.begin)]
    moving = [each for each in here if each.removed is not None and each.removed < window.end]
    steady = [each for each in here if each not in moving]
    later = [each for each in machines if window.begin < each.added < window.end]
    nodes = groups((each.id, each.facts) for each in steady)
    actions: list[Plain] = []
    for machine in (*moving, *later):
        group = {**groups([(machine.id, machine.facts)])[0], "name": f"machine-{_name(machine.id)}"}
        if machine in moving:
            nodes.append(group)
        else:
            actions.append({"at": window.at(machine.added), "addNodes": group})
        if machine.removed is not None and machine.removed < window.end:
            names = {"names": [f"{group['name']}-1"]}
            actions.append({"at": window.at(machine.removed), "removeNodes": names})
    for work in works:
        actions += _actions(work, window)
    actions.sort(key=lambda each: each["at"])
    told = [*notes]
    if not nodes:
        told.append("no machine is there at the begin of the window: the scenario begins without nodes")
    scenario: Plain = {
        "description": description,
        "until": round(window.length + AFTER_SECONDS),
        "nodes": nodes,
        "actions": actions,
    }
    return Imported(scenario, tuple(told))


def _lasts(machine: Machine, second: float) -> bool:
    return machine.removed is None or machine.removed > second


def _actions(work: Work, window: Window) -> list[Plain]:
    """Return the moments at which work begins and ends, as far as they are in the window."""
    over = work.ended if work.seconds is None else work.at + work.seconds
    if work.at >= window.end or (over is not None and over <= window.begin):
        return []
    kind = "Deployment" if work.seconds is None else "Job"
    found: list[Plain] = [{"at": window.at(work.at), "apply": {"objects": [_object(work, kind, window)]}}]
    if kind == "Deployment" and work.ended is not None and work.ended < window.end:
        target = {"kind": kind, "name": _name(work.name)}
        found.append({"at": window.at(work.ended), "delete": {"target": target}})
    return found


def _object(work: Work, kind: str, window: Window) -> Plain:
    name = _name(work.name)
    requests = {
        "cpu": f"{max(MILLI_MIN, round(work.cpu * 1000))}m",
        "memory": f"{round(work.memory / 2**20)}Mi",
    }
    container = {"name": CONTAINER, "image": IMAGE, "resources": {"requests": requests}}
    labels = {"app": name}
    template: Plain = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    if work.seconds is None:
        spec: Plain = {"replicas": work.count, "selector": {"matchLabels": labels}}
    else:
        length = work.at + work.seconds - max(work.at, window.begin)
        script = {"runs": [{"seconds": round(length, 3), "exitCode": work.exit_code}]}
        template["metadata"]["annotations"] = {ANNOTATION_PREFIX + CONTAINER: json.dumps(script)}
        template["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": work.count, "completions": work.count, "backoffLimit": 0}
    group = "apps/v1" if kind == "Deployment" else "batch/v1"
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**spec, "template": template},
    }


def _name(text: str) -> str:
    """Return an identifier of a trace as a name of Kubernetes."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:50].strip("-") or "unnamed"
