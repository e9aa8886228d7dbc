"""Replication controllers, the elders of replica sets: the same work for the older kind.

Upstream: ``pkg/controller/replication``, which wraps the replica set's controller likewise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import structs

from podling.api.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus
from podling.api.core_v1 import (
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerCondition,
    ReplicationControllerStatus,
)
from podling.api.meta_v1 import LabelSelector as Selector
from podling.controllers.base import ControllerContext
from podling.controllers.status_writes import write_status
from podling.controllers.workloads.replicaset import ReplicaKeeper
from podling.machinery.selectors import LabelSelector, from_labels


def selector_of(owner: ReplicationController) -> LabelSelector | None:
    return from_labels(owner.spec.selector) if owner.spec.selector else None


class ReplicationControllerController(ReplicaKeeper[ReplicationController]):
    name: ClassVar[str] = "replicationcontroller-controller"

    def __init__(self, context: ControllerContext) -> None:
        owners = context.informers.informer(ReplicationController)
        super().__init__(context, owners, selector_of, "replication-controller")

    def as_replica_set(self, owner: ReplicationController) -> ReplicaSet:
        spec, status = owner.spec, owner.status
        return ReplicaSet(
            api_version=owner.api_version,
            kind=owner.kind,
            metadata=owner.metadata,
            spec=ReplicaSetSpec(
                replicas=spec.replicas,
                min_ready_seconds=spec.min_ready_seconds,
                selector=Selector(match_labels=dict(spec.selector)),
                template=spec.template or PodTemplateSpec(),
            ),
            status=ReplicaSetStatus(
                **_counts(status),
                conditions=tuple(_converted(each, ReplicaSetCondition) for each in status.conditions),
            ),
        )

    def related(self, owner: ReplicationController) -> Iterable[ReplicationController]:
        return (owner,)

    async def write(self, owner: ReplicationController, status: ReplicaSetStatus) -> None:
        wanted = ReplicationControllerStatus(
            **_counts(status),
            conditions=tuple(_converted(each, ReplicationControllerCondition) for each in status.conditions),
        )
        if wanted != owner.status:  # it has no number of terminating pods
            await write_status(self.client, structs.replace(owner, status=wanted))


def _counts(status: ReplicaSetStatus | ReplicationControllerStatus) -> dict[str, Any]:
    """The counts in the status of both kinds."""
    return {
        "replicas": status.replicas,
        "fully_labeled_replicas": status.fully_labeled_replicas,
        "ready_replicas": status.ready_replicas,
        "available_replicas": status.available_replicas,
        "observed_generation": status.observed_generation,
    }


def _converted(condition: Any, kind: type[Any]) -> Any:
    """Return a condition of one kind as the other's: their fields are the same."""
    return kind(**structs.asdict(condition))
