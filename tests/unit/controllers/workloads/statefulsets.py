"""StatefulSets with pods in states that short words name, and plans as words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision, StatefulSet
from podling.api.core_v1 import PersistentVolumeClaim, Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.controllers.workloads.statefulset_plan import Create, Delete, Repair, UpdateClaims, plan
from podling.controllers.workloads.statefulset_rules import View, member
from tests.support.workloads import stateful_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def revision(name: str) -> ControllerRevision:
    return ControllerRevision(metadata=ObjectMeta(name=name), data={}, revision=1)


def pod(stateful: StatefulSet, ordinal: int, state: str) -> Pod:
    """A member in one of the states ``ready``, ``waiting``, ``young``, ``pending``, ``failed``; a ``!`` after
    it says that it is being deleted, an ``o`` that it is of the old revision."""
    word = state.rstrip("!o")
    phases = {
        "ready": "Running",
        "young": "Running",
        "waiting": "Running",
        "pending": "Pending",
        "failed": "Failed",
    }
    since = NOW if word == "young" else NOW - timedelta(hours=1)
    status = "True" if word in ("ready", "young") else "False"
    condition = PodCondition(type="Ready", status=status, last_transition_time=since)
    made = member(stateful, stateful.spec.template, "old" if "o" in state[len(word) :] else "new", ordinal)
    metadata = structs.replace(
        made.metadata, uid=f"uid-{ordinal}", deletion_timestamp=NOW if state.endswith("!") else None
    )
    return structs.replace(
        made, metadata=metadata, status=PodStatus(phase=phases[word], conditions=(condition,))
    )


def view(replicas: int, pods: dict[int, str], **more: Any) -> View:
    claims = more.pop("claims", {})
    stateful = stateful_set(replicas, **more)
    stateful = structs.replace(
        stateful,
        metadata=structs.replace(stateful.metadata, uid="set"),
        status=structs.replace(stateful.status, current_revision="old", update_revision="new"),
    )
    return View(
        stateful,
        [pod(stateful, ordinal, state) for ordinal, state in pods.items()],
        revision("old"),
        revision("new"),
        NOW,
        claims,
    )


def words_of(seen: View) -> list[str]:
    """Return the plan as words, in order."""
    words = []
    for step in plan(seen):
        for action in step:
            match action:
                case Create(ordinal=ordinal):
                    words.append(f"create {ordinal}")
                case Delete(pod=gone):
                    words.append(f"delete {gone.metadata.name}")
                case Repair(ordinal=ordinal):
                    words.append(f"repair {ordinal}")
                case UpdateClaims(ordinal=ordinal):
                    words.append(f"claims {ordinal}")
    return words


def claim(name: str, *owners: tuple[str, str, str]) -> PersistentVolumeClaim:
    references = tuple(
        OwnerReference(
            api_version="apps/v1" if kind == "StatefulSet" else "v1",
            kind=kind,
            name=of,
            uid=uid,
            controller=True,
            block_owner_deletion=True,
        )
        for kind, of, uid in owners
    )
    return PersistentVolumeClaim(metadata=ObjectMeta(name=name, owner_references=references))
