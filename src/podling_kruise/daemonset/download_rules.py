"""The images that an Advanced DaemonSet downloads before it updates pods, in place or not. Pure.

Upstream: ``daemonset_predownload_image.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.apps_v1 import ControllerRevision
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.revisions import REVISION_LABEL
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.daemonset.update_plan import partition_of
from podling_kruise.policies import ON_DELETE
from podling_kruise.predownload.download_plan import (
    LEFT_OUT,
    Download,
    changed_images,
    settings_of_annotations,
)


def is_over(owner: DaemonSet, digest: str) -> bool:
    """Return whether all pods are of the newest revision, as the status has it."""
    status = owner.status
    is_complete = status.updated_number_scheduled == status.desired_number_scheduled
    return is_complete and status.update_revision == digest


def download(owner: DaemonSet, old: Sequence[ControllerRevision], update: ControllerRevision) -> Download:
    """Return the downloads of an update. The number of updated pods has no say, as in OpenKruise."""
    spec, rolling, desired = owner.spec, owner.spec.rolling, owner.status.desired_number_scheduled
    unavailable = 1 if rolling.max_unavailable is None else rolling.max_unavailable
    is_one_batch = partition_of(spec, desired) == 0 and scaled(unavailable, desired, round_up=True) >= desired
    if spec.update_strategy.type == ON_DELETE or is_one_batch:
        return LEFT_OUT
    return Download(
        images=changed_images(old, update),
        template=spec.template,
        selector=spec.selector,
        digest=update.metadata.labels.get(REVISION_LABEL, ""),
        settings=settings_of_annotations(owner.metadata.annotations, desired),
    )
