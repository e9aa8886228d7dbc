"""A scenario from a cluster's objects, as ``kubectl get nodes,pods,deployments,... -A -o yaml`` prints them.

Nodes become groups, workloads and what they refer to become manifests. The time that containers took to
start, and how long those of Jobs ran, become behaviours. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Any

from podling.machinery.tokens.legacy_tokens import SECRET_TYPE, TRACKING
from podling.sim.importing.cleaning import cleaned, template_of
from podling.sim.importing.node_groups import facts_of, groups
from podling.sim.importing.script_groups import (
    Group,
    annotate,
    behaviours_of,
    group_of,
    key_of,
    missing_images,
)
from podling.sim.importing.sources import Imported
from podling.sim.manifests import ManifestProblem, manifests_of
from podling.sim.scenario_parts import ManifestSource

Plain = dict[str, Any]

FIRST = ("Namespace", "PriorityClass", "ServiceAccount", "ConfigMap", "Secret", "LimitRange", "ResourceQuota")
"""Kinds that others need, in the order in which they are applied."""
WORKLOADS = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Job",
    "CronJob",
    "Pod",
)
LAST = ("Service", "PodDisruptionBudget", "HorizontalPodAutoscaler")
ORDER = (*FIRST, *WORKLOADS, *LAST)
MADE_BY_ITSELF = (
    "kube-root-ca.crt",
    TRACKING,
    "kubernetes",
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
)
MIRROR = "kubernetes.io/config.mirror"
UNTIL = "1h"
NO_NODES = "no nodes were given: the scenario has three of the default size"
DEFAULT_NODES = [{"name": "node", "count": 3}]


def scenario_from_objects(objects: Sequence[Plain], scripts: Mapping[Group, Plain] | None = None) -> Imported:
    """Return the scenario of a cluster that has these objects; ``scripts``: of containers, if known."""
    nodes = [(each["metadata"]["name"], facts_of(each)) for each in objects if each["kind"] == "Node"]
    left = Counter[str]()
    kept: list[Plain] = []
    for each in objects:
        if each["kind"] != "Node" and not is_made_by_others(each):
            _sort(each, kept, left)
    kept.sort(key=lambda each: ORDER.index(each["kind"]))
    notes = [f"left out: {count} {kind}" for kind, count in sorted(left.items())]
    if not nodes:
        notes.append(NO_NODES)
    kept = _with_references(kept, notes)
    scripts = _scripts(objects) if scripts is None else scripts
    annotate(kept, scripts)
    images = missing_images(each for each in objects if each["kind"] == "Pod")
    scenario: Plain = {
        "description": "A cluster imported from its objects.",
        "until": UNTIL,
        "nodes": groups(nodes) if nodes else DEFAULT_NODES,
        "manifests": [{"objects": kept}] if kept else [],
        "behaviours": behaviours_of(scripts),
        "images": images,
    }
    return Imported({key: value for key, value in scenario.items() if value not in ([], {})}, tuple(notes))


def _sort(each: Plain, kept: list[Plain], left: Counter[str]) -> None:
    """Keep an object, or count it among those that are left out."""
    kind = each["kind"]
    if kind not in ORDER:
        left[f"{kind}: scenarios do not take this kind"] += 1
        return
    plain = cleaned(each)
    if problem := manifest_problem(plain):
        left[f"{kind} that cannot be read here, as {plain['metadata']['name']}: {problem}"] += 1
    else:
        kept.append(plain)


def manifest_problem(plain: Plain) -> str:
    """Return why an object cannot be applied in a scenario; empty if it can."""
    from pathlib import Path

    try:
        manifests_of(ManifestSource(objects=(plain,)), Path())
    except ManifestProblem as error:
        return str(error)
    return ""


def is_made_by_others(each: Plain) -> bool:
    """Return whether the control plane or another object makes this one again, or it is over."""
    metadata, kind = each["metadata"], each["kind"]
    if kind in FIRST and metadata["name"] in MADE_BY_ITSELF:
        return True
    if kind == "Service" and metadata["name"] == "kubernetes" and metadata.get("namespace") == "default":
        return True
    if kind == "PriorityClass" and metadata["name"].startswith("system-"):
        return True
    if kind == "Secret" and each.get("type") == SECRET_TYPE:
        return True
    if any(owner.get("controller") for owner in metadata.get("ownerReferences") or ()):
        return True
    status = each.get("status") or {}
    if kind == "Pod":
        return MIRROR in (metadata.get("annotations") or {}) or status.get("phase") in ("Succeeded", "Failed")
    finished = ("Complete", "Failed")
    conditions = status.get("conditions") or ()
    return kind == "Job" and any(c["type"] in finished and c["status"] == "True" for c in conditions)


def _with_references(kept: list[Plain], notes: list[str]) -> list[Plain]:
    """Return the objects with the namespaces and service accounts that they need and that were not given."""
    given = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in kept}
    added: list[Plain] = []
    for each in kept:
        namespace = each["metadata"].get("namespace", "")
        key = ("Namespace", "", namespace)
        if namespace and key not in given and namespace not in MADE_BY_ITSELF:
            given.add(key)
            added.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account = (template_of(each).get("spec") or {}).get("serviceAccountName", "")
        key = ("ServiceAccount", namespace, account)
        if account and account != "default" and key not in given:
            given.add(key)
            metadata = {"name": account, "namespace": namespace or "default"}
            added.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    if added:
        notes.append(f"added: {len(added)} namespaces and service accounts that the objects refer to")
    return sorted([*added, *kept], key=lambda each: ORDER.index(each["kind"]))


def _scripts(objects: Sequence[Plain]) -> dict[Group, Plain]:
    """Return what the pods of the other cluster showed of their containers' times."""
    starts: dict[Group, list[float]] = {}
    runs: dict[Group, list[tuple[float, int]]] = {}
    by_key = {key_of(each): each for each in objects}
    for pod in objects:
        if pod["kind"] != "Pod":
            continue
        scheduled = _scheduled(pod)
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            group = group_of(pod, status["name"], by_key)
            state = status.get("state") or {}
            began = (state.get("running") or state.get("terminated") or {}).get("startedAt")
            if group is None or not began or status.get("restartCount"):
                continue
            if scheduled is not None:
                starts.setdefault(group, []).append(max(0.0, (_moment(began) - scheduled).total_seconds()))
            ended = state.get("terminated") or {}
            if ended.get("finishedAt"):
                length = (_moment(ended["finishedAt"]) - _moment(began)).total_seconds()
                runs.setdefault(group, []).append((length, int(ended.get("exitCode", 0))))
    found = {}
    for group in dict.fromkeys([*starts, *runs]):
        script: Plain = {"startSeconds": round(median(starts.get(group, [0.0])), 1)}
        if group in runs:
            seconds = round(median(length for length, _ in runs[group]), 1)
            script["runs"] = [{"seconds": seconds, "exitCode": runs[group][-1][1]}]
        found[group] = script
    return found


def _scheduled(pod: Plain) -> datetime | None:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "True" and each.get("lastTransitionTime"):
            return _moment(each["lastTransitionTime"])
    return None


def _moment(text: Any) -> datetime:
    return text if isinstance(text, datetime) else datetime.fromisoformat(str(text))
