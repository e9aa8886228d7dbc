"""Explanations of BroadcastJobs for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Event, Node, Pod
from podling.controllers.owner_references import is_controlled_by
from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.broadcastjob.job_plan import Placement, census, number_to_create, placement
from podling_kruise.broadcastjob.types import NEVER, BroadcastJob
from podling_kruise.explaining import Explained, answer, last_event, troubled, well


class Facts(Struct, frozen=True):
    """A job, its pods, the answers for those that are active, the places of pods, and the events."""

    job: BroadcastJob
    pods: Sequence[Pod]
    active: Sequence[Explained]
    placed: Placement
    events: Sequence[Event]

    @property
    def name(self) -> str:
        return f"BroadcastJob {self.job.metadata.name}"

    @property
    def counts(self) -> str:
        found = census(self.job, self.pods)
        return f"{len(found.succeeded)} of {len(self.placed.desired)} nodes have finished"


async def explain(question: Question) -> Explanation:
    """Return the answer for a job. Raises ``ApiError``."""
    job = await question.client.get(BroadcastJob, question.name, question.namespace)
    listed = (await question.client.list(Pod, question.namespace)).items
    pods = [pod for pod in listed if is_controlled_by(pod, job)]
    active = [(pod, await question.of_pod(pod)) for pod in census(job, pods).active]
    placed = placement(job, (await question.client.list(Node)).items, pods)
    return explain_job(Facts(job, pods, active, placed, await question.events(job)))


def explain_job(facts: Facts) -> Explanation:
    """Return why the pods of a job have not all ended, or how it failed."""
    return next(found for ask in QUESTIONS if (found := ask(facts)) is not None)


def _ended(facts: Facts) -> Explanation | None:
    ends = [each for each in facts.job.status.conditions if each.status == "True"]
    found = next((each for each in ends if each.type in ("Complete", "Failed")), None)
    if found is None:
        return None
    if found.type == "Complete" and not facts.job.status.failed:
        return well("Complete", f"{facts.name} is complete: {found.message}.")
    source = Source(kind="condition", name=found.type, detail=f"True ({found.reason}: {found.message})")
    text = f"{facts.name} has ended: {found.message}. {_failures(facts)}".rstrip()
    return answer("JobFailed", text, "See the logs of the failed pods, and create another job.", source)


def _failures(facts: Facts) -> str:
    names = sorted(pod.metadata.name or "" for pod in census(facts.job, facts.pods).failed)
    return f"Failed: {', '.join(names)}." if names else ""


def _paused(facts: Facts) -> Explanation | None:
    if not facts.job.spec.paused:
        return None
    field = Source(kind="spec", name="spec.paused", detail="true")
    event = last_event(facts.events, "Paused")
    text = f"{facts.name} is paused: {facts.counts}."
    own = f"{facts.job.metadata.name} -n {facts.job.metadata.namespace}"
    advice = f"""Let it go on: kubectl patch bcj {own} --type merge -p '{{"spec":{{"paused":false}}}}'"""
    if event is None or not census(facts.job, facts.pods).failed:
        return answer("Paused", text, advice, field)
    cause = Source(kind="event", name="Paused", detail=event.message, last=event.last_timestamp)
    text = f"{text} Its failure policy has paused it. {_failures(facts)}"
    return answer("Paused", text, f"Delete the failed pods if they are to run again. {advice}", field, cause)


def _no_nodes(facts: Facts) -> Explanation | None:
    if facts.placed.desired:
        return None
    text = f"{facts.name} has no pods: no node fits its node selector, tolerations and requests."
    return answer("NoNodes", text, "Compare spec.template.spec with the nodes.")


def _refused(facts: Facts) -> Explanation | None:
    failed = last_event(facts.events, "FailedCreate")
    if failed is None or not facts.placed.missing:
        return None
    source = Source(kind="event", name="FailedCreate", detail=failed.message, last=failed.last_timestamp)
    nodes = ", ".join(sorted(facts.placed.missing))
    text = f"{facts.name} has no pods on {nodes}: {failed.message}."
    return answer("FailedCreate", text, "Change the pod template, or what refuses the pods.", source)


def _troubled(facts: Facts) -> Explanation | None:
    return troubled(facts.name, facts.active)


def _waits(facts: Facts) -> Explanation | None:
    missing = facts.placed.missing
    if not missing or number_to_create(facts.job, facts.placed, len(facts.active)) > 0:
        return None
    limit = facts.job.spec.parallelism
    field = Source(kind="spec", name="spec.parallelism", detail=str(limit))
    text = f"{facts.name}: {facts.counts}; {len(missing)} wait, as {len(facts.active)} run now and "
    return well("Parallelism", f"{text}parallelism allows {limit}.", field)


def _well(facts: Facts) -> Explanation:
    if not facts.active and facts.job.spec.completion_policy.type == NEVER:
        return well("Running", f"{facts.name} goes on for new nodes: {facts.counts}.")
    return well("Running", f"{facts.name} runs on {len(facts.active)} nodes; {facts.counts}.")


QUESTIONS = (_ended, _paused, _no_nodes, _refused, _troubled, _waits, _well)
