"""The arithmetic of roll-outs: sizes of a Deployment's old and new replica sets. Pure.

Every function returns the sizes for the present state; the controller calls it again after each change.
Upstream: ``rolling.go``, ``sync.go`` and ``util/deployment_util.go`` in ``pkg/controller/deployment``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.api.core_v1 import Pod, PodTemplateSpec
from podling.controllers.owner_references import controller_of
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery.names import DNS_SUBDOMAIN_MAX_LENGTH
from podling.machinery.numbers import INT32_MAX, INT64_MAX, natural
from podling.machinery.pods import is_terminal
from podling.machinery.requirements import integer_of

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
HISTORY_CHARACTERS_MAX = 2000

ROLLBACK_TO = "deprecated.deployment.rollback.to"

NOT_COPIED = frozenset({
    "kubectl.kubernetes.io/last-applied-configuration",
    ROLLBACK_TO,
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
})  # fmt: skip


class Scale(Struct, frozen=True):
    """Give ``replica_set`` this size."""

    replica_set: ReplicaSet
    replicas: int


def size(replica_set: ReplicaSet) -> int:
    return replica_set.spec.replicas if replica_set.spec.replicas is not None else 1


def total(replica_sets: Iterable[ReplicaSet]) -> int:
    return sum(map(size, replica_sets))


def available(replica_sets: Iterable[ReplicaSet]) -> int:
    return sum(each.status.available_replicas or 0 for each in replica_sets)


def wanted(deployment: Deployment) -> int:
    return deployment.spec.replicas if deployment.spec.replicas is not None else 1


def is_rolling(deployment: Deployment) -> bool:
    return deployment.spec.strategy.type != "Recreate"


def max_surge(deployment: Deployment) -> int:
    """Return the number of pods allowed beyond the desired number during a roll-out."""
    return _fence_posts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """Return the number of pods that may be unavailable during a roll-out."""
    replicas = wanted(deployment)
    if not is_rolling(deployment) or replicas == 0:
        return 0
    return min(_fence_posts(deployment)[1], replicas)


def _fence_posts(deployment: Deployment) -> tuple[int, int]:
    """Surge rounded up and unavailability rounded down; if both are 0 one pod may be missing, so that
    there is a way forward."""
    rolling, replicas = deployment.spec.strategy.rolling_update, wanted(deployment)
    most = scaled((rolling and rolling.max_surge) or 0, replicas, round_up=True)
    least = scaled((rolling and rolling.max_unavailable) or 0, replicas, round_up=False)
    return most, (1 if most == 0 and least == 0 else least)


# New and old replica sets


def same_template(one: PodTemplateSpec | None, other: PodTemplateSpec | None) -> bool:
    """Return whether two templates make the same pods; the hash label does not count."""
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: PodTemplateSpec | None) -> PodTemplateSpec | None:
    if template is None or HASH_LABEL not in template.metadata.labels:
        return template
    labels = {name: value for name, value in template.metadata.labels.items() if name != HASH_LABEL}
    return structs.replace(template, metadata=structs.replace(template.metadata, labels=labels))


def by_age(replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Oldest first, equally old ones by name."""
    return sorted(replica_sets, key=_age)


def _age(replica_set: ReplicaSet) -> tuple[datetime, str]:
    created = replica_set.metadata.creation_timestamp
    assert created is not None, "the API server gives every object its time of creation"
    return created, replica_set.metadata.name or ""


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """Return the replica set that makes the deployment's present pods; the oldest if there are several."""
    template = deployment.spec.template
    matching = (each for each in by_age(replica_sets) if same_template(each.spec.template, template))
    return next(matching, None)


def active(replica_sets: Iterable[ReplicaSet | None]) -> list[ReplicaSet]:
    """Those that want pods."""
    return [each for each in replica_sets if each is not None and size(each) > 0]


def only_one_to_scale(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the single active replica set; if none is active the new one, else the youngest."""
    running = active([*by_age(old)[::-1], new])
    if len(running) > 1:
        return None
    if running:
        return running[0]
    return new if new is not None else next(iter(by_age(old)[::-1]), None)


# Sizes


def new_size(deployment: Deployment, everyone: Iterable[ReplicaSet], current: int) -> int:
    """Return the size that the new replica set, now at ``current``, may grow to; ``everyone`` includes it."""
    replicas = wanted(deployment)
    if not is_rolling(deployment):
        return replicas
    room = replicas + max_surge(deployment) - total(everyone)
    return current if room <= 0 else current + min(room, replicas - current)


def grow_new(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> list[Scale]:
    """First half of a rolling step: bring the new replica set to what is allowed."""
    current, replicas = size(new), wanted(deployment)
    if current == replicas:
        return []
    target = replicas if current > replicas else new_size(deployment, [*old, new], current)
    return [Scale(new, target)] if target != current else []


def shrink_old(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> list[Scale]:
    """Second half: take pods from the old ones, first those that are not available anyway."""
    running = active(old)
    if not running:
        return []
    least = wanted(deployment) - max_unavailable(deployment)
    new_missing = size(new) - (new.status.available_replicas or 0)
    spare = total([*old, new]) - least - new_missing
    if spare <= 0:
        return []
    ordered = by_age(running)
    cleaned, is_current = _without_unavailable(ordered, spare)
    targets = _without_surplus(cleaned, available([*old, new]) - least) if is_current else cleaned
    changed = (Scale(each, target) for each, target in zip(ordered, targets, strict=True))
    return [each for each in changed if each.replicas != size(each.replica_set)]


def _without_unavailable(ordered: Sequence[ReplicaSet], spare: int) -> tuple[list[int], bool]:
    """Return the sizes without up to ``spare`` unavailable pods, and whether the statuses are current.

    A status that counts more available pods than its replica set is to have is from before the last
    scaling. Upstream's ``cleanupUnhealthyReplicas`` stops there, and no available pod is taken in that step.
    """
    targets = [size(each) for each in ordered]
    for number, each in enumerate(ordered):
        if spare <= 0:
            break
        broken = size(each) - (each.status.available_replicas or 0)
        if broken < 0:
            return targets, False
        take = min(spare, broken)
        targets[number] -= take
        spare -= take
    return targets, True


def _without_surplus(sizes: Sequence[int], surplus: int) -> list[int]:
    """Return the sizes with ``surplus`` pods less, taken from the first ones."""
    targets = []
    for each in sizes:
        take = max(0, min(surplus, each))
        targets.append(each - take)
        surplus -= take
    return targets


def scale_to(replica_sets: Iterable[ReplicaSet], replicas: int) -> list[Scale]:
    return [Scale(each, replicas) for each in replica_sets if size(each) != replicas]


def is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    """Return whether the new replica set alone carries the deployment."""
    if new is None:
        return False
    replicas = wanted(deployment)
    recorded = annotated(new, DESIRED_REPLICAS)
    return size(new) == recorded == (new.status.available_replicas or 0) == replicas


def resize(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Scale]:
    """Return the wanted number changed, perhaps in the middle of a roll-out: share the difference out."""
    only = only_one_to_scale(new, old)
    if only is not None:
        return scale_to([only], wanted(deployment))
    if is_saturated(deployment, new):
        return scale_to(active(old), 0)
    return _proportional(deployment, active([*old, new])) if is_rolling(deployment) else []


def _proportional(deployment: Deployment, running: list[ReplicaSet]) -> list[Scale]:
    """Grow or shrink the replica sets by their share; the largest takes what rounding leaves."""
    replicas = wanted(deployment)
    allowed = min(replicas + max_surge(deployment), INT32_MAX) if replicas > 0 else 0
    change = allowed - total(running)
    ordered = by_age(running)  # of equally large ones the newer first when growing, the older when shrinking
    ordered = sorted(ordered[::-1] if change > 0 else ordered, key=size, reverse=True)
    targets, added = [], 0
    for each in ordered:
        share = _share(deployment, each, change, added)
        targets.append(size(each) + share)
        added += share
    if targets and change:
        targets[0] = max(0, targets[0] + change - added)
    # Also those whose size stays: their annotations must follow the deployment.
    return [Scale(each, target) for each, target in zip(ordered, targets, strict=True)]


def _share(deployment: Deployment, replica_set: ReplicaSet, change: int, added: int) -> int:
    left = change - added
    if size(replica_set) == 0 or change == 0 or left == 0:
        return 0
    fraction = fraction_of(deployment, replica_set)
    return min(fraction, left) if change > 0 else max(fraction, left)


def fraction_of(deployment: Deployment, replica_set: ReplicaSet) -> int:
    """Return the change that keeps the replica set's share of the deployment's pods."""
    current, replicas = size(replica_set), wanted(deployment)
    if replicas == 0:
        return -current
    before = annotated(replica_set, MAX_REPLICAS) or deployment.status.replicas or 0
    if before == 0:
        return 0
    exact = current * (replicas + max_surge(deployment)) / before
    return int(exact + 0.5) - current


def annotated(replica_set: ReplicaSet, name: str) -> int | None:
    """Return a number from an annotation; None if it is absent or no number."""
    return natural(replica_set.metadata.annotations.get(name, ""))


def revision(replica_set: ReplicaSet) -> int:
    return natural(replica_set.metadata.annotations.get(REVISION, ""), INT64_MAX) or 0


def is_scaling(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> bool:
    """Return whether the wanted number changed since the active replica sets were last sized."""
    recorded = (annotated(each, DESIRED_REPLICAS) for each in active(replica_sets))
    return any(each is not None and each != wanted(deployment) for each in recorded)


def old_pods_run(new: ReplicaSet | None, old: Sequence[ReplicaSet], pods: Iterable[Pod]) -> bool:
    """Return whether pods of old replica sets still run: a recreating roll-out waits for their end."""
    if any(each.status.replicas for each in old):
        return True
    new_uid = new.metadata.uid if new is not None else None
    for pod in pods:
        ref = controller_of(pod)
        if ref is not None and ref.uid != new_uid and not is_terminal(pod):
            return True
    return False


def surplus_history(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return the replica sets beyond the history that the deployment keeps.

    The oldest revision comes first, of equal ones (or without any) the older replica set.
    """
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == INT32_MAX:
        return []
    alive = sorted(by_age(each for each in old if each.metadata.deletion_timestamp is None), key=revision)
    oldest = alive[: max(0, len(alive) - limit)]
    return [each for each in oldest if _is_done(each)]


def _is_done(replica_set: ReplicaSet) -> bool:
    seen = replica_set.status.observed_generation or 0
    return (
        not replica_set.status.replicas
        and size(replica_set) == 0
        and (replica_set.metadata.generation or 0) <= seen
    )


# Annotations


def replica_set_name(name: str, digest: str) -> str:
    """Return the name of the replica set of a template, with a long name of the Deployment cut off."""
    return f"{name[: DNS_SUBDOMAIN_MAX_LENGTH - 1 - len(digest)]}-{digest}"


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """Return a replica set's annotations about the Deployment's size."""
    replicas = wanted(deployment)
    most = min(replicas + max_surge(deployment), INT32_MAX)
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(most)}


def revised_annotations(
    deployment: Deployment, annotations: dict[str, str], new_revision: int
) -> dict[str, str]:
    """Return a replica set's annotations as the deployment's present one at ``new_revision``.

    A replica set whose revision is no number keeps all annotations, as in ``SetNewReplicaSetAnnotations``.
    """
    text = annotations.get(REVISION, "")
    held = integer_of(text) if text else 0
    if held is None:
        return annotations
    copied = {name: text for name, text in deployment.metadata.annotations.items() if name not in NOT_COPIED}
    result = {**annotations, **copied}
    if held < new_revision:
        result[REVISION] = str(new_revision)
        if text:
            result[REVISION_HISTORY] = _history(annotations.get(REVISION_HISTORY, ""), text)
    return result


def _history(history: str, previous: str) -> str:
    """Return the revisions that a replica set had before; the oldest are forgotten when it grows too long."""
    entries = [each for each in history.split(",") if each]
    while entries and len(",".join([*entries, previous])) > HISTORY_CHARACTERS_MAX:
        entries.pop(0)
    return ",".join([*entries, previous])
