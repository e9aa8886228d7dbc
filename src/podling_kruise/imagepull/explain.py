"""Explanations of ImagePullJobs for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from collections.abc import Mapping

from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.explaining import answer, well
from podling_kruise.imagepull.job_rules import tag_status
from podling_kruise.imagepull.references import name_and_tag
from podling_kruise.imagepull.types import FAILED, ImagePullJob, NodeImage


async def explain(question: Question) -> Explanation:
    """Return the answer for a job. Raises ``ApiError``."""
    job = await question.client.get(ImagePullJob, question.name, question.namespace)
    images = (await question.client.list(NodeImage)).items
    name, tag = name_and_tag(job.spec.image)
    found = {each.metadata.name or "": tag_status(each, name, tag) for each in images}
    return explain_job(job, {node: each.message for node, each in found.items() if each is not None})


def explain_job(job: ImagePullJob, messages: Mapping[str, str]) -> Explanation:
    """Return why the image is not on all nodes of the job. ``messages`` are those of nodes."""
    name, status = f"ImagePullJob {job.metadata.name}", job.status
    counts = f"{status.succeeded} of {status.desired} nodes have {job.spec.image}"
    if status.failed:
        node = next((each for each in status.failed_nodes if messages.get(each)), status.failed_nodes[0])
        why = messages.get(node) or status.message
        source = Source(kind="status", name="failedNodes", detail=", ".join(status.failed_nodes))
        text = f"{name}: {counts}; {status.failed} have failed. Node {node}: {why}."
        return answer(FAILED, text, "Correct the image or its secrets in another job.", source)
    if status.start_time is None:
        return answer("Waiting", f"{name} has not begun.", "Look again in a moment.")
    if not status.desired:
        text = f"{name} is for no node: none matches it, or none has been Ready for half a minute."
        return answer("NoNodes", text, "See: kubectl get nodeimages --show-labels")
    if status.succeeded == status.desired:
        return well("Completed", f"{name}: {counts}.")
    if not status.active and job.spec.parallelism is not None and int(job.spec.parallelism) == 0:
        field = Source(kind="spec", name="spec.parallelism", detail="0")
        return answer("Paused", f"{name} is paused: {counts}.", "Raise spec.parallelism.", field)
    limit = 1 if job.spec.parallelism is None else job.spec.parallelism
    text = f"{name}: {counts}; {status.active} pull it now, and {limit} may at the same time."
    return answer("Pulling", text, "Wait, or raise spec.parallelism.")
