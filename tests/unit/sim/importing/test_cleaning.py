"""Objects without what servers and controllers added."""

from __future__ import annotations

from typing import Any

import pytest

from podling.sim.importing.cleaning import cleaned

Plain = dict[str, Any]


def test_fields_of_the_server_are_removed_and_the_source_stays() -> None:
    metadata = {"name": "a", "uid": "1", "resourceVersion": "2", "labels": {"x": "y"}}
    metadata["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    source: Plain = {"kind": "Service", "metadata": metadata, "status": {"loadBalancer": {}}}
    assert cleaned(source) == {"kind": "Service", "metadata": {"name": "a", "labels": {"x": "y"}}}
    assert source["metadata"]["uid"] == "1"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "type": "NodePort"}, {"type": "NodePort"}),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None", "clusterIPs": ["None"]}),
        ({"ports": [{"port": 80, "nodePort": 30080}]}, {"ports": [{"port": 80}]}),
    ],
)
def test_services_get_new_addresses_unless_they_have_none(found: Plain, wanted: Plain) -> None:
    assert cleaned({"kind": "Service", "metadata": {"name": "a"}, "spec": found})["spec"] == wanted


def test_values_of_secrets_are_emptied() -> None:
    found = cleaned({"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "aHVudGVyMg=="}})
    assert found["data"] == {"password": ""}


def test_pod_loses_its_node_its_token_and_its_disks() -> None:
    spec = {
        "nodeName": "n",
        "volumes": [
            {"name": "kube-api-access-x", "projected": {}},
            {"name": "disk", "persistentVolumeClaim": {"claimName": "c"}},
        ],
        "containers": [{"name": "c", "volumeMounts": [{"name": "kube-api-access-x"}, {"name": "disk"}]}],
    }
    found = cleaned({"kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    assert found["spec"] == {
        "volumes": [{"name": "disk", "emptyDir": {}}],
        "containers": [{"name": "c", "volumeMounts": [{"name": "disk"}]}],
    }


def test_claims_of_stateful_sets_become_empty_folders() -> None:
    spec = {
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        "template": {"spec": {"containers": []}},
    }
    found = cleaned({"kind": "StatefulSet", "metadata": {"name": "a"}, "spec": spec})
    assert found["spec"] == {
        "template": {"spec": {"containers": [], "volumes": [{"name": "data", "emptyDir": {}}]}}
    }


def test_job_gets_a_new_selector() -> None:
    labels = {"controller-uid": "1", "batch.kubernetes.io/job-name": "a", "app": "x"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {}}}
    found = cleaned({"kind": "Job", "metadata": {"name": "a"}, "spec": spec})
    assert found["spec"] == {"template": {"metadata": {"labels": {"app": "x"}}, "spec": {}}}
