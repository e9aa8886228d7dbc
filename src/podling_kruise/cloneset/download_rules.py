"""The images that a CloneSet downloads before it updates pods in place. Pure.

Upstream: ``cloneset_predownload_image.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.apps_v1 import ControllerRevision
from podling.api.meta_v1 import LabelSelector
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.revisions import HASH
from podling_kruise.cloneset.claim_hash import needs_new_claims
from podling_kruise.cloneset.scale_plan import partition_of
from podling_kruise.cloneset.types import MAX_UNAVAILABLE, CloneSet
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.policies import IN_PLACE
from podling_kruise.predownload.download_plan import (
    LEFT_OUT,
    REPLICAS_MIN,
    Download,
    changed_images,
    settings_of_strategy,
)


def download(
    owner: CloneSet, current: ControllerRevision, update: ControllerRevision, gates: Mapping[str, bool]
) -> Download | None:
    """Return the downloads of an update; None while too few updated pods are ready."""
    spec, rolling = owner.spec, owner.spec.rolling
    settings = settings_of_strategy(rolling.in_place_update_strategy)
    ready = owner.status.updated_ready_replicas
    if owner.status.update_revision != update.metadata.name:
        ready = 0
    if ready < settings.min_updated:
        return None
    unavailable = MAX_UNAVAILABLE if rolling.max_unavailable is None else rolling.max_unavailable
    is_one_batch = (
        partition_of(rolling.partition, spec.wanted) == 0
        and scaled(unavailable, spec.wanted, round_up=False) >= spec.wanted
    )
    if rolling.pod_update_policy not in IN_PLACE or spec.wanted < REPLICAS_MIN or is_one_batch:
        return LEFT_OUT
    spec_of_update = update_spec(current.data, update.data, update.metadata.name or "", gates)
    if spec_of_update is None or needs_new_claims(owner, current, update, gates):
        return LEFT_OUT
    return Download(
        images=changed_images([current], update),
        template=spec.template,
        selector=spec.selector or LabelSelector(),
        digest=update.metadata.labels.get(HASH, ""),
        settings=settings,
    )
