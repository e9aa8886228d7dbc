"""Explanations of ContainerRecreateRequests for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.explaining import answer, well
from podling_kruise.recreate.recreate_rules import seconds_to_recreation
from podling_kruise.recreate.types import FAILED, PENDING, RECREATING, SUCCEEDED, ContainerRecreateRequest


async def explain(question: Question) -> Explanation:
    """Return the answer for a request. Raises ``ApiError``."""
    request = await question.client.get(ContainerRecreateRequest, question.name, question.namespace)
    of_pod = None
    if request.status.completion_time is None:
        try:
            pod = await question.client.get(Pod, request.spec.pod_name, question.namespace)
            of_pod = await question.of_pod(pod)
        except ApiError as error:
            if not is_not_found(error):
                raise
    return explain_request(request, of_pod, question.now)


def explain_request(
    request: ContainerRecreateRequest, of_pod: Explanation | None, now: datetime
) -> Explanation:
    """Return why the request has not recreated its containers."""
    name, status = f"ContainerRecreateRequest {request.metadata.name}", request.status
    states = status.container_recreate_states
    failed = next((each for each in states if each.phase == FAILED), None)
    if failed is not None:
        source = Source(kind="status", name="containerRecreateStates", detail=failed.message)
        text = f"{name} has failed: container {failed.name}: {failed.message}."
        return answer(FAILED, text, "Create another request.", source)
    done = sum(each.phase == SUCCEEDED for each in states)
    counts = f"{done} of {len(request.spec.containers)} containers are recreated"
    if status.completion_time is not None:
        if status.message or done < len(request.spec.containers):
            source = Source(kind="status", name="message", detail=status.message)
            text = f"{name} has ended: {status.message or 'it was not carried out'}; {counts}."
            return answer("Ended", text, "Create another request for the containers that are left.", source)
        return well("Completed", f"{name} has ended: {counts}.")
    if not status.phase:
        text = f"{name} waits for the node of pod {request.spec.pod_name}, whose kubelet has not seen it yet."
        return answer("Waiting", text, "See whether the node is Ready: kubectl get nodes")
    if status.phase == PENDING:
        text = f"{name} waits until another request for pod {request.spec.pod_name} has ended."
        return answer(PENDING, text, "List them: kubectl get crr")
    left = seconds_to_recreation(request, now)
    if left is None or left > 0:
        rest = "until that is written" if left is None else f"for {left:.0f} s more"
        return answer("UnreadyGracePeriod", f"{name} waits {rest}: the pod is to be not ready before.")
    current = next((each for each in states if each.phase == RECREATING), None)
    text = f"{name}: {counts}."
    if current is not None:
        text += f" The new container {current.name} is not ready, or has not run long enough."
    if of_pod is not None and not of_pod.healthy:
        return structs.replace(of_pod, text=f"{text} {of_pod.text}")
    return answer(RECREATING, text, "Look again in a moment.")
