"""The ImagePullJobs that download the images of a new revision. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement, ObjectMeta
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.revisions import HASH, template_of
from podling.machinery.numbers import INT32_MAX
from podling_kruise.broadcastjob.types import CompletionPolicy
from podling_kruise.common_types import InPlaceUpdateStrategy
from podling_kruise.imagepull.types import (
    ALWAYS,
    ImagePullJob,
    ImagePullJobSpec,
    PullPolicy,
    SandboxConfig,
)
from podling_kruise.names import (
    PREDOWNLOAD_CREATED,
    PREDOWNLOAD_IGNORED,
    PREDOWNLOAD_MIN_UPDATED,
    PREDOWNLOAD_PARALLELISM,
    PREDOWNLOAD_TIMEOUT,
    REVISION_HASH,
)

REPLICAS_MIN = 4
"""Workloads with fewer pods download nothing: their updates are short."""
TIMEOUT_SECONDS, TTL_SECONDS = 300, 600

_INTEGER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


class DownloadSettings(Struct, frozen=True):
    """The choices of a workload's owner. ``min_updated``: updated pods that must be ready before."""

    parallelism: int | str = 1
    timeout_seconds: int = TIMEOUT_SECONDS
    min_updated: int = 0


class Download(Struct, frozen=True, kw_only=True):
    """The images of a revision by container; none of them where ``is_left_out``."""

    is_left_out: bool = False
    images: Mapping[str, str] = {}
    template: PodTemplateSpec = PodTemplateSpec()
    selector: LabelSelector = LabelSelector()
    digest: str = ""
    settings: DownloadSettings = DownloadSettings()


LEFT_OUT = Download(is_left_out=True)


def is_decided(revision: ControllerRevision) -> bool:
    """Return whether the downloads of a revision were begun, or are left out."""
    return PREDOWNLOAD_CREATED in revision.metadata.labels or PREDOWNLOAD_IGNORED in revision.metadata.labels


def settings_of_strategy(strategy: InPlaceUpdateStrategy | None) -> DownloadSettings:
    """Return the settings that are fields of a workload."""
    own = strategy or InPlaceUpdateStrategy()
    parallelism, timeout = own.image_pre_download_parallelism, own.image_pre_download_timeout_seconds
    return DownloadSettings(
        1 if parallelism is None else parallelism,
        TIMEOUT_SECONDS if timeout is None else timeout,
        own.image_pre_download_min_updated_ready_pods or 0,
    )


def settings_of_annotations(annotations: Mapping[str, str], replicas: int) -> DownloadSettings:
    """Return the settings that are annotations of a workload; those that cannot be read do not count."""
    parallelism = _integer(annotations.get(PREDOWNLOAD_PARALLELISM, ""))
    timeout = _integer(annotations.get(PREDOWNLOAD_TIMEOUT, ""))
    return DownloadSettings(
        1 if parallelism is None else parallelism,
        TIMEOUT_SECONDS if timeout is None else timeout,
        _number_or_share(annotations.get(PREDOWNLOAD_MIN_UPDATED, ""), replicas),
    )


def _integer(text: str) -> int | None:
    found = int(text) if _INTEGER.fullmatch(text) else None
    return found if found is not None and abs(found) <= INT32_MAX else None


def _number_or_share(text: str, total: int) -> int:
    number = _integer(text)
    if number is not None:
        return number
    try:
        return scaled(text, total, round_up=True)
    except ValueError:
        return 0


def changed_images(old: Sequence[ControllerRevision], new: ControllerRevision) -> dict[str, str]:
    """Return the images by container that one of the old revisions does not have."""
    before = [{each.name: each.image for each in template_of(revision).spec.containers} for revision in old]
    return {
        each.name: each.image or ""
        for each in template_of(new).spec.containers
        if not any(each.name in images for images in before)
        or any(images.get(each.name, each.image) != each.image for images in before)
    }


def pull_job(owner: ApiObject, revision: str, container: str, plan: Download) -> ImagePullJob:
    """Return the job that pulls a container's image on the nodes of pods of other revisions.

    Its labels are those of the pods: all that a workload owns matches its selector.
    """
    others = LabelSelectorRequirement(key=REVISION_HASH, operator="NotIn", values=(revision, plan.digest))
    expressions = (*plan.selector.match_expressions, others)
    labels = {**plan.template.metadata.labels, HASH: plan.digest}
    spec = ImagePullJobSpec(
        image=plan.images[container],
        pull_secrets=tuple(each.name for each in plan.template.spec.image_pull_secrets),
        pod_selector=structs.replace(plan.selector, match_expressions=expressions),
        parallelism=plan.settings.parallelism,
        pull_policy=PullPolicy(backoff_limit=1, timeout_seconds=plan.settings.timeout_seconds),
        completion_policy=CompletionPolicy(type=ALWAYS, ttl_seconds_after_finished=TTL_SECONDS),
        sandbox_config=SandboxConfig(labels=labels, annotations=plan.template.metadata.annotations),
    )
    metadata = ObjectMeta(
        name=f"{revision}-{container}",
        namespace=owner.metadata.namespace,
        labels=labels,
        owner_references=(controller_reference(owner),),
    )
    return ImagePullJob(metadata=metadata, spec=spec)
