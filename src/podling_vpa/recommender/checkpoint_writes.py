"""Reading, writing and deleting checkpoints.

Upstream: ``recommender/checkpoint/checkpoint_writer.go``, ``recommender/input/cluster_feeder.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Key, PatchType
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found, unless_gone
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.histogram import UnreadableCheckpoint
from podling_vpa.recommender.model import ClusterModel
from podling_vpa.types import CheckpointSpec, CheckpointStatus, VerticalPodAutoscalerCheckpoint

logger = logging.getLogger(__name__)


async def load_checkpoints(client: Client, model: ClusterModel, now: datetime) -> None:
    """Give the model the checkpoints of the autoscalers that it follows."""
    for checkpoint in (await client.list(VerticalPodAutoscalerCheckpoint)).items:
        key = Key(checkpoint.metadata.namespace or "", checkpoint.spec.vpa_object_name)
        if key not in model.followed:
            continue
        try:
            model.load(key, checkpoint.spec.container_name, checkpoint.status, now)
        except UnreadableCheckpoint as error:
            logger.warning("cannot load checkpoint for VPA %s. Reason: %s", key, error)


async def write_checkpoints(client: Client, key: Key, histories: dict[str, Aggregate], now: datetime) -> None:
    """Write a checkpoint for each container of an autoscaler."""
    for name, history in sorted(histories.items()):
        await _write(client, key, name, history.checkpoint(now))


async def _write(client: Client, key: Key, container: str, status: CheckpointStatus) -> None:
    name = f"{key.name}-{container}"
    patch = [{"op": "replace", "path": "/status", "value": codec.to_plain(status)}]
    try:
        await client.patch(
            VerticalPodAutoscalerCheckpoint, name, patch, key.namespace, patch_type=PatchType.JSON
        )
    except ApiError as error:
        if not is_not_found(error):
            raise
        metadata = ObjectMeta(name=name, namespace=key.namespace)
        spec = CheckpointSpec(vpa_object_name=key.name, container_name=container)
        await client.create(VerticalPodAutoscalerCheckpoint(metadata=metadata, spec=spec, status=status))


async def collect_checkpoints(client: Client, living: Collection[Key]) -> None:
    """Delete the checkpoints of autoscalers that are gone."""
    for checkpoint in (await client.list(VerticalPodAutoscalerCheckpoint)).items:
        metadata = checkpoint.metadata
        if Key(metadata.namespace or "", checkpoint.spec.vpa_object_name) not in living:
            with unless_gone():
                await client.delete(VerticalPodAutoscalerCheckpoint, metadata.name or "", metadata.namespace)
