"""The order of eviction, and the message of an evicted pod, as tables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod
from podling.kubelet.eviction.eviction_ranking import ContainerUse, PodUse, explain, pod_request, rank
from podling.kubelet.node.node_pressure import Observation, Threshold
from podling.machinery.pods import qos_class_of

MI = 1 << 20
MEMORY, DISK, PIDS = "memory.available", "nodefs.available", "pid.available"
LOW, HIGH = -1, 1


def container(name: str = "app", **requests: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): amount for key, amount in requests.items()}
    return {"name": name, "resources": {"requests": named}}


def sidecar(name: str = "proxy", **requests: str) -> dict[str, Any]:
    return {**container(name, **requests), "restartPolicy": "Always"}


def make_pod(name: str = "web", status: Any = None, **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name},
        "spec": {"containers": [container()], **spec},
        "status": status or {},
    }
    return msgspec.convert(plain, Pod)


def use(name: str, used: int, request: str = "", priority: int = 0) -> PodUse:
    """Return a pod that uses ``used`` MiB of memory and of disk, and as many processes."""
    requests = {"memory": request, "ephemeral_storage": request} if request else {}
    subject = make_pod(name, priority=priority, containers=[container(**requests)])
    return PodUse(subject, (ContainerUse("app", memory=used * MI, disk=used * MI, processes=used),))


RELATIVE = [
    use("burstable-high", 800, "100Mi"),
    use("best-effort-high", 500),
    use("best-effort-low", 300),
    use("burstable-low", 300, "100Mi"),
    use("guaranteed-high", 800, "1Gi"),
    use("guaranteed-low", 200, "1Gi"),
]
BY_PRIORITY = [
    use("above-low-priority-high-usage", 500, priority=LOW),
    use("above-low-priority-low-usage", 50, priority=LOW),
    use("above-high-priority-high-usage", 600, "100Mi", HIGH),
    use("above-high-priority-low-usage", 150, "100Mi", HIGH),
    use("below-low-priority-high-usage", 800, "1Gi", LOW),
    use("below-low-priority-low-usage", 200, "1Gi", LOW),
    use("below-high-priority-high-usage", 800, "1Gi", HIGH),
    use("below-high-priority-low-usage", 200, "1Gi", HIGH),
]


@pytest.mark.parametrize("signal", [MEMORY, DISK])
@pytest.mark.parametrize(
    "expected",
    [
        [use("exceeds", 101, "100Mi", HIGH), use("below", 199, "200Mi", LOW)],
        [use("low", 1, priority=-134), use("medium", 1, priority=1), use("high", 1, priority=12534)],
        RELATIVE,
        BY_PRIORITY,
        [PodUse(make_pod("unmeasured", priority=HIGH)), use("measured", 500, priority=LOW)],
    ],
)
def test_order_follows_use_priority_and_excess(signal: str, expected: list[PodUse]) -> None:
    assert list(rank(expected[::-1], signal)) == expected


def test_order_of_the_classes_of_service_at_equal_use() -> None:
    """Requests decide, not the QoS class: pods below their requests are candidates too, and come last."""
    best_effort = use("best-effort", 150)
    burstable = use("burstable", 150, "100Mi")
    limited = {"requests": {"memory": "200Mi", "cpu": "1"}, "limits": {"memory": "200Mi", "cpu": "1"}}
    containers = [{"name": "app", "resources": limited}]
    guaranteed = PodUse(make_pod("guaranteed", containers=containers), use("x", 150).containers)
    expected = [best_effort, burstable, guaranteed]
    assert [qos_class_of(each.pod) for each in expected] == ["BestEffort", "Burstable", "Guaranteed"]
    assert list(rank(expected[::-1], MEMORY)) == expected


def test_order_by_processes() -> None:
    expected = [
        use("low-priority-high-usage", 20, priority=LOW),
        use("low-priority-low-usage", 6, priority=LOW),
        use("high-priority-high-usage", 20, priority=HIGH),
        use("high-priority-low-usage", 5, priority=HIGH),
    ]
    assert list(rank(expected[::-1], PIDS)) == expected


def test_local_volumes_count_as_disk() -> None:
    first = PodUse(make_pod("volumes"), (ContainerUse("app"),), volumes_disk=2 * MI)
    assert rank([use("layers", 1), first], DISK)[0] is first
    assert rank([use("layers", 1), first], MEMORY)[1] is first


def test_critical_pods_are_never_evicted() -> None:
    assert rank([use("critical", 90, priority=2_000_000_000)], MEMORY) == ()


@pytest.mark.parametrize(
    ("spec", "resource", "request_text"),
    [
        ({"containers": [container(memory="1Gi"), container("b", memory="1Gi")]}, "memory", "2Gi"),
        ({"initContainers": [sidecar(memory="1Gi")]}, "memory", "1Gi"),
        ({"initContainers": [container("setup", memory="3Gi")]}, "memory", "3Gi"),
        (
            {
                "containers": [container(memory="1Gi")],
                "initContainers": [sidecar(memory="1Gi"), container("setup", memory="3Gi")],
            },
            "memory",
            "4Gi",
        ),
        (
            {"containers": [container(memory="1Gi")], "resources": {"requests": {"memory": "5Gi"}}},
            "memory",
            "5Gi",
        ),
        (
            {
                "containers": [container(ephemeral_storage="1Gi")],
                "resources": {"requests": {"memory": "5Gi"}},
            },
            "ephemeral-storage",
            "0",
        ),
        ({"containers": [container(memory="1Gi")], "overhead": {"memory": "1Gi"}}, "memory", "2Gi"),
        ({"overhead": {"memory": "1Gi"}}, "memory", "0"),
        ({"containers": [container(memory="1Gi")]}, "inodes", "0"),
    ],
)
def test_request_counts_pod_level_and_overhead(
    spec: dict[str, Any], resource: str, request_text: str
) -> None:
    assert str(pod_request(make_pod(**spec), resource)) == request_text


HARD = Threshold(MEMORY, "100Mi")
LOW_ON_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "


def evicted_message(spec: dict[str, Any], *uses: ContainerUse, status: Any = None) -> str:
    subject = PodUse(make_pod(status=status, **spec), uses)
    return explain(subject, HARD, Observation(50 * MI, 2000 * MI)).message


def test_message_lists_regular_init_and_sidecar_containers() -> None:
    spec = {
        "containers": [container(memory="100M")],
        "initContainers": [container("setup", memory="1Gi"), sidecar(memory="1Mi")],
        "ephemeralContainers": [{"name": "debug"}],
    }
    uses = [ContainerUse(name, memory=300 * MI + 1) for name in ("app", "proxy", "setup", "debug")]
    assert evicted_message(spec, *uses) == (
        LOW_ON_MEMORY
        + "Container app was using 314572801, request is 100M, has larger consumption of memory. "
        "Container proxy was using 314572801, request is 1Mi, has larger consumption of memory. "
    )


def test_message_compares_with_allocated_resources() -> None:
    allocated = {"containerStatuses": [{"name": "app", "allocatedResources": {"memory": "1Gi"}}]}
    spec = {"containers": [container(memory="1Mi")]}
    assert evicted_message(spec, ContainerUse("app", memory=MI * 2), status=allocated) == LOW_ON_MEMORY


def test_message_without_measurements() -> None:
    assert evicted_message({}) == LOW_ON_MEMORY


@pytest.mark.parametrize(
    ("threshold", "observed", "quantities"),
    [
        (Threshold(MEMORY, "500M"), Observation(50 * MI, 2000 * MI), "500M, available: 50Mi"),
        (Threshold(MEMORY, "1500Ki"), Observation(MI + 1, 2000 * MI), "1500Ki, available: 1048577"),
        (Threshold(MEMORY, "10%"), Observation(50 * MI, 1024 * MI), "107374184, available: 50Mi"),
        (Threshold("nodefs.inodesFree", "5%"), Observation(1024, 1024 * 1000), "50Ki, available: 1024"),
        (Threshold("nodefs.inodesFree", "2k"), Observation(1000, 1024 * 1000), "2k, available: 1k"),
        (Threshold(PIDS, "2048"), Observation(1024, 32768), "2048, available: 1024"),
    ],
)
def test_message_shows_threshold_in_its_own_format(
    threshold: Threshold, observed: Observation, quantities: str
) -> None:
    found = explain(PodUse(make_pod()), threshold, observed).message
    assert found.partition("Threshold quantity: ")[2] == f"{quantities}. "


def test_annotations_name_containers_above_their_requests() -> None:
    containers = [container(memory="1Mi"), container("small", memory="1Gi"), container("other")]
    uses = tuple(ContainerUse(name, memory=2 * MI) for name in ("app", "small", "other"))
    subject = PodUse(make_pod(containers=containers), uses)
    found = explain(subject, HARD, Observation(50 * MI, 2000 * MI))
    assert found.annotations == {
        "offending_containers": "app,other",
        "offending_containers_usage": "2Mi,2Mi",
        "starved_resource": "memory",
    }


def test_annotations_of_a_pod_that_was_not_measured_are_absent() -> None:
    assert explain(PodUse(make_pod()), HARD, Observation(1, 2000 * MI)).annotations == {}


def test_request_of_the_pod_as_a_whole_is_named_before_its_containers() -> None:
    """Also where the pod uses less: its request is what the ranking compares."""
    subject = make_pod(containers=[container(memory="1Mi")], resources={"requests": {"memory": "1Gi"}})
    uses = ContainerUse("app", memory=2 * MI), ContainerUse("debug", memory=MI)
    found = explain(PodUse(subject, uses), HARD, Observation(50 * MI, 2000 * MI))
    assert found.message == (
        LOW_ON_MEMORY + "Pod web was using 3Mi, request is 1Gi, has larger consumption of memory. "
        "Container app was using 2Mi, request is 1Mi, has larger consumption of memory. "
    )
    assert (found.annotations["offending_pod"], found.annotations["offending_pod_usage"]) == ("web", "3Mi")
    disk = explain(PodUse(subject, uses), Threshold(DISK, "1Gi"), Observation(1, 2000 * MI))
    assert "Pod web" not in disk.message


USES = st.builds(
    use,
    st.text("abc", min_size=1, max_size=3),
    st.integers(0, 300),
    st.sampled_from(["", "100Mi", "200Mi"]),
    st.sampled_from([LOW, 0, HIGH]),
)


@given(
    st.lists(
        USES | st.just(PodUse(make_pod("unmeasured"))),
        max_size=6,
        unique_by=lambda use: use.pod.metadata.name,
    ),
    st.data(),
)
@pytest.mark.parametrize("signal", [MEMORY, DISK, PIDS])
def test_ranking_is_a_total_order(signal: str, uses: list[PodUse], data: st.DataObject) -> None:
    """Every pod has a rank; that of two pods depends neither on the others nor on their order."""
    ranked = rank(uses, signal)
    assert len(ranked) == len(uses)
    assert rank(data.draw(st.permutations(uses)), signal) == ranked
    for first, second in combinations(ranked, 2):
        assert standing(first, signal) <= standing(second, signal)
        assert rank([second, first], signal) == (first, second)


@pytest.mark.parametrize("signal", [MEMORY, DISK, PIDS])
def test_names_decide_among_pods_that_are_equal_otherwise(signal: str) -> None:
    first, second = use("a", 100, "100Mi", 0), use("b", 100, "100Mi", 0)
    assert rank([second, first], signal) == rank([first, second], signal) == (first, second)


def standing(of: PodUse, signal: str) -> tuple[object, ...]:
    """Return the facts by which the documents rank a pod: above its request, priority, excess."""
    priority = of.pod.spec.priority or 0
    if signal == PIDS:
        return priority, bool(of.containers), -of.total("pids")
    resource = "memory" if signal == MEMORY else "ephemeral-storage"
    above = of.total(resource) - pod_request(of.pod, resource).value
    return bool(of.containers), above <= 0, priority, -above


def files(name: str, own: int, volumes: int = 0, priority: int = 0) -> PodUse:
    """Return a pod with many files, large or small."""
    containers = (ContainerUse("app", disk=1000 - own, inodes=own),)
    return PodUse(make_pod(name, priority=priority), containers, 1000 - volumes, volumes)


def test_order_for_inodes_follows_priority_and_their_number() -> None:
    """Inodes cannot be requested, so every pod exceeds its request; bytes do not count."""
    expected = [
        PodUse(make_pod("unmeasured")),
        files("low-many", 400, priority=LOW),
        files("low-few", 5, priority=LOW),
        files("many-in-volumes", 10, 600),
        files("many", 500),
        files("few", 3, 2),
    ]
    assert list(rank(expected[::-1], "nodefs.inodesFree")) == expected
