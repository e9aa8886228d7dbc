"""Scenarios from a cluster's objects."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from podling.sim.importing.from_objects import scenario_from_objects
from podling.sim.runner import run_scenario
from podling.sim.scenario_parts import Duration
from tests.support.importing import read
from tests.support.scenarios import FOLDER

Plain = dict[str, Any]


def obj(kind: str, name: str, spec: Plain | None = None, namespace: str = "shop", **fields: Any) -> Plain:
    group = {
        "Deployment": "apps/v1",
        "ReplicaSet": "apps/v1",
        "Job": "batch/v1",
        "CronJob": "batch/v1",
        "Widget": "example.com/v1",
    }
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    if kind not in ("Node", "Namespace"):
        metadata["namespace"] = namespace
    metadata |= fields.pop("metadata", {})
    found = {
        "apiVersion": group.get(kind, "v1"),
        "kind": kind,
        "metadata": metadata,
        "spec": spec or {},
        **fields,
    }
    return found


def node(name: str, zone: str = "a", **spec: Any) -> Plain:
    labels = {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name, "disk": "ssd"}
    status = {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "7", "memory": "14Gi", "pods": "100"}}
    return obj("Node", name, spec, metadata={"labels": labels}, status=status)


TEMPLATE: Plain = {
    "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
    "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "runner"},
}
WEB = obj(
    "Deployment", "web", {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
)


def pod(name: str, started: str, finished: str = "", owner: str = "ReplicaSet") -> Plain:
    state: Plain = {"running": {"startedAt": started}}
    if finished:
        state = {"terminated": {"startedAt": started, "finishedAt": finished, "exitCode": 3}}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {
        "phase": "Running",
        "conditions": [scheduled],
        "containerStatuses": [{"name": "c", "restartCount": 0, "state": state}],
    }
    metadata: Plain = {
        "labels": {"app": "web", "pod-template-hash": "abc", "topology.kubernetes.io/zone": "a"}
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "x", "controller": True}]
    return obj("Pod", name, {"containers": [{"name": "c", "image": "i"}]}, metadata=metadata, status=status)


def test_cluster_becomes_groups_manifests_and_behaviours() -> None:
    objects = [
        node("pool-1"),
        node("pool-2"),
        node(
            "pool-3",
            zone="b",
            taints=[
                {"key": "gpu", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/x", "effect": "NoExecute"},
            ],
        ),
        WEB,
        pod("web-1", "2026-01-01T00:00:04Z"),
        pod("web-2", "2026-01-01T00:00:06Z"),
    ]
    made = scenario_from_objects(objects)
    found = read(made)
    assert [(each.name, each.count, each.zones, each.cpu) for each in found.nodes] == [
        ("pool", 2, ("a",), "7"),
        ("pool-a", 1, ("b",), "7"),
    ]
    assert found.nodes[0].labels == {"disk": "ssd"}
    assert [each.key for each in found.nodes[1].taints] == ["gpu"]
    (source,) = found.manifests
    assert [(each["kind"], each["metadata"]["name"]) for each in source.objects] == [
        ("Namespace", "shop"),
        ("ServiceAccount", "runner"),
        ("Deployment", "web"),
    ]
    (behaviour,) = found.behaviours
    assert behaviour.pods == {"app": "web"}
    assert (behaviour.namespace, behaviour.script.start_seconds) == ("shop", 5.0)
    assert made.notes == ("added: 2 namespaces and service accounts that the objects refer to",)
    outcome, statistics = run_scenario(found, FOLDER, 0)
    assert outcome.is_complete
    assert statistics.samples[-1].ready_pods == 2


def test_runs_that_ended_give_their_length_and_exit_code() -> None:
    ended = pod("run-1", "2026-01-01T00:00:02Z", "2026-01-01T00:00:32Z", owner="Job")
    (behaviour,) = read(scenario_from_objects([node("n"), ended])).behaviours
    assert [(each.seconds, each.exit_code) for each in behaviour.script.runs] == [(30, 3)]


def test_runs_of_pods_without_labels_stand_in_the_template_of_their_cron_job() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    job = obj(
        "Job", "x", metadata={"ownerReferences": [{"kind": "CronJob", "name": "t", "controller": True}]}
    )
    ended = pod("x-1", "2026-01-01T00:00:02Z", "2026-01-01T00:00:32Z", owner="Job")
    ended["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "x"}
    ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] = 0
    found = read(scenario_from_objects([node("n"), obj("CronJob", "t", spec), job, ended]))
    assert found.behaviours == ()
    outcome, statistics = run_scenario(replace(found, until=Duration(150)), FOLDER, 0)
    assert outcome.passed
    assert statistics.samples[-1].phases == {"Succeeded": 2}


def test_images_that_no_pod_could_have_are_missing() -> None:
    def waiting(name: str, image: str, reason: str, image_id: str = "") -> Plain:
        status = {"name": "c", "image": image, "imageID": image_id, "state": {"waiting": {"reason": reason}}}
        return obj("Pod", name, status={"containerStatuses": [status]})

    pods = [
        waiting("a", "none:1", "ImagePullBackOff"),
        waiting("b", "late:1", "ErrImagePull"),
        waiting("c", "late:1", "CrashLoopBackOff", "sha256:1"),
        waiting("d", "new:1", "ContainerCreating"),
    ]
    found = read(scenario_from_objects([node("n"), *pods]))
    assert {name: each.missing for name, each in found.images.items()} == {"docker.io/library/none:1": True}


@pytest.mark.parametrize(
    ("each", "note"),
    [
        (obj("Widget", "w"), "left out: 1 Widget: scenarios do not take this kind"),
        (obj("Deployment", "w", {"replcas": 2}), "left out: 1 Deployment that cannot be read here, as w: "),
    ],
)
def test_notes_name_what_is_left_out(each: Plain, note: str) -> None:
    made = scenario_from_objects([node("n"), each])
    assert "manifests" not in made.scenario
    assert any(text.startswith(note) for text in made.notes)


@pytest.mark.parametrize(
    "each",
    [
        pod("owned", "2026-01-01T00:00:04Z"),
        obj("Pod", "etcd", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
        obj("Pod", "over", status={"phase": "Succeeded"}),
        obj("Job", "over", status={"conditions": [{"type": "Complete", "status": "True"}]}),
        obj("ConfigMap", "kube-root-ca.crt"),
        obj("ConfigMap", "kube-apiserver-legacy-service-account-token-tracking", namespace="kube-system"),
        obj("Service", "kubernetes", namespace="default"),
        obj("Namespace", "kube-system"),
        obj("Secret", "token", type="kubernetes.io/service-account-token"),
    ],
)
def test_objects_that_come_by_themselves_are_not_applied(each: Plain) -> None:
    assert "manifests" not in scenario_from_objects([node("n"), each]).scenario


def test_cluster_without_nodes_gets_some() -> None:
    made = scenario_from_objects([WEB])
    assert made.notes[0] == "no nodes were given: the scenario has three of the default size"
    assert read(made).nodes[0].count == 3
