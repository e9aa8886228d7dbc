"""Phases and conditions of real pods, from before their sandbox exists until after their end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster
from tests.support.marked_pods import Plain, marked, pod, wait_for
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"
GATE, NOTE, FINALIZER = "example.com/fed", "example.com/note", "example.com/hold"


def pods(marks: Path) -> list[Plain]:
    work = [{"name": "work", "mountPath": "/work"}]
    app = "echo {0} >>/work/order; until grep -q {1} /work/order; do sleep 0.1; done; " + UNTIL_STOPPED
    prepared = pod(
        "prepared",
        marks,
        marked("one", app.format("one", "two"), mounts=work),
        marked("two", app.format("two", "one"), mounts=work),
        initContainers=[
            marked("first", "echo first >>/work/order", mounts=work),
            marked("second", f"{wait_for('go')}; echo second >>/work/order", mounts=work),
        ],
        volumes=[{"name": "work", "emptyDir": {}}],
    )
    gated = pod("gated", marks, marked("main", UNTIL_STOPPED), readinessGates=[{"conditionType": GATE}])
    late = [{"name": "late", "mountPath": "/late"}]
    bare = pod("bare", marks, marked("main", UNTIL_STOPPED, mounts=late))
    bare["spec"]["volumes"].append({"name": "late", "configMap": {"name": "late"}})
    held = pod(
        "held",
        marks,
        marked("main", f"trap '{wait_for('end')}; exit 3' TERM; sleep 3600 & wait"),
        terminationGracePeriodSeconds=60,
    )
    held["metadata"]["finalizers"] = [FINALIZER]
    return [prepared, gated, bare, held]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def lived(cluster: RealCluster, marks: Path) -> Iterator[RealCluster]:
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods(marks)})
    cluster.kubectl("apply", "-f", "-", stdin=everything)
    try:
        yield cluster
    finally:
        (marks / "end").touch()
        release(cluster)
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--grace-period=1", stdin=everything)


def release(cluster: RealCluster) -> None:
    patch = json.dumps({"metadata": {"finalizers": None}})
    cluster.try_kubectl("patch", "pod", "held", "--type=merge", "-p", patch)


def status(cluster: RealCluster, name: str) -> Plain:
    found: Plain = cluster.get("pod", name)["status"]
    return found


def conditions(cluster: RealCluster, name: str) -> dict[str, str]:
    return {each["type"]: each["status"] for each in status(cluster, name)["conditions"]}


def reason(cluster: RealCluster, name: str, condition: str) -> str:
    (found,) = (each for each in status(cluster, name)["conditions"] if each["type"] == condition)
    return str(found.get("reason", ""))


def wait(cluster: RealCluster, name: str, what: str) -> None:
    cluster.kubectl("wait", f"--for={what}", f"pod/{name}", "--timeout=60s")


def test_pod_is_not_ready_to_start_containers_before_all_is_set_up(lived: RealCluster) -> None:
    """A volume is missing; without init containers the pod is Initialized already."""
    wait(lived, "bare", "condition=PodReadyToStartContainers=false")
    assert conditions(lived, "bare") == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "False",
        "Initialized": "True",
        "ContainersReady": "False",
        "Ready": "False",
    }
    found = status(lived, "bare")
    assert found["phase"] == "Pending"
    (container,) = found["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}
    lived.kubectl("create", "configmap", "late")
    try:
        lived.wait_ready("bare")
        assert set(conditions(lived, "bare").values()) == {"True"}
    finally:
        lived.kubectl("delete", "configmap", "late")


def test_pod_is_initialized_once_its_init_containers_have_succeeded(lived: RealCluster, marks: Path) -> None:
    """Meanwhile it is Pending; then its app containers start side by side: each waits for the other."""
    wait(lived, "prepared", "jsonpath={.status.initContainerStatuses[1].state.running}")
    assert conditions(lived, "prepared") == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "False",
        "ContainersReady": "False",
        "Ready": "False",
    }
    assert reason(lived, "prepared", "Initialized") == "ContainersNotInitialized"
    found = status(lived, "prepared")
    assert found["phase"] == "Pending"
    waiting = [each["state"]["waiting"]["reason"] for each in found["containerStatuses"]]
    assert waiting == ["PodInitializing"] * 2
    (marks / "go").touch()
    lived.wait_ready("prepared")
    found = status(lived, "prepared")
    assert found["phase"] == "Running"
    for each in found["initContainerStatuses"]:
        ended = each["state"]["terminated"]
        assert (each["ready"], ended["reason"], ended["exitCode"]) == (True, "Completed", 0)
    order = lived.kubectl("exec", "prepared", "-c", "one", "--", "cat", "/work/order").split()
    assert order[:2] == ["first", "second"]
    assert set(order[2:]) == {"one", "two"}


def test_no_condition_has_the_time_of_a_probe(lived: RealCluster) -> None:
    """``lastProbeTime`` is a field of conditions that no kubelet sets."""
    lived.wait_ready("prepared")
    found = status(lived, "prepared")["conditions"]
    assert [each["lastProbeTime"] for each in found] == [None] * 5
    assert all(each["lastTransitionTime"] for each in found)


def test_another_image_of_a_finished_init_container_restarts_nothing(lived: RealCluster) -> None:
    lived.wait_ready("prepared")
    before = lived.get("pod", "prepared")
    change = {"spec": {"initContainers": [{"name": "first", "image": "example.com/other:1"}]}}
    lived.kubectl("patch", "pod", "prepared", "-p", json.dumps(change))
    generation = before["metadata"]["generation"] + 1
    wait(lived, "prepared", f"jsonpath={{.status.observedGeneration}}={generation}")
    after = status(lived, "prepared")
    assert after["containerStatuses"] == before["status"]["containerStatuses"]
    assert after["initContainerStatuses"] == before["status"]["initContainerStatuses"]


def test_readiness_gate_holds_a_pod_back_until_its_condition_is_set(lived: RealCluster) -> None:
    """Conditions of others are kept as they are, also when a container is started again."""
    wait(lived, "gated", "condition=ContainersReady")
    assert conditions(lived, "gated")["Ready"] == "False"
    assert reason(lived, "gated", "Ready") == "ReadinessGatesNotReady"
    set_conditions(lived, {GATE: "False"})
    assert conditions(lived, "gated")["Ready"] == "False", "as if it were missing"
    set_conditions(lived, {GATE: "True", NOTE: "Unknown"})
    lived.wait_ready("gated")
    # The container's first process ends all others with it, this shell too if it has not ended by then.
    ended = lived.try_kubectl("exec", "gated", "--", "sh", "-c", "kill -TERM 1")
    assert ended.code in (0, 137), ended.err
    wait(lived, "gated", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    lived.wait_ready("gated")
    (note,) = (each for each in status(lived, "gated")["conditions"] if each["type"] == NOTE)
    assert (note["status"], note["reason"], note["message"]) == ("Unknown", "Given", "by a test")
    set_conditions(lived, {GATE: "False"})
    wait(lived, "gated", "condition=Ready=false")
    assert conditions(lived, "gated")["ContainersReady"] == "True"


def set_conditions(cluster: RealCluster, wanted: dict[str, str]) -> None:
    given = [
        {"type": kind, "status": value, "reason": "Given", "message": "by a test"}
        for kind, value in wanted.items()
    ]
    patch = json.dumps({"status": {"conditions": given}})
    cluster.kubectl("patch", "pod", "gated", "--subresource=status", "-p", patch)


def test_deleted_pod_gets_its_final_phase_before_its_object_is_removed(
    lived: RealCluster, marks: Path
) -> None:
    """A finalizer keeps the object, so that its phases can be seen; Terminating is none of them."""
    lived.wait_ready("held")
    lived.kubectl("delete", "pod", "held", "--wait=false")
    wait(lived, "held", "jsonpath={.metadata.deletionTimestamp}")
    assert lived.kubectl("get", "pod", "held", "--no-headers").split()[1:3] == ["1/1", "Terminating"]
    found = lived.get("pod", "held")
    assert found["status"]["phase"] == "Running"
    assert found["metadata"]["deletionGracePeriodSeconds"] == 60
    more = json.dumps({"metadata": {"finalizers": ["example.com/more"]}})
    refused = lived.try_kubectl("patch", "pod", "held", "-p", more)
    assert "no new finalizers can be added if the object is being deleted" in refused.err
    (marks / "end").touch()
    wait(lived, "held", "jsonpath={.status.phase}=Failed")
    until(lambda: conditions(lived, "held")["PodReadyToStartContainers"] == "False")
    (container,) = status(lived, "held")["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"], container["ready"]) == ("Error", 3, False)
    release(lived)
    wait(lived, "held", "delete")
