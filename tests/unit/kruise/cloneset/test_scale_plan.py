"""The numbers of pods to create, delete and update. Cases: ``TestCalculateDiffsWithExpectation`` upstream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.cloneset.scale_plan import Differences, differences, partition_of
from podling_kruise.cloneset.types import CloneSetSpec, RollingUpdate, ScaleStrategy, UpdateStrategy
from podling_kruise.lifecycle import counts_as_updated
from podling_kruise.names import (
    FEATURE_GATES,
    LIFECYCLE_STATE,
    PARTITION_ROLLBACK,
    PREPARING_UPDATE_AS_UPDATE,
    REVISION_HASH,
    SPECIFIED_DELETE,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATES = {
    "N": "Normal",
    "U": "Updating",
    "V": "Updated",
    "P": "PreparingUpdate",
    "D": "PreparingDelete",
}
READY = PodStatus(phase="Running", conditions=(PodCondition(type="Ready", status="True"),))

Case = tuple[CloneSetSpec, list[str], list[Pod], Differences]


def case(name: str, settings: str, pods: str, **expected: int) -> Any:
    """Return a case.

    ``settings``: replicas, partition, maxUnavailable and maxSurge, then words: ``paused``; ``exclude`` pods
    that prepare for deletion; ``create=N`` unavailable ones while creating; the ``same`` revision is current;
    only ``forward`` to the update revision; pods ``preparing`` for an update count as updated.
    ``pods``: a number of alike pods each: new or old, the state's letter, ``+`` ready, ``!`` to be deleted.
    """
    replicas, *numbers = settings.split()[:4]
    words = settings.split()[4:]
    partition, unavailable, surge = map(number_or_share, numbers)
    limits = [number_or_share(word.removeprefix("create=")) for word in words if word.startswith("create=")]
    rolling = RollingUpdate(
        partition=partition, max_unavailable=unavailable, max_surge=surge, paused="paused" in words
    )
    scale = ScaleStrategy(
        max_unavailable=limits[0] if limits else None, exclude_preparing_delete="exclude" in words
    )
    strategy = UpdateStrategy(rolling_update=rolling)
    spec = CloneSetSpec(replicas=int(replicas), scale_strategy=scale, update_strategy=strategy)
    made = [pod(each.lstrip("0123456789")) for each in pods.split() for _ in range(int(each[0]))]
    return pytest.param(spec, words, made, Differences(**expected), id=name)


def number_or_share(text: str) -> int | str:
    return text if "%" in text else int(text)


def pod(text: str) -> Pod:
    labels = {REVISION_HASH: "web-new" if text[0] == "n" else "web-old", LIFECYCLE_STATE: STATES[text[1]]}
    if "!" in text:
        labels[SPECIFIED_DELETE] = "true"
    return Pod(metadata=ObjectMeta(labels=labels), status=READY if "+" in text else PodStatus())


CASES = [
    case("an empty cloneset", "0 0 1 0", ""),
    case("increase replicas to 5 (step 1/2)", "5 0 1 0", "", scale_up=5, scale_up_limit=5),
    case("increase replicas to 5 (step 2/2)", "5 0 1 0", "5nN+"),
    case("specified delete 1 pod (all ready) (step 1/3)", "5 0 1 0", "1nN+! 4nN+", delete_ready_limit=1),
    case("specified delete 1 pod (all ready) (step 2/3)", "5 0 1 0", "4nN+", scale_up=1, scale_up_limit=1),
    case("specified delete 1 pod (all ready) (step 3/3)", "5 0 1 0", "5nN+"),
    case("specified delete 2 pod (all ready) (step 1/6)", "5 0 1 0", "2nN+! 3nN+", delete_ready_limit=1),
    case(
        "specified delete 2 pod (all ready) (step 2/6)", "5 0 1 0", "1nN+! 3nN+", scale_up=1, scale_up_limit=1
    ),
    case("specified delete 2 pod (all ready) (step 3/6)", "5 0 1 0", "1nN+! 3nN+ 1nN"),
    case("specified delete 2 pod (all ready) (step 4/6)", "5 0 1 0", "1nN+! 4nN+", delete_ready_limit=1),
    case("specified delete 2 pod (all ready) (step 5/6)", "5 0 1 0", "4nN+", scale_up=1, scale_up_limit=1),
    case("specified delete 2 pod (all ready) (step 6/6)", "5 0 1 0", "5nN+"),
    case("specified delete 2 pod and replicas to 4 (step 1/3)", "4 0 1 0", "2nN! 3nN+", delete_ready_limit=2),
    case(
        "specified delete 2 pod and replicas to 4 (step 2/3)", "4 0 1 0", "3nN+", scale_up=1, scale_up_limit=1
    ),
    case("specified delete 2 pod and replicas to 4 (step 3/3)", "4 0 1 0", "4nN+"),
    case("update partition=3 (step 1/3)", "5 3 1 0", "5oN+", update_number=2, update_max_unavailable=1),
    case("update partition=3 (step 2/3)", "5 3 1 0", "1nN+ 4oN+", update_number=1, update_max_unavailable=1),
    case("update partition=3 (step 3/3)", "5 3 1 0", "2nN+ 3oN+"),
    case(
        "rollback partition=4 (step 1/3)", "5 4 2 0", "4nN+ 1oN+", update_number=-3, update_max_unavailable=2
    ),
    case(
        "rollback partition=4 (step 2/3)", "5 4 2 0", "2nN+ 3oN+", update_number=-1, update_max_unavailable=2
    ),
    case("rollback partition=4 (step 3/3)", "5 4 2 0", "1nN+ 4oN+"),
    case(
        "specified delete with maxSurge (step 1/4)",
        "5 0 0 1",
        "1nN+! 4nN+",
        scale_up=1,
        use_surge=1,
        scale_up_limit=1,
    ),
    case("specified delete with maxSurge (step 2/4)", "5 0 0 1", "1nN+! 4nN+ 1nN", use_surge=1),
    case(
        "specified delete with maxSurge (step 3/4)",
        "5 0 0 1",
        "1nN+! 5nN+",
        delete_ready_limit=1,
        use_surge=1,
    ),
    case("specified delete with maxSurge (step 4/4)", "5 0 0 1", "5nN+"),
    case(
        "update in-place partition=3 with maxSurge (step 1/4)",
        "5 3 1 1",
        "5oN+",
        scale_up=1,
        use_surge=1,
        update_number=2,
        update_max_unavailable=1,
        scale_up_limit=1,
    ),
    case(
        "update in-place partition=3 with maxSurge (step 2/4)",
        "5 3 1 1",
        "5oN+ 1nN",
        use_surge=1,
        update_number=1,
        update_max_unavailable=2,
    ),
    case(
        "update in-place partition=3 with maxSurge (step 3/4)",
        "5 3 1 1",
        "4oN+ 1nU 1nN",
        scale_down=1,
        scale_down_old=1,
    ),
    case(
        "update in-place partition=3 with maxSurge (step 4/4)",
        "5 3 1 1",
        "4oN+ 1nN+ 1nN",
        scale_down=1,
        scale_down_old=1,
        delete_ready_limit=1,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 1/7)",
        "5 3 1 1",
        "5oN+",
        scale_up=1,
        use_surge=1,
        update_number=2,
        update_max_unavailable=1,
        scale_up_limit=1,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 2/7)",
        "5 3 1 1",
        "5oN+ 1nN",
        use_surge=1,
        update_number=1,
        update_max_unavailable=2,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 3/7)",
        "5 3 1 1",
        "4oN+ 1oN+! 1nN",
        use_surge=1,
        use_surge_old=1,
        delete_ready_limit=1,
        update_number=1,
        update_max_unavailable=2,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 4/7)",
        "5 3 1 1",
        "4oN+ 1nN",
        use_surge=1,
        scale_up=1,
        update_number=1,
        update_max_unavailable=1,
        scale_up_limit=1,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 5/7)",
        "5 3 1 1",
        "4oN+ 2nN",
        scale_down=1,
        scale_down_old=1,
    ),
    case(
        "update recreate partition=3 with maxSurge (step 6/7)",
        "5 3 1 1",
        "4oN+ 1nN+ 1nN",
        scale_down=1,
        scale_down_old=1,
        delete_ready_limit=1,
    ),
    case("update recreate partition=3 with maxSurge (step 7/7)", "5 3 1 1", "3oN+ 2nN+"),
    case(
        "update recreate partition=99% with maxUnavailable=3, maxSurge=2 (step 1/3)",
        "5 99% 3 2",
        "5oN+",
        scale_up=1,
        use_surge=1,
        update_number=1,
        update_max_unavailable=3,
        scale_up_limit=1,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=3, maxSurge=2 (step 2/3)",
        "5 99% 3 2",
        "5oN+ 1nN",
        scale_down=1,
        scale_down_old=1,
        delete_ready_limit=3,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=3, maxSurge=2 (step 3/3)", "5 99% 3 2", "4oN+ 1nN"
    ),
    case(
        "update recreate partition=99% with maxUnavailable=40%, maxSurge=30% (step 1/3)",
        "5 99% 40% 30%",
        "5oN+",
        scale_up=1,
        use_surge=1,
        update_number=1,
        update_max_unavailable=2,
        scale_up_limit=1,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=40%, maxSurge=30% (step 2/3)",
        "5 99% 40% 30%",
        "5oN+ 1nN",
        scale_down=1,
        scale_down_old=1,
        delete_ready_limit=2,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=40%, maxSurge=30% (step 3/3)",
        "5 99% 40% 30%",
        "4oN+ 1nN",
    ),
    case(
        "update recreate partition=99% with maxUnavailable=30%, maxSurge=30% (step 1/3)",
        "5 99% 30% 30%",
        "5oN+",
        scale_up=1,
        use_surge=1,
        update_number=1,
        update_max_unavailable=1,
        scale_up_limit=1,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=30%, maxSurge=30% (step 2/3)",
        "5 99% 30% 30%",
        "5oN+ 1nN",
        scale_down=1,
        scale_down_old=1,
        delete_ready_limit=1,
    ),
    case(
        "update recreate partition=99% with maxUnavailable=30%, maxSurge=30% (step 3/3)",
        "5 99% 30% 30%",
        "4oN+ 1nN",
    ),
    case(
        "a share of maxSurge is rounded up",
        "5 0 0 50%",
        "5oN+",
        scale_up=3,
        use_surge=3,
        update_number=5,
        scale_up_limit=3,
    ),
    case(
        "a share of scale maxUnavailable is rounded up",
        "5 0 1 0 create=50%",
        "",
        scale_up=5,
        scale_up_limit=3,
    ),
    case(
        "an old pod that prepares for deletion is replaced by an old one",
        "5 2 1 0 exclude",
        "1oN+ 1oD+ 3nN+",
        scale_up=1,
        scale_up_old=1,
        scale_up_limit=1,
    ),
    case("revision consistent 1", "5 0 1 0 same", "5nN+"),
    case("revision consistent 2", "5 3 1 0 same", "5nN+"),
    case("revision consistent 3", "5 3 1 0 same", "2oN+ 3nN+"),
    case("revision consistent 4", "5 1 1 0 same", "3oN+ 2nN+", update_number=2, update_max_unavailable=1),
    case(
        "allow to update when fail to scale out normally",
        "5 1 2 0 same",
        "2oN+ 2nN+",
        scale_up=1,
        update_number=1,
        update_max_unavailable=1,
        scale_up_limit=1,
    ),
    case(
        "allow to update when fail to scale in normally",
        "5 1 1 0 same",
        "3oN+ 3nN+",
        scale_down=1,
        scale_down_old=2,
        delete_ready_limit=2,
        update_number=1,
        update_max_unavailable=2,
    ),
    case(
        "rollback with maxSurge creates old pods",
        "5 5 0 2",
        "5nN+",
        scale_up=2,
        scale_up_old=7,
        scale_up_limit=2,
        use_surge=2,
        use_surge_old=2,
        update_number=-5,
    ),
    case("disable rollback feature-gate", "5 4 1 0 forward", "1oN+ 4nN+"),
    case(
        "increase replicas 0 to 5 with scale maxUnavailable = 2",
        "5 0 1 0 create=2",
        "",
        scale_up=5,
        scale_up_limit=2,
    ),
    case(
        "increase replicas 3 to 6 with scale maxUnavailable = 2, not ready pod = 1",
        "6 0 1 0 create=2",
        "2nN+ 1nN",
        scale_up=3,
        scale_up_limit=1,
    ),
    case(
        "increase replicas 3 to 6 with scale maxUnavailable = 2, not ready pod = 2",
        "6 0 1 0 create=2",
        "1nN+ 2nN",
        scale_up=3,
    ),
    case(
        "specific delete a pod with lifecycle hook (step 1/4)", "3 0 1 0", "2nN+ 1nN+!", delete_ready_limit=1
    ),
    case("specific delete a pod with lifecycle hook (step 2/4)", "3 0 1 0", "2nN+ 1nD+!"),
    case(
        "specific delete a pod with lifecycle hook (step 3/4)",
        "3 0 1 0",
        "2nN+",
        scale_up=1,
        scale_up_limit=1,
    ),
    case("specific delete a pod with lifecycle hook (step 4/4)", "3 0 1 0", "2nN+ 1nN"),
    case(
        "exclude: specific delete a pod with lifecycle hook (step 1/4)",
        "3 0 1 0 exclude",
        "2nN+ 1nN+!",
        delete_ready_limit=1,
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook (step 2/4)",
        "3 0 1 0 exclude",
        "2nN+ 1nD+!",
        scale_up=1,
        scale_up_limit=1,
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook (step 3/4)", "3 0 1 0 exclude", "2nN+ 1nD+! 1nN"
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook (step 4/4)", "3 0 1 0 exclude", "2nN+ 1nD+! 1nN"
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook and then cancel (step 1/5)",
        "3 0 1 0 exclude",
        "2nN+ 1nN+!",
        delete_ready_limit=1,
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook and then cancel (step 2/5)",
        "3 0 1 0 exclude",
        "2nN+ 1nD+!",
        scale_up=1,
        scale_up_limit=1,
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook and then cancel (step 3/5)",
        "3 0 1 0 exclude",
        "2nN+ 1nD+! 1nN",
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook and then cancel (step 4/5)",
        "3 0 1 0 exclude",
        "3nN+ 1nN",
        scale_down=1,
        delete_ready_limit=1,
    ),
    case(
        "exclude: specific delete a pod with lifecycle hook and then cancel (step 5/5)",
        "3 0 1 0 exclude",
        "3nN+",
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 1/6)",
        "3 0 1 0 exclude",
        "3nN+",
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 2/6)",
        "2 0 1 0 exclude",
        "2nN+ 1nN+!",
        delete_ready_limit=2,
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 3/6)",
        "2 0 1 0 exclude",
        "2nN+ 1nD+!",
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 4/6)",
        "3 0 1 0 exclude",
        "2nN+ 1nD+!",
        scale_up=1,
        scale_up_limit=1,
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 5/6)",
        "3 0 1 0 exclude",
        "2nN+ 1nD+! 1nN",
    ),
    case(
        "exclude: specific scale down with lifecycle hook, then scale up pods (step 6/6)",
        "3 0 1 0 exclude",
        "2nN+ 1nN",
    ),
    case(
        "preparing: scaling up when a preparing pod is not updated, and wanted is 1",
        "4 90% 1 0 exclude preparing",
        "1oP+ 2oN+",
        scale_up=1,
        scale_up_limit=1,
        scale_up_old=1,
    ),
    case(
        "preparing: scaling up when a preparing pod is not updated, and wanted is 2",
        "4 2 1 0 exclude preparing",
        "1oP+ 2oN+",
        scale_up=1,
        scale_up_limit=1,
    ),
    case(
        "[UpdateStrategyPaused=true] scale up pods with maxSurge=3,maxUnavailable=0",
        "5 0 0 3 paused",
        "3oN+",
        scale_up=2,
        scale_up_limit=2,
        update_number=3,
        update_max_unavailable=-2,
    ),
    case(
        "[UpdateStrategyPaused=true] scale down pods with maxSurge=3,maxUnavailable=0",
        "3 0 0 3 paused",
        "5oN+",
        scale_down=2,
        scale_down_old=5,
        delete_ready_limit=2,
        update_number=3,
        update_max_unavailable=2,
    ),
    case(
        "[UpdateStrategyPaused=true] create 0 newRevision pods with maxSurge=3,maxUnavailable=0",
        "5 0 0 3 paused",
        "5oN+ 3nN",
        scale_down=3,
        scale_down_old=5,
        update_number=2,
        update_max_unavailable=3,
    ),
    case(
        "[UpdateStrategyPaused=true] create 0 newRevision pods with maxSurge=3,maxUnavailable=0 again",
        "5 2 0 3 paused",
        "5oN+ 3nN",
        scale_down=3,
        scale_down_old=3,
    ),
]


@pytest.mark.parametrize(("spec", "words", "pods", "expected"), CASES)
def test_differences_between_pods_and_spec(
    spec: CloneSetSpec, words: list[str], pods: list[Pod], expected: Differences
) -> None:
    gates = {**FEATURE_GATES, PREPARING_UPDATE_AS_UPDATE: True, PARTITION_ROLLBACK: "forward" not in words}
    revisions = ("web-new" if "same" in words else "web-old", "web-new")

    def is_updated(pod: Pod) -> bool:
        return counts_as_updated(pod, "web-new", gates)

    chosen = is_updated if "preparing" in words else None
    assert differences(spec, pods, revisions, gates, NOW, chosen) == expected


@pytest.mark.parametrize(("seconds", "limit"), [(9, 0), (10, 1)])
def test_pod_that_is_ready_for_too_short_counts_as_unavailable(seconds: int, limit: int) -> None:
    since = PodCondition(type="Ready", status="True", last_transition_time=NOW - timedelta(seconds=seconds))
    ready = PodStatus(phase="Running", conditions=(since,))
    doomed, other = (structs.replace(pod(text), status=ready) for text in ("nN!", "nN"))
    strategy = UpdateStrategy(rolling_update=RollingUpdate(max_unavailable=1))
    spec = CloneSetSpec(replicas=2, min_ready_seconds=10, update_strategy=strategy)
    found = differences(spec, [doomed, other], ("web-new", "web-new"), FEATURE_GATES, NOW)
    assert found.delete_ready_limit == limit


@pytest.mark.parametrize(
    ("partition", "replicas", "pods"),
    [
        (None, 10, 0),
        (3, 10, 3),
        (12, 10, 10),
        (-1, 10, 0),
        ("50%", 5, 3),
        ("99%", 10, 9),
        ("100%", 10, 10),
        ("99%", 1, 1),
        ("0%", 10, 0),
    ],
)
def test_share_below_all_leaves_a_pod_to_update(
    partition: int | str | None, replicas: int, pods: int
) -> None:
    assert partition_of(partition, replicas) == pods
