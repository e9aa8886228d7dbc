"""The images that an Advanced StatefulSet downloads before it updates pods in place. Pure.

Upstream: ``statefulset_predownload_image.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.apps_v1 import ControllerRevision
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.revisions import HASH
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.policies import IN_PLACE, ON_DELETE
from podling_kruise.predownload.download_plan import (
    LEFT_OUT,
    REPLICAS_MIN,
    Download,
    changed_images,
    settings_of_annotations,
)
from podling_kruise.statefulset.types import StatefulSet


def download(
    owner: StatefulSet, current: ControllerRevision, update: ControllerRevision, gates: Mapping[str, bool]
) -> Download | None:
    """Return the downloads of an update; None while too few updated pods are ready."""
    spec, rolling = owner.spec, owner.spec.rolling
    settings = settings_of_annotations(owner.metadata.annotations, spec.wanted)
    ready = owner.status.updated_ready_replicas
    if owner.status.update_revision != update.metadata.name:
        ready = 0
    if ready < settings.min_updated:
        return None
    unavailable = 1 if rolling.max_unavailable is None else rolling.max_unavailable
    is_one_batch = not rolling.partition and scaled(unavailable, spec.wanted, round_up=False) >= spec.wanted
    is_in_place = spec.update_strategy.type != ON_DELETE and rolling.pod_update_policy in IN_PLACE
    if not is_in_place or spec.wanted < REPLICAS_MIN or is_one_batch:
        return LEFT_OUT
    if update_spec(current.data, update.data, update.metadata.name or "", gates) is None:
        return LEFT_OUT
    return Download(
        images=changed_images([current], update),
        template=spec.template,
        selector=spec.selector,
        digest=update.metadata.labels.get(HASH, ""),
        settings=settings,
    )
