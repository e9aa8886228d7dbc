"""Decisions about ImagePullJobs: validation, nodes, progress, and what they write into NodeImages. Pure.

Upstream: ``pkg/controller/imagepulljob``, ``pkg/webhook/imagepulljob``, ``pkg/util/imagejob``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct, structs

from podling.api.core_v1 import ObjectReference, Pod
from podling.clock import seconds_precision
from podling.controllers.pod_state import is_active
from podling.machinery.selectors import from_label_selector
from podling_kruise.field_checks import integer_problem
from podling_kruise.imagepull.references import InvalidReference, name_and_tag
from podling_kruise.imagepull.types import (
    ALWAYS,
    FAILED,
    IF_NOT_PRESENT,
    NEVER,
    SUCCEEDED,
    ImagePullJob,
    ImagePullJobSpec,
    ImagePullJobStatus,
    ImagePullJobTemplate,
    ImageSpec,
    NodeImage,
    PullPolicy,
    SecretReference,
    TagSpec,
    TagStatus,
)

T = TypeVar("T", bound=ImagePullJobTemplate)

TIMEOUT_SECONDS, TRIES = 600, 3
DAY_SECONDS, NEVER_DEADLINE_SECONDS = 24 * 3600, 1800
EXCEEDED = "job exceeds activeDeadlineSeconds"


def filled(spec: ImagePullJobSpec) -> ImagePullJobSpec:
    """Return the spec with its defaults."""
    found = filled_template(spec)
    return structs.replace(found, image_pull_policy=spec.image_pull_policy or IF_NOT_PRESENT)


def filled_template(template: T) -> T:
    """Return the fields that jobs for one image and for several share, with their defaults."""
    pull, completion = template.pull_policy, template.completion_policy
    timeout = TIMEOUT_SECONDS if pull.timeout_seconds is None else pull.timeout_seconds
    tries = TRIES if pull.backoff_limit is None else pull.backoff_limit
    return structs.replace(
        template,
        completion_policy=structs.replace(completion, type=completion.type or ALWAYS),
        pull_policy=structs.replace(pull, timeout_seconds=timeout, backoff_limit=tries),
    )


def problem_of(spec: ImagePullJobSpec) -> str:
    """Return what is wrong with a spec; empty if nothing is."""
    return selector_problem(spec) or _image_problem(spec) or parallelism_problem(spec) or _end_problem(spec)


def selector_problem(spec: ImagePullJobTemplate) -> str:
    selector = spec.selector
    if selector is not None:
        if selector.names is not None and (selector.match_labels or selector.match_expressions):
            return "can not set both names and labelSelector in this spec.selector"
        try:
            from_label_selector(selector.labels)
        except ValueError as error:
            return f"invalid selector: {error}"
        if len(set(selector.names or ())) != len(selector.names or ()):
            return "duplicated name in selector names"
    if spec.pod_selector is not None:
        if selector is not None:
            return "can not set both selector and podSelector"
        try:
            from_label_selector(spec.pod_selector)
        except ValueError as error:
            return f"invalid podSelector: {error}"
    return ""


def _image_problem(spec: ImagePullJobSpec) -> str:
    return name_problem(spec.image) if spec.image else "image can not be empty"


def name_problem(image: str) -> str:
    """Return what is wrong with the name of an image; empty if nothing is."""
    try:
        name_and_tag(image)
    except InvalidReference as error:
        return f"invalid image {image}: {error}"
    return ""


def parallelism_problem(spec: ImagePullJobTemplate) -> str:
    value = spec.parallelism
    if isinstance(value, str):
        if value.endswith("%"):
            return "parallelism does not support percentage value"
        if why := integer_problem(value):
            return f"parallelism must be a valid integer: {why}"
    if value is not None and int(value) < 0:
        return "parallelism must be non-negative"
    return ""


def _end_problem(spec: ImagePullJobSpec) -> str:
    deadline, timeout = spec.completion_policy.active_deadline_seconds, spec.pull_policy.timeout_seconds
    shortest = TIMEOUT_SECONDS if timeout is None else timeout
    if spec.completion_policy.type == ALWAYS and deadline is not None and shortest > deadline:
        limit = "pullPolicy.timeoutSeconds(default 600)"
        return f"completionPolicy.activeDeadlineSeconds must be greater than {limit}"
    return completion_problem(spec)


def completion_problem(spec: ImagePullJobTemplate) -> str:
    """Return what is wrong with the completion policy; empty if nothing is."""
    policy = spec.completion_policy
    if policy.type == NEVER:
        if policy.active_deadline_seconds is not None or policy.ttl_seconds_after_finished is not None:
            fields = "activeDeadlineSeconds and ttlSecondsAfterFinished"
            return f"{fields} can only work with Always CompletionPolicyType"
    elif policy.type != ALWAYS:
        return f"unknown type of completionPolicy: {policy.type}"
    return ""


def nodes_of(job: ImagePullJob, images: Iterable[NodeImage], pods: Iterable[Pod]) -> list[NodeImage]:
    """Return the NodeImages that the job is for. ``pods`` are those of its namespace."""
    selector = job.spec.selector
    if job.spec.pod_selector is not None:
        matched = from_label_selector(job.spec.pod_selector)
        names = {
            pod.spec.node_name for pod in pods if is_active(pod) and matched.matches(pod.metadata.labels)
        }
        return [each for each in images if each.metadata.name in names]
    if selector is None:
        return list(images)
    if selector.names is not None:
        return [each for each in images if each.metadata.name in selector.names]
    labels = from_label_selector(selector.labels)
    return [each for each in images if labels.matches(each.metadata.labels)]


class Progress(Struct, frozen=True):
    """The names of nodes, by what became of the image there."""

    unsynced: tuple[str, ...] = ()
    pulling: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def progress_of(
    job: ImagePullJob, images: Iterable[NodeImage], secrets: Sequence[SecretReference]
) -> Progress:
    """Return how far the nodes are. Raises ``InvalidReference``."""
    name, tag = name_and_tag(job.spec.image)
    found: dict[str, list[str]] = {"unsynced": [], "pulling": [], "succeeded": [], "failed": []}
    for each in images:
        node = each.metadata.name or ""
        spec = each.spec.images.get(name)
        version = _own_version(job, spec, tag)
        if version is None or (spec is not None and _lacks_secret(spec, secrets)):
            found["unsynced"].append(node)
        if version is None:
            continue
        status = tag_status(each, name, tag)
        phase = status.phase if status is not None and status.version == version else ""
        kind = {SUCCEEDED: "succeeded", FAILED: "failed"}.get(phase, "pulling")
        found[kind].append(node)
    return Progress(**{kind: tuple(sorted(names)) for kind, names in found.items()})


def _own_version(job: ImagePullJob, spec: ImageSpec | None, tag: str) -> int | None:
    """Return the version of the tag that the job has written; None if it has not."""
    for each in spec.tags if spec is not None else ():
        if each.tag == tag and any(owner.uid == job.metadata.uid for owner in each.owner_references):
            return each.version
    return None


def _lacks_secret(spec: ImageSpec, secrets: Iterable[SecretReference]) -> bool:
    held = {(each.namespace, each.name) for each in spec.pull_secrets}
    return any((each.namespace, each.name) not in held for each in secrets)


def tag_status(image: NodeImage, name: str, tag: str) -> TagStatus | None:
    status = image.status.image_statuses.get(name)
    return next((each for each in status.tags if each.tag == tag), None) if status is not None else None


def status_of(job: ImagePullJob, progress: Progress, desired: int, now: datetime) -> ImagePullJobStatus:
    """Return the status of a job that has not ended before."""
    done = len(progress.succeeded) + len(progress.failed)
    started = job.status.start_time or seconds_precision(now)
    status = ImagePullJobStatus(
        start_time=started,
        desired=desired,
        active=len(progress.pulling),
        succeeded=len(progress.succeeded),
        failed=len(progress.failed),
        failed_nodes=progress.failed,
    )
    left = seconds_to_deadline(job, started, now)
    if left is not None and left <= 0 and done != desired:
        failed = {*progress.failed, *progress.pulling, *progress.unsynced}
        return structs.replace(
            status,
            completion_time=seconds_precision(now),
            active=0,
            failed=len(failed),
            failed_nodes=tuple(sorted(failed)),
            message=EXCEEDED,
        )
    if job.spec.completion_policy.type != NEVER and done == desired:
        ended = seconds_precision(now)
        return structs.replace(status, completion_time=ended, message="job has completed")
    if not desired:
        return structs.replace(status, message="job is running, no progress")
    return structs.replace(status, message=f"job is running, progress {100 * done / desired:.1f}%")


def seconds_to_deadline(job: ImagePullJob, started: datetime, now: datetime) -> float | None:
    """Return the time until the job ends in any case; None without a deadline."""
    policy = job.spec.completion_policy
    if policy.type == NEVER or policy.active_deadline_seconds is None:
        return None
    return (started + timedelta(seconds=policy.active_deadline_seconds) - now) / timedelta(seconds=1)


def seconds_to_deletion(job: ImagePullJob, now: datetime) -> float | None:
    """Return the time until an ended job is deleted; None if it stays."""
    seconds, end = job.spec.completion_policy.ttl_seconds_after_finished, job.status.completion_time
    if seconds is None or end is None:
        return None
    return (end + timedelta(seconds=seconds) - now) / timedelta(seconds=1)


def next_nodes(job: ImagePullJob, progress: Progress) -> tuple[str, ...]:
    """Return the nodes that may begin now: as many as the parallelism leaves."""
    limit = 1 if job.spec.parallelism is None else int(job.spec.parallelism)
    return progress.unsynced[: max(limit - len(progress.pulling), 0)]


def with_image(
    image: NodeImage, job: ImagePullJob, secrets: Sequence[SecretReference], now: datetime, spread: float
) -> NodeImage:
    """Return the NodeImage with the job's image.

    Args:
        spread: a number from 0 to 1, which spreads the times at which tags are deleted.
    """
    name, tag = name_and_tag(job.spec.image)
    spec = image.spec.images.get(name, ImageSpec())
    held = [(each.namespace, each.name) for each in spec.pull_secrets]
    added = [each for each in secrets if (each.namespace, each.name) not in held]
    earlier = next((each for each in spec.tags if each.tag == tag), None)
    wanted = earlier if _own_version(job, spec, tag) is not None else None
    if wanted is None:
        wanted = _tag_spec(image, earlier, job, now, spread)
    others = [each for each in spec.tags if each.tag != tag]
    tags = tuple(sorted([*others, wanted], key=lambda each: each.tag))
    made = structs.replace(
        spec,
        tags=tags,
        pull_secrets=(*spec.pull_secrets, *added),
        sandbox_config=job.spec.sandbox_config,
    )
    return structs.replace(image, spec=structs.replace(image.spec, images={**image.spec.images, name: made}))


def _tag_spec(
    image: NodeImage, earlier: TagSpec | None, job: ImagePullJob, now: datetime, spread: float
) -> TagSpec:
    """Return the tag of a job; another version begins another pull."""
    metadata, (name, tag) = job.metadata, name_and_tag(job.spec.image)
    owner = ObjectReference(
        api_version=job.custom_resource.group_version,
        kind="ImagePullJob",
        name=metadata.name or "",
        namespace=metadata.namespace or "",
        uid=metadata.uid or "",
    )
    at, policy = seconds_precision(now), job.spec.image_pull_policy
    if earlier is not None:
        owners = (*earlier.owner_references, owner)
        return structs.replace(
            earlier,
            version=earlier.version + 1,
            owner_references=owners,
            created_at=at,
            image_pull_policy=policy,
        )
    last = tag_status(image, name, tag)
    return TagSpec(
        tag=tag,
        version=0 if last is None else last.version + 1,
        pull_policy=pull_policy_of(job.spec, spread),
        owner_references=(owner,),
        created_at=at,
        image_pull_policy=policy,
    )


def pull_policy_of(spec: ImagePullJobSpec, spread: float) -> PullPolicy:
    """Return the policy of the job's tag on a node."""
    pull, completion = spec.pull_policy, spec.completion_policy
    timeout = TIMEOUT_SECONDS if pull.timeout_seconds is None else pull.timeout_seconds
    tries = TRIES if pull.backoff_limit is None else pull.backoff_limit
    if completion.type == NEVER:
        ttl = DAY_SECONDS - 600 + int(1200 * spread)
        deadline: int | None = max(timeout, NEVER_DEADLINE_SECONDS)
    else:
        deadline = completion.active_deadline_seconds
        base = completion.ttl_seconds_after_finished
        if base is None:
            base = timeout * tries if deadline is None else deadline
        ttl = base + int(300 * spread)
    return PullPolicy(
        timeout_seconds=pull.timeout_seconds,
        backoff_limit=pull.backoff_limit,
        ttl_seconds_after_finished=ttl,
        active_deadline_seconds=deadline,
    )
