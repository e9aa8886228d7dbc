"""Explanations of ImageListPullJobs for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from podling.api.core_v1 import Event
from podling.controllers.owner_references import is_controlled_by
from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.explaining import answer, last_event, well
from podling_kruise.imagelistpull.types import ImageListPullJob
from podling_kruise.imagepull.explain import explain as explain_job
from podling_kruise.imagepull.types import ImagePullJob

Explained = tuple[ImagePullJob, Explanation]


async def explain(question: Question) -> Explanation:
    """Return the answer for a job. Raises ``ApiError``."""
    owner = await question.client.get(ImageListPullJob, question.name, question.namespace)
    listed = (await question.client.list(ImagePullJob, question.namespace)).items
    found = []
    for job in listed:
        if is_controlled_by(job, owner) and job.metadata.deletion_timestamp is None:
            about = structs.replace(question, name=job.metadata.name or "")
            found.append((job, await explain_job(about)))
    return explain_list(owner, found, await question.events(owner))


def explain_list(owner: ImageListPullJob, jobs: Sequence[Explained], events: Sequence[Event]) -> Explanation:
    """Return why the images are not on all nodes: the ImagePullJobs first that have failed."""
    name, status = f"ImageListPullJob {owner.metadata.name}", owner.status
    counts = f"{status.succeeded} of {len(owner.spec.images)} images are on all nodes"
    held = {job.spec.image for job, _ in jobs}
    missing = [image for image in owner.spec.images if image not in held]
    refused = last_event(events, "FailedCreate")
    if missing and refused is not None and status.completion_time is None:
        source = Source(
            kind="event", name="FailedCreate", detail=refused.message, last=refused.last_timestamp
        )
        text = f"{name}: {counts}. {missing[0]} has no ImagePullJob: {refused.message}."
        return answer("FailedCreate", text, "Correct the spec of the job.", source)
    ill = sorted((each for each in jobs if not each[1].healthy), key=lambda each: not each[0].status.failed)
    if ill:
        failed = [
            Source(kind="status", name="failedImageStatuses", detail=f"{each.name} ({each.image_pull_job})")
            for each in status.failed_image_statuses
        ]
        first = ill[0][1]
        text = f"{name}: {counts}. {first.text}"
        return structs.replace(first, text=text, evidence=(*failed, *first.evidence))
    if missing or status.succeeded != len(owner.spec.images):
        return answer("Waiting", f"{name}: {counts}.", "Look again in a moment.")
    return well("Completed", f"{name}: {counts}.")
