"""Labels and annotations of sandboxes and containers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container, Pod
from podling.kubelet import labels
from podling.runtime.grace import POD_TERMINATION_GRACE
from tests.support.kubelet_node import pod


def app(**fields: Any) -> Container:
    return msgspec.convert({"name": "app", "image": "app:1", **fields}, Container)


@pytest.mark.parametrize(
    ("fields", "changed"),
    [({}, False), ({"image": "app:2"}, True), ({"name": "other"}, True), ({"command": ["sh"]}, False)],
)
def test_hash_depends_on_name_and_image(fields: dict[str, Any], changed: bool) -> None:
    annotations = labels.container_annotations(pod(), app(), 0, "")
    assert labels.hash_changed(app(**fields), annotations) == changed
    assert not labels.hash_changed(app(**fields), {}), "a container without the annotation is kept"


def test_annotations_hold_the_restart_state() -> None:
    fields = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    found = labels.container_annotations(pod(terminationGracePeriodSeconds=7), app(**fields), 3, "/node/3")
    assert found == {
        labels.CONTAINER_HASH: labels.container_hash(app()),
        labels.RESTART_COUNT: "3",
        labels.TERMINATION_MESSAGE_PATH: "/dev/termination-log",
        labels.TERMINATION_MESSAGE_POLICY: "FallbackToLogsOnError",
        labels.TERMINATION_MESSAGE_HOST_PATH: "/node/3",
        POD_TERMINATION_GRACE: "7",
    }


def test_identity_overrides_the_pods_own_labels() -> None:
    subject = msgspec.convert(
        {
            "metadata": {
                "name": "web",
                "namespace": "ns",
                "uid": "u",
                "labels": {labels.POD_UID: "x", "a": "b"},
            }
        },
        type(pod()),
    )
    assert labels.pod_labels(subject) == {
        "a": "b",
        labels.POD_NAME: "web",
        labels.POD_NAMESPACE: "ns",
        labels.POD_UID: "u",
    }


def test_variables_from_labels_and_annotations_are_kept_with_the_container() -> None:
    subject = msgspec.convert(
        {"metadata": {"name": "web", "labels": {"a": "1"}, "annotations": {"b/c": "2"}}, "spec": {}}, Pod
    )
    paths = {
        "A": "metadata.labels['a']",
        "B": "metadata.annotations['b/c']",
        "NONE": "metadata.labels['x']",
        "NAME": "metadata.name",
    }
    env = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in paths.items()]
    found = labels.container_annotations(subject, app(env=[*env, {"name": "PLAIN", "value": "x"}]), 0, "")
    assert msgspec.json.decode(found[labels.METADATA_ENVIRONMENT]) == {"A": "1", "B": "2", "NONE": ""}
