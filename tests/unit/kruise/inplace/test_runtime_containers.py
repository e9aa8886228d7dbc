"""Records of running containers, and the containers that must be started again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.node_controllers import NodeContainer
from podling_kruise.inplace.runtime_containers import (
    environment_hash,
    has_own_environment,
    reads_metadata,
    records_of,
    records_text,
    runtime_records,
    stale_containers,
    wanted_environment,
)
from podling_kruise.names import IN_PLACE_UPDATE_READY, RUNTIME_CONTAINERS_META


def variable(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def pod(*env: dict[str, Any], gate: str = "False", record: str | None = None, image: str = "web:1") -> Pod:
    """Return a pod with one container, and the label and annotation ``k``."""
    annotations = {"k": "annotated", **({RUNTIME_CONTAINERS_META: record} if record is not None else {})}
    plain = {
        "metadata": {"name": "web", "labels": {"k": "labelled"}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": image, "env": list(env)}]},
        "status": {
            "conditions": [{"type": IN_PLACE_UPDATE_READY, "status": gate}],
            "containerStatuses": [{"name": "main", "containerID": "sim://a", "image": image, "imageID": "x"}],
        },
    }
    return msgspec.convert(plain, Pod)


def running(environment: dict[str, str], **more: Any) -> NodeContainer:
    made: dict[str, Any] = {"id": "sim://a", "is_running": True, "image": "web:1", **more}
    return NodeContainer(
        name="main",
        has_exited=False,
        restart_count=2,
        started_at=None,
        definition_hash=7,
        metadata_environment=environment,
        **made,
    )


LABEL, ANNOTATION = variable("L", "metadata.labels['k']"), variable("A", "metadata.annotations['k']")


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ([LABEL, ANNOTATION], {"L": "labelled", "A": "annotated"}),
        ([variable("N", "metadata.labels['none']")], {"N": ""}),
        ([variable("N", "metadata.name"), {"name": "PLAIN", "value": "x"}], {}),
        ([variable("SIDECARSET_VERSION", "metadata.annotations['k']")], {}),
        ([{**LABEL, "value": "x"}], {}),
    ],
)
def test_variables_are_labels_and_annotations(env: list[dict[str, Any]], wanted: dict[str, str]) -> None:
    found = pod(*env)
    assert wanted_environment(found, found.spec.containers[0]) == wanted
    assert reads_metadata(found) is bool(wanted)


def test_hash_depends_on_names_and_values_and_not_on_their_order() -> None:
    one = environment_hash({"A": "1", "B": "2"})
    assert one == environment_hash({"B": "2", "A": "1"})
    assert len({one, environment_hash({"A": "2", "B": "1"}), environment_hash({"A": "1"}), 0}) == 4


def test_record_says_what_runs_and_with_which_variables() -> None:
    found = records_of(pod(LABEL), [running({"L": "labelled"})])
    (plain,) = json.loads(records_text(found))["containers"]
    hashes = {"plainHash": 7, "extractedEnvFromMetadataHash": environment_hash({"L": "labelled"})}
    assert plain == {"name": "main", "containerID": "sim://a", "restartCount": 2, "hashes": hashes}
    assert has_own_environment(pod(LABEL), found)
    assert not has_own_environment(pod(LABEL), records_of(pod(LABEL), [running({"L": "old"})]))
    assert not has_own_environment(pod(LABEL), [])
    assert records_of(pod(LABEL), []) == []


@pytest.mark.parametrize("text", ["", "[]", '{"containers":1}'])
def test_annotation_that_is_no_record_is_none(text: str) -> None:
    assert runtime_records(pod(LABEL, record=text)) is None
    assert runtime_records(pod(LABEL)) is None


@pytest.mark.parametrize(
    ("found", "container", "is_stale"),
    [
        (pod(LABEL), running({"L": "old"}), True),
        (pod(LABEL), running({}), True),
        (pod(LABEL), running({"L": "labelled"}), False),
        (pod(LABEL, gate="True"), running({"L": "old"}), False),
        (pod(LABEL, image="web:2"), running({"L": "old"}), False),
        (pod(LABEL), running({"L": "old"}, is_running=False), False),
        (pod(), running({"L": "old"}), False),
    ],
    ids=["old", "unknown", "new", "gate is open", "image changes", "has ended", "reads nothing"],
)
def test_container_with_old_variables_is_started_again_behind_the_gate(
    found: Pod, container: NodeContainer, is_stale: bool
) -> None:
    assert stale_containers(found, [container]) == ([container] if is_stale else [])
