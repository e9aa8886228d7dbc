"""Classes of service, requests and limits of real containers: what the API says and what the kernel has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PodSpec
from podling.machinery.pods import pod_requests
from tests.support.cgroup_values import UNIFIED, Values, cgroup_of, shares, values
from tests.support.clusters import Done, RealCluster, shell_pod
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

Plain = dict[str, Any]
MIB = 1 << 20
UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"


def amounts(cpu: str = "", memory: str = "", **others: str) -> Plain:
    given = {"cpu": cpu, "memory": memory, **{name.replace("_", "-"): text for name, text in others.items()}}
    return {name: text for name, text in given.items() if text}


def sized(requests: Plain | None = None, limits: Plain | None = None, **more: Any) -> Plain:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def pod(name: str, first: Plain, *others: Plain, **spec: Any) -> Plain:
    """Return a pod with a container ``main`` and others, ``other-1`` and so on."""
    found = shell_pod(name, UNTIL_STOPPED, container=first, **spec)
    main = found["spec"]["containers"][0]
    for number, each in enumerate(others, 1):
        found["spec"]["containers"].append({**main, "resources": {}, **each, "name": f"other-{number}"})
    return found


EXACT = amounts("200m", "64Mi")
PODS = [
    pod("exact", sized(EXACT, EXACT), sized(EXACT, EXACT)),
    pod("roomy", sized(amounts("100m", "32Mi"), amounts(memory="128Mi")), {}),
    pod("capped", sized({}, amounts("250m", "64Mi"))),
    pod("lowest", sized(amounts(ephemeral_storage="1Mi"))),
    pod("whole", {}, resources=sized(amounts("100m", "48Mi"), amounts("300m", "96Mi"))["resources"]),
    pod("grows", sized(EXACT, EXACT)),
    pod(
        "restarts",
        sized(EXACT, EXACT, resizePolicy=[{"resourceName": "memory", "restartPolicy": "RestartContainer"}]),
    ),
]
PREPARED = pod("prepared", sized(amounts("50m", "32Mi"), amounts("100m", "32Mi")))
PREPARED["spec"]["initContainers"] = [
    {
        **PREPARED["spec"]["containers"][0],
        "name": "first",
        "command": ["true"],
        **sized(amounts("300m", "16Mi"), amounts("300m", "64Mi")),
    }
]


@pytest.fixture(scope="module")
def sizes(cluster: RealCluster) -> Iterator[RealCluster]:
    everything: Plain = {"apiVersion": "v1", "kind": "List", "items": [*PODS, PREPARED]}
    cluster.apply(everything)
    try:
        names = [f"pod/{each['metadata']['name']}" for each in everything["items"]]
        cluster.kubectl("wait", "--for=condition=Ready", "--timeout=60s", *names)
        yield cluster
    finally:
        cluster.kubectl("delete", "-f", "-", "--grace-period=1", stdin=json.dumps(everything), timeout=60)


def of_pod(cluster: RealCluster, name: str) -> Values:
    """Return the limits of a pod's own cgroup."""
    return values(cgroup_of(cluster.get("pod", name)["metadata"]["uid"]))


INSIDE = (
    "cat cpu.weight && cat cpu.max | cut -d' ' -f1 && cat memory.max"
    if UNIFIED
    else "cat cpu/cpu.shares cpu/cpu.cfs_quota_us memory/memory.limit_in_bytes"
)


def inside(cluster: RealCluster, name: str, container: str = "main") -> tuple[int, int | None, int | None]:
    """Return a container's shares, quota and memory limit as it reads them itself."""
    script = f"cd /sys/fs/cgroup && {INSIDE}"
    lines = cluster.kubectl("exec", name, "-c", container, "--", "sh", "-c", script).split()
    found = [-1 if line == "max" else int(line) for line in lines]
    quota, memory = (number if 0 <= number < 1 << 60 else None for number in found[1:])
    return found[0], quota, memory


@pytest.mark.parametrize(
    ("name", "qos", "tier"),
    [
        ("exact", "Guaranteed", ""),
        ("roomy", "Burstable", "burstable/"),
        ("capped", "Guaranteed", ""),
        ("whole", "Burstable", "burstable/"),
        ("prepared", "Burstable", "burstable/"),
        ("lowest", "BestEffort", "besteffort/"),
    ],
)
def test_class_of_service_follows_requests_and_limits(
    sizes: RealCluster, name: str, qos: str, tier: str
) -> None:
    found = sizes.get("pod", name)
    assert found["status"]["qosClass"] == qos
    uid = found["metadata"]["uid"]
    assert cgroup_of(uid).endswith(f"/{tier}pod{uid}")


def test_guaranteed_container_gets_no_more_than_its_limit(sizes: RealCluster) -> None:
    assert inside(sizes, "exact") == (shares(204), 20000, 64 * MIB)
    assert of_pod(sizes, "exact") == Values(shares(409), 40000, 128 * MIB), "the sum of both containers"


def test_limit_without_request_is_the_request(sizes: RealCluster) -> None:
    requests = sizes.get("pod", "capped")["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "250m", "memory": "64Mi"}
    assert inside(sizes, "capped") == (shares(256), 25000, 64 * MIB)


def test_container_without_limit_may_use_what_the_node_has(sizes: RealCluster) -> None:
    assert inside(sizes, "roomy") == (shares(102), None, 128 * MIB)
    assert inside(sizes, "roomy", "other-1") == (shares(2), None, None)
    assert of_pod(sizes, "roomy") == Values(shares(102)), "one container has no limit, so the pod has none"


def test_best_effort_pod_has_the_least_share_and_no_limit(sizes: RealCluster) -> None:
    assert inside(sizes, "lowest") == (shares(2), None, None)
    assert of_pod(sizes, "lowest") == Values(shares(2))


def test_init_container_counts_in_the_cgroup_of_its_pod(sizes: RealCluster) -> None:
    assert inside(sizes, "prepared") == (shares(51), 10000, 32 * MIB)
    assert of_pod(sizes, "prepared") == Values(shares(307), 30000, 64 * MIB)


def test_pod_level_resources_limit_the_pod_and_its_containers(sizes: RealCluster) -> None:
    assert of_pod(sizes, "whole") == Values(shares(102), 30000, 96 * MIB)
    assert inside(sizes, "whole")[1:] == (30000, 96 * MIB)


def test_classes_share_the_node_as_their_pods_request(sizes: RealCluster) -> None:
    """Pods of the class Burstable have together what they request; BestEffort pods get what is left over."""
    uid = sizes.get("pod", "lowest")["metadata"]["uid"]
    root = cgroup_of(uid).rpartition("/besteffort/")[0]
    until(lambda: values(f"{root}/burstable").shares == shares(requested_by_burstable_pods(sizes)))
    assert requested_by_burstable_pods(sizes) >= 512, "roomy, whole and prepared request 500m"
    assert values(f"{root}/besteffort").shares == shares(2)
    (node,) = sizes.get("nodes")["items"]
    cpus = int(node["status"]["capacity"]["cpu"])
    assert values(root).shares == shares(cpus * 1024)
    memory = node["status"]["capacity"]["memory"]
    assert values(root).memory == int(memory.removesuffix("Ki")) * 1024


def requested_by_burstable_pods(cluster: RealCluster) -> int:
    """Return the CPU shares of what the running pods of the class request together."""
    return requested(cluster, "Burstable") * 1024 // 1000


def requested(cluster: RealCluster, *classes: str) -> int:
    """Return the thousandths of a CPU that the running pods of the classes request together."""
    running = (
        msgspec.convert(each["spec"], PodSpec)
        for each in cluster.get("pods", "-A")["items"]
        if each["status"].get("phase") == "Running" and each["status"].get("qosClass") in classes
    )
    amounts_of_cpu = (pod_requests(spec).get("cpu") for spec in running)
    return sum(each.milli_value for each in amounts_of_cpu if each is not None)


CAP_SYS_RESOURCE = 24


def least_score() -> int:
    """Return the lowest score that a process may get here: below its own only with a capability."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    return -997 if capabilities >> CAP_SYS_RESOURCE & 1 else int(Path("/proc/self/oom_score_adj").read_text())


def test_kernel_kills_lower_classes_first(sizes: RealCluster) -> None:
    exact, roomy, lowest = (
        int(sizes.kubectl("exec", name, "-c", "main", "--", "cat", "/proc/1/oom_score_adj"))
        for name in ("exact", "roomy", "lowest")
    )
    assert exact == max(-997, least_score())
    assert 2 < roomy < 1000
    assert lowest == 1000


def resize(cluster: RealCluster, name: str, cpu: str, memory: str) -> Done:
    wanted = amounts(cpu, memory)
    patch = {"spec": {"containers": [{"name": "main", "resources": {"requests": wanted, "limits": wanted}}]}}
    return cluster.try_kubectl("patch", "pod", name, "--subresource", "resize", "-p", json.dumps(patch))


def status_of(cluster: RealCluster, name: str) -> Plain:
    found: Plain = cluster.get("pod", name)["status"]
    return found


def pending(cluster: RealCluster, name: str) -> str:
    conditions = {each["type"]: each for each in status_of(cluster, name)["conditions"]}
    return str(conditions.get("PodResizePending", {}).get("reason", ""))


def test_running_container_is_resized_without_a_restart(sizes: RealCluster) -> None:
    (before,) = status_of(sizes, "grows")["containerStatuses"]
    resize(sizes, "grows", "300m", "96Mi")
    until(lambda: inside(sizes, "grows") == (shares(307), 30000, 96 * MIB))
    assert of_pod(sizes, "grows") == Values(shares(307), 30000, 96 * MIB)
    until(lambda: allocated(sizes, "grows") == amounts("300m", "96Mi"))
    (after,) = status_of(sizes, "grows")["containerStatuses"]
    assert after["resources"]["limits"] == amounts("300m", "96Mi"), "what is in effect"
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)
    assert status_of(sizes, "grows")["qosClass"] == "Guaranteed"
    resize(sizes, "grows", "100m", "64Mi")
    until(lambda: inside(sizes, "grows") == (shares(102), 10000, 64 * MIB))


def test_resize_gives_one_resource_and_takes_another(sizes: RealCluster) -> None:
    """The pod's quota grows before its container's, and its memory shrinks after."""
    resize(sizes, "grows", "400m", "48Mi")
    until(lambda: inside(sizes, "grows") == (shares(409), 40000, 48 * MIB))
    assert of_pod(sizes, "grows") == Values(shares(409), 40000, 48 * MIB)
    resize(sizes, "grows", "100m", "64Mi")
    until(lambda: inside(sizes, "grows") == (shares(102), 10000, 64 * MIB))
    assert of_pod(sizes, "grows") == Values(shares(102), 10000, 64 * MIB)
    assert status_of(sizes, "grows")["containerStatuses"][0]["restartCount"] == 0


def allocated(cluster: RealCluster, name: str) -> Plain:
    (found,) = status_of(cluster, name)["containerStatuses"]
    resources: Plain = found["allocatedResources"]
    return resources


def test_container_restarts_for_a_resize_if_its_policy_says_so(sizes: RealCluster) -> None:
    resize(sizes, "restarts", "300m", "64Mi")
    until(lambda: inside(sizes, "restarts") == (shares(307), 30000, 64 * MIB))
    assert status_of(sizes, "restarts")["containerStatuses"][0]["restartCount"] == 0, "CPU needs no restart"
    resize(sizes, "restarts", "300m", "80Mi")
    until(lambda: status_of(sizes, "restarts")["containerStatuses"][0]["restartCount"] == 1)
    sizes.wait_ready("restarts")
    until(lambda: inside(sizes, "restarts") == (shares(307), 30000, 80 * MIB))


def test_resize_beyond_the_node_or_to_another_class_is_refused(sizes: RealCluster) -> None:
    beyond = resize(sizes, "exact", "5000", "64Mi")
    assert "node didn't have enough allocatable resources: cpu, requested: 5000200" in beyond.err
    other = {"spec": {"containers": [{"name": "main", "resources": {"requests": amounts("100m", "64Mi")}}]}}
    done = sizes.try_kubectl("patch", "pod", "exact", "--subresource", "resize", "-p", json.dumps(other))
    assert "Pod QOS Class may not change as a result of resizing" in done.err
    assert of_pod(sizes, "exact") == Values(shares(409), 40000, 128 * MIB)


def test_resize_that_does_not_fit_beside_others_is_deferred_until_it_does(sizes: RealCluster) -> None:
    """One is taken back; another is made as soon as a pod has gone that was in its way."""
    (node,) = sizes.get("nodes")["items"]
    cpus = int(node["status"]["allocatable"]["cpu"])
    resize(sizes, "capped", str(cpus), "64Mi")
    until(lambda: pending(sizes, "capped") == "Deferred")
    assert of_pod(sizes, "capped") == Values(shares(256), 25000, 64 * MIB)
    resize(sizes, "capped", "250m", "64Mi")
    until(lambda: pending(sizes, "capped") == "")
    sizes.apply(pod("holder", sized(amounts("200m"))))
    try:
        sizes.wait_ready("holder")
        more = 250 + 1000 * cpus - requested(sizes, "Guaranteed", "Burstable") + 100
        resize(sizes, "capped", f"{more}m", "64Mi")
        until(lambda: pending(sizes, "capped") == "Deferred")
        assert inside(sizes, "capped") == (shares(256), 25000, 64 * MIB)
    finally:
        sizes.kubectl("delete", "pod", "holder", "--grace-period=1")
    until(lambda: inside(sizes, "capped") == (shares(more * 1024 // 1000), more * 100, 64 * MIB))
    until(lambda: pending(sizes, "capped") == "")
    assert status_of(sizes, "capped")["containerStatuses"][0]["restartCount"] == 0
    resize(sizes, "capped", "250m", "64Mi")
    until(lambda: inside(sizes, "capped") == (shares(256), 25000, 64 * MIB))


def test_memory_in_use_is_not_taken_away(sizes: RealCluster) -> None:
    """The limit stays above the use, and follows once the memory is free."""
    fill = "perl -e '$x = \"a\" x (40 << 20); sleep 3600' >/dev/null 2>&1 & echo $!"
    pid = sizes.kubectl("exec", "whole", "--", "sh", "-c", fill).strip()
    used = "memory.current" if UNIFIED else "memory/memory.usage_in_bytes"

    def use() -> int:
        return int(sizes.kubectl("exec", "whole", "--", "cat", f"/sys/fs/cgroup/{used}"))

    until(lambda: use() > 40 * MIB)
    lower = {"limits": amounts("300m", "20Mi"), "requests": amounts("100m", "20Mi")}
    sizes.kubectl(
        "patch", "pod", "whole", "--subresource", "resize", "-p", json.dumps({"spec": {"resources": lower}})
    )
    until(lambda: error_of(sizes, "whole") != "")
    assert "below current usage" in error_of(sizes, "whole")
    assert of_pod(sizes, "whole").memory == 96 * MIB
    sizes.kubectl("exec", "whole", "--", "kill", pid)
    until(lambda: of_pod(sizes, "whole").memory == 20 * MIB)
    (status,) = status_of(sizes, "whole")["containerStatuses"]
    assert (status["restartCount"], "running" in status["state"]) == (0, True)


def error_of(cluster: RealCluster, name: str) -> str:
    conditions = {each["type"]: each for each in status_of(cluster, name)["conditions"]}
    found = conditions.get("PodResizeInProgress", {})
    return str(found.get("message", "")) if found.get("reason") == "Error" else ""
