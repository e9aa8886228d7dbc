"""Roll-outs that stand still though each pod is well: a deadline, a partition, replacement by hand. Pure.

Upstream: ``pkg/controller/deployment/progress.go``, ``pkg/controller/statefulset/stateful_set_control.go``
and ``pkg/controller/daemon/update.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.apps_v1 import DaemonSet, Deployment, StatefulSet
from podling.api.core_v1 import Pod
from podling.cli.evidence import Explanation, Source, source_of_condition

REVISION = "controller-revision-hash"
DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


def explain_rollout(obj: Any, name: str, wanted: int) -> Explanation | None:
    """Return why the pods are not all of the newest template, or not available, though they are Ready."""
    if isinstance(obj, Deployment):
        return _past_deadline(obj, name, wanted) or _not_available(obj, name, wanted)
    if isinstance(obj, DaemonSet):
        updated, available = obj.status.updated_number_scheduled, obj.status.number_available
        found = _replaced_by_hand(obj, name, updated, wanted)
        return found or _too_young(obj, name, available, obj.status.number_ready, wanted)
    if isinstance(obj, StatefulSet):
        found = _replaced_by_hand(obj, name, _updated(obj), wanted) or _partition(obj, name, wanted)
        return found or _not_available(obj, name, wanted)
    return None


def with_deadline(obj: Any, answer: Explanation) -> Explanation:
    """Return the answer about a pod, with what it means for a Deployment's roll-out."""
    source = _deadline_source(obj)
    if source is None:
        return answer
    text = f"{answer.text} The roll-out has made no progress for {obj.spec.progress_deadline_seconds} s."
    return structs.replace(answer, text=text, evidence=(*answer.evidence, source))


def blocked_advice(obj: Any, pod: Pod) -> str:
    """Return what to do about a pod of an earlier template, which a StatefulSet replaces once it is Ready."""
    if not isinstance(obj, StatefulSet) or obj.spec.pod_management_policy == "Parallel":
        return ""
    if pod.metadata.labels.get(REVISION) == obj.status.update_revision:
        return ""
    own = f"{pod.metadata.name} -n {pod.metadata.namespace}"
    return (
        "The template has changed since, but a StatefulSet waits until the pod is Ready before it replaces "
        f"it: kubectl delete pod {own}"
    )


def _deadline_source(obj: Any) -> Source | None:
    if not isinstance(obj, Deployment):
        return None
    found = next((each for each in obj.status.conditions if each.type == "Progressing"), None)
    past = found is not None and found.status == "False" and found.reason == DEADLINE_EXCEEDED
    return source_of_condition(found) if past else None


def _past_deadline(deployment: Deployment, name: str, wanted: int) -> Explanation | None:
    source = _deadline_source(deployment)
    if source is None:
        return None
    status = deployment.status
    own = f"{deployment.metadata.name} -n {deployment.metadata.namespace}"
    text = (
        f"{name} has made no progress for {deployment.spec.progress_deadline_seconds} s: "
        f"{status.updated_replicas} of {wanted} pods are of its newest template, {status.available_replicas} "
        "are available."
    )
    advice = f"Go back to the template before it: kubectl rollout undo deployment {own}"
    return _stands_still(DEADLINE_EXCEEDED, text, advice, source)


def _replaced_by_hand(
    obj: DaemonSet | StatefulSet, name: str, updated: int, wanted: int
) -> Explanation | None:
    if obj.spec.update_strategy.type != "OnDelete" or updated >= wanted:
        return None
    text = (
        f"{name} replaces no pods by itself (update strategy OnDelete): {updated} of {wanted} pods are of "
        "its newest template."
    )
    advice = "Delete the other pods; each comes back with the newest template."
    return _stands_still("OnDelete", text, advice, _spec("updateStrategy.type", "OnDelete"))


def _updated(stateful_set: StatefulSet) -> int:
    """Return the number of pods of the newest template; all, where there is only one."""
    status = stateful_set.status
    return status.replicas if status.current_revision == status.update_revision else status.updated_replicas


def _partition(stateful_set: StatefulSet, name: str, wanted: int) -> Explanation | None:
    """The pods from the partition on are replaced, and the others are to stay."""
    rolling, ordinals = stateful_set.spec.update_strategy.rolling_update, stateful_set.spec.ordinals
    partition = (rolling.partition if rolling is not None else None) or 0
    updated = _updated(stateful_set)
    if not max(0, wanted - partition) <= updated < wanted:
        return None
    first = ordinals.start if ordinals is not None else 0
    own = f"{stateful_set.metadata.name} -n {stateful_set.metadata.namespace}"
    text = (
        f"{name} has reached its partition: {updated} of {wanted} pods are of its newest template, and those "
        f"below {stateful_set.metadata.name}-{first + partition} keep the earlier one."
    )
    patch = '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
    advice = f"Let it go on: kubectl patch statefulset {own} -p '{patch}'"
    source = _spec("updateStrategy.rollingUpdate.partition", str(partition))
    return _stands_still("Partition", text, advice, source)


def _not_available(obj: Deployment | StatefulSet, name: str, wanted: int) -> Explanation | None:
    return _too_young(obj, name, obj.status.available_replicas, obj.status.ready_replicas, wanted)


def _too_young(
    obj: Deployment | StatefulSet | DaemonSet, name: str, available: int, ready: int, wanted: int
) -> Explanation | None:
    seconds = obj.spec.min_ready_seconds
    if not seconds or ready < wanted or available >= wanted:
        return None
    text = (
        f"{name} has {ready} of {wanted} pods Ready and {available} available: a pod is available when it "
        f"has been Ready for {seconds} s."
    )
    advice = "Wait, or lower spec.minReadySeconds."
    return _stands_still("MinReadySeconds", text, advice, _spec("minReadySeconds", str(seconds)))


def _spec(field: str, detail: str) -> Source:
    return Source(kind="spec", name=f"spec.{field}", detail=detail)


def _stands_still(reason: str, text: str, advice: str, source: Source) -> Explanation:
    return Explanation(area="workload", reason=reason, text=text, advice=advice, evidence=(source,))
