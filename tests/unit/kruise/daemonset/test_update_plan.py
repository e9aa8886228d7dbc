"""The nodes whose daemon pods are created or updated next.

Cases: ``TestFilterDaemonPodsNodeToUpdate`` and ``TestGetMaxCreateNum`` of ``pkg/controller/daemonset``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node, Pod, PodCondition, PodReadinessGate, PodSpec, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.daemonset_rules import plan
from podling_kruise.daemonset.types import DaemonSet, DaemonSetSpec
from podling_kruise.daemonset.update_plan import (
    burst_of,
    is_leaving,
    limited_creations,
    next_update,
    own_revision,
)
from podling_kruise.names import IN_PLACE_UPDATE_READY, LIFECYCLE_STATE, REVISION_HASH

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CANARY = {"selector": {"matchLabels": {"type": "canary"}}}


def owner(**spec: Any) -> DaemonSet:
    """Return a set; ``rolling`` has the fields of its rolling update."""
    rolling = {"maxUnavailable": 10, **spec.pop("rolling", {})}
    plain = {"updateStrategy": {"type": spec.pop("type", "RollingUpdate"), "rollingUpdate": rolling}, **spec}
    return DaemonSet(metadata=ObjectMeta(name="web"), spec=msgspec.convert(plain, DaemonSetSpec))


def pod(node: str, word: str) -> Pod:
    """Return a pod: ``o`` or ``n`` for its revision, then ``!`` if it is being deleted, ``-`` if it is not
    ready, ``d`` while a hook holds it back from its deletion."""
    labels = {REVISION_HASH: "new" if word[0] == "n" else "old"}
    if "d" in word:
        labels[LIFECYCLE_STATE] = "PreparingDelete"
    ready = PodCondition(type="Ready", status="False" if "-" in word else "True", last_transition_time=NOW)
    return Pod(
        metadata=ObjectMeta(
            name=f"{node}-{word}",
            labels=labels,
            creation_timestamp=NOW,
            deletion_timestamp=NOW if "!" in word else None,
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase="Running", conditions=(ready,)),
    )


def nodes_of(words: str, canaries: str = "") -> list[Node]:
    names = [f"n{number}" for number in range(1, len(words.split()) + 1)]
    labels = {name: {"type": "canary"} if name in canaries.split() else {} for name in names}
    return [Node(metadata=ObjectMeta(name=name, labels=labels[name])) for name in names]


def pods_of(words: str) -> dict[str, list[Pod]]:
    numbered = enumerate(words.split(), 1)
    return {f"n{number}": [pod(f"n{number}", word)] for number, word in numbered if word != "."}


@pytest.mark.parametrize(
    ("words", "canaries", "rolling", "deleted"),
    [
        ("o n o", "", {}, ["n3", "n1"]),
        ("n o o", "", {"partition": 1}, ["n3"]),
        ("o o o o", "", {"partition": "50%"}, ["n4", "n3"]),
        ("o o", "", {"partition": "100%"}, []),
        ("o n o o", "n3", {"partition": 1, **CANARY}, ["n3"]),
        ("o n o o", "n1 n3 n4", {"partition": 2, **CANARY}, ["n4"]),
        ("o n o! o", "n1 n3", CANARY, ["n1"]),
        ("o o o", "", CANARY, []),
        ("o o o", "", {"selector": {"matchExpressions": [{"key": "type", "operator": "Never"}]}}, []),
        ("o o- o!", "", {"partition": 2}, []),
        ("o o o", "", {"maxUnavailable": 1}, ["n3"]),
        ("o o o!", "", {"maxUnavailable": 1}, []),
        ("o o .", "", {"maxUnavailable": 1}, []),
        ("o o n-", "", {"maxUnavailable": 1}, []),
        ("o o od", "", {"maxUnavailable": 1}, []),
        ("o o nd", "", {"maxUnavailable": 1}, []),
        ("o o nd", "", {"maxUnavailable": 2}, ["n2"]),
        ("o o o", "", {"maxUnavailable": 0}, ["n3"]),
    ],
)
def test_nodes_are_updated_within_partition_and_selector(
    words: str, canaries: str, rolling: dict[str, Any], deleted: list[str]
) -> None:
    step = next_update(owner(rolling=rolling), nodes_of(words, canaries), pods_of(words), "new", NOW)
    assert [each.spec.node_name for each in step.delete] == deleted
    assert step.create == []


def test_surge_creates_new_pods_first() -> None:
    surging = owner(rolling={"maxSurge": 2, "maxUnavailable": 0, "partition": 1})
    words = "o o o o"
    step = next_update(surging, nodes_of(words), pods_of(words), "new", NOW)
    assert (step.create, step.delete) == (["n4", "n3"], [])
    both = {**pods_of(words), "n4": [pod("n4", "o"), pod("n4", "n")]}
    step = next_update(surging, nodes_of(words), both, "new", NOW)
    assert [each.metadata.name for each in step.delete] == ["n4-o"]


@pytest.mark.parametrize("spec", [{"rolling": {"paused": True}}, {"type": "OnDelete"}])
def test_nothing_is_updated_while_paused_or_on_delete(spec: dict[str, Any]) -> None:
    step = next_update(owner(**spec), nodes_of("o o"), pods_of("o o"), "new", NOW)
    assert (step.create, step.delete) == ([], [])


@pytest.mark.parametrize(
    ("words", "partition", "partitioned", "created"),
    [
        (". . . .", 0, True, ["n1", "n2", "n3", "n4"]),
        (". . . .", 1, True, ["n1", "n2", "n3"]),
        ("n . . .", 2, True, ["n2"]),
        ("n n . .", 2, True, []),
        ("n n! . .", 2, True, ["n3"]),
        (". . . .", 9, True, []),
        (". . . .", "50%", True, ["n1", "n2"]),
        (". . . .", 3, False, ["n1", "n2", "n3", "n4"]),
        (". . . . . . . . . .", 10, True, []),
        (". . . . . . . . . .", 9, True, ["n1"]),
        ("n . . . . . . . . .", 5, True, ["n10", "n2", "n3", "n4"]),
        ("n n n n n . . . . . . .", 5, True, ["n10", "n11"]),
        ("n n n n . . . . .", 5, True, []),
        ("n n n n n n n n n . . .", 0, True, ["n10", "n11", "n12"]),
        ("o o o o o o o o o o", 9, False, []),
        (". o o o o o o o o o", 9, False, ["n1"]),
        ("o . . . . o o o o n", 5, False, ["n2", "n3", "n4", "n5"]),
        ("o o o o o o o o o o . . . . . . . . . .", 15, True, ["n11", "n12", "n13", "n14", "n15"]),
        ("o o o o o o o o o o n n n n n . . . . .", 10, True, ["n16", "n17", "n18", "n19", "n20"]),
        ("n n n n n n n n n n", 100, False, []),
    ],
)
def test_partition_limits_creations_where_it_is_wanted(
    words: str, partition: int | str, partitioned: bool, created: list[str]
) -> None:
    made = owner(rolling={"partition": partition}, scaleStrategy={"partitionedScaling": partitioned})
    nodes, pods = nodes_of(words), pods_of(words)
    missing = plan(made, nodes, pods, "new", NOW, is_leaving).create
    assert limited_creations(made, missing, nodes, pods, "new") == created


def test_pod_that_leaves_is_deleted_before_its_successor_is_made() -> None:
    found = plan(owner(), nodes_of("nd n"), pods_of("nd n"), "new", NOW, is_leaving)
    assert ([each.metadata.name for each in found.delete], found.create) == (["n1-nd"], [])


@pytest.mark.parametrize(("given", "burst"), [(None, 250), (3, 3), ("50%", 5)])
def test_pods_at_the_same_time(given: int | str | None, burst: int) -> None:
    assert burst_of(owner(burstReplicas=given), 10) == burst
    assert burst_of(owner(burstReplicas="50%"), 3) == 1


def test_pod_without_the_gate_cannot_be_updated_in_place() -> None:
    revision = ControllerRevision(
        metadata=ObjectMeta(name="web-old", labels={REVISION_HASH: "old"}), revision=1
    )
    bare = pod("n1", "o")
    gates = (PodReadinessGate(condition_type=IN_PLACE_UPDATE_READY),)
    gated = msgspec.structs.replace(bare, spec=PodSpec(readiness_gates=gates))
    assert own_revision(bare, [revision]) is None
    assert own_revision(gated, [revision]) is revision
    assert own_revision(gated, []) is None
