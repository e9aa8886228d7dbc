"""A scenario from the history of a cluster. Pure.

The objects of the begin become nodes and manifests. What people did later becomes actions at their moments.
Containers behave as they did: by labels, and of pods without an owner by an annotation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.runtime.sim.script import ANNOTATION_PREFIX
from podling.sim.importing.cleaning import cleaned
from podling.sim.importing.from_objects import (
    ORDER,
    is_made_by_others,
    manifest_problem,
    scenario_from_objects,
)
from podling.sim.importing.script_groups import (
    Group,
    Key,
    annotate,
    group_of,
    key_of,
    missing_images,
)
from podling.sim.importing.sources import Imported
from podling.sim.recording.container_scripts import scripts_of
from podling.sim.recording.recorder import ADDED, DELETED, NODE, Moment

Plain = dict[str, Any]

SETTLES_SECONDS = 30.0
"""The time that the scenario lasts after the recording's end."""


def scenario_from_moments(
    moments: Sequence[Moment], seconds: float, began: datetime | None = None
) -> Imported:
    """Return the scenario of a history that ``began`` at a wall time and lasted so many seconds."""
    scripts = _scripts(moments)
    shared = _shared(moments, scripts)
    begin = [each.plain for each in moments if each.at == 0 and each.type == ADDED]
    made = scenario_from_objects(begin, shared)
    left = Counter[str]()
    actions = _actions(moments, left)
    scenario = {
        **made.scenario,
        "description": "The recorded history of a cluster.",
        **({} if began is None else {"begin": began}),
        "until": round(seconds + SETTLES_SECONDS),
        "images": missing_images(each.plain for each in moments if each.plain["kind"] == "Pod"),
        "actions": actions,
    }
    applied = [each["apply"] for each in actions if "apply" in each]
    for source in applied:
        annotate(source["objects"], shared)
    for source in (*scenario.get("manifests", ()), *applied):
        for plain in source["objects"]:
            _annotate(plain, scripts)
    notes = (*made.notes, *(f"left out: {count} {what}" for what, count in sorted(left.items())))
    return Imported({key: value for key, value in scenario.items() if value not in ([], {})}, notes)


def _scripts(moments: Sequence[Moment]) -> dict[Key, dict[str, Plain]]:
    """Return the scripts of the containers of every pod that is no static pod's mirror."""
    revisions: dict[Key, list[tuple[float, Plain]]] = {}
    for each in moments:
        if each.plain["kind"] == "Pod":
            revisions.setdefault(key_of(each.plain), []).append((each.at, each.plain))
    return {key: found for key, pods in revisions.items() if (found := scripts_of(pods))}


def _shared(moments: Sequence[Moment], scripts: dict[Key, dict[str, Plain]]) -> dict[Group, Plain]:
    """Return the scripts of pods with owners: of each group that of the pod with the most runs."""
    chosen: dict[Group, Plain] = {}
    objects = {key_of(each.plain): each.plain for each in moments}
    for key, plain in objects.items():
        if key[0] != "Pod" or not plain["metadata"].get("ownerReferences"):
            continue
        for container, script in scripts.get(key, {}).items():
            group = group_of(plain, container, objects)
            if group and len(script["runs"]) > len(chosen.get(group, {"runs": ()})["runs"]):
                chosen[group] = script
    return chosen


def _actions(moments: Sequence[Moment], left: Counter[str]) -> list[Plain]:
    """Return what happened to objects that no controller makes: created, changed, deleted."""
    known: dict[Key, Plain] = {}
    found: list[Plain] = []
    for each in moments:
        plain, key = each.plain, key_of(each.plain)
        if plain["kind"] == NODE:
            if each.at and each.type in (ADDED, DELETED):
                left["nodes that came or went during the recording"] += 1
            continue
        if plain["kind"] not in ORDER or _is_derived(plain):
            continue
        gone = each.type == DELETED or bool(plain["metadata"].get("deletionTimestamp"))
        if gone:
            if known.pop(key, None) is not None and each.at:
                target = {"kind": key[0], "name": key[2]} | ({"namespace": key[1]} if key[1] else {})
                found.append(
                    {"at": each.at, "name": f"delete {key[0]} {key[2]}", "delete": {"target": target}}
                )
            continue
        wanted = cleaned(plain)
        before, known[key] = known.get(key), wanted
        if not each.at or wanted == before:
            continue
        if manifest_problem(wanted):
            left[f"{key[0]} that cannot be read here"] += 1
        elif key[0] == "Pod" and before is not None:
            left["changes of pods"] += 1  # of what the scheduler and the kubelet write into them
        else:
            verb = "create" if before is None else "change"
            found.append(
                {"at": each.at, "name": f"{verb} {key[0]} {key[2]}", "apply": {"objects": [cleaned(plain)]}}
            )
    left.pop("changes of pods", None)
    return found


def _is_derived(plain: Plain) -> bool:
    """Return whether a controller made this object; pods and Jobs that have ended count all the same."""
    return is_made_by_others({**plain, "status": {}})


def _annotate(plain: Plain, scripts: dict[Key, dict[str, Plain]]) -> None:
    """Give a pod without an owner the scripts of its containers."""
    if plain["kind"] == "Pod":
        annotations = plain["metadata"].setdefault("annotations", {})
        for container, script in scripts.get(key_of(plain), {}).items():
            annotations[ANNOTATION_PREFIX + container] = json.dumps(script)
