"""Cgroup values of containers and pods, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.resources import (
    cgroup_parent,
    container_resources,
    cpu_quota,
    cpu_shares,
    oom_score_adj,
    pod_resources,
)
from podling.kubelet.swap import NodeMemory

CONFIG = KubeletConfig(cluster_dns=("10.96.0.10",))


GIB = 1 << 30
NODE = NodeMemory(8 * GIB, allocatable=7 * GIB)


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "app", "resources": resources}


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return pod(*containers, **more).spec


SMALL = {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (100, 102), (1000, 1024), (10**6, 262144)])
def test_cpu_shares_follow_milli_cpu(milli: int, shares: int) -> None:
    assert cpu_shares(milli) == shares


@pytest.mark.parametrize(
    ("milli", "quota"),
    [(0, None), (1, 1000), (10, 1000), (500, 50000), (2000, 200000), ((1 << 63) - 1, (1 << 44) - 1)],
)
def test_cpu_quota_is_one_that_the_kernel_accepts(milli: int, quota: int | None) -> None:
    assert cpu_quota(milli, 100000) == quota


def test_limits_of_huge_pages_become_values_of_version_2() -> None:
    """By the size of the page, in bytes."""
    amounts = {"hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi"}
    subject = pod(container(requests=amounts, limits={**SMALL, **amounts}))
    found = container_resources(subject, subject.spec.containers[0], CONFIG, NODE).unified
    huge = {name: value for name, value in found.items() if name.startswith("hugetlb")}
    assert huge == {"hugetlb.2MB.max": str(6 << 20), "hugetlb.1GB.max": str(GIB)}


def test_container_limits_become_cgroup_values() -> None:
    subject = pod(container(requests={"cpu": "250m"}, limits={"cpu": "1", "memory": "64Mi"}))
    found = container_resources(subject, subject.spec.containers[0], CONFIG, NODE)
    assert (found.cpu_shares, found.cpu_quota, found.cpu_period) == (256, 100000, 100000)
    assert (found.memory_limit, found.memory_swap_limit) == (64 << 20, 64 << 20)


@pytest.mark.parametrize(("single", "unified"), [(False, {"memory.oom.group": "1"}), (True, {})])
def test_single_process_oom_kill_spares_the_container(single: bool, unified: dict[str, str]) -> None:
    subject = pod(container(limits={"memory": "64Mi"}))
    config = KubeletConfig(single_process_oom_kill=single)
    assert container_resources(subject, subject.spec.containers[0], config, NODE).unified == unified


def test_container_without_limits_has_the_pods() -> None:
    subject = pod(container(), resources={"limits": {"memory": "1Gi"}})
    assert container_resources(subject, subject.spec.containers[0], CONFIG, NODE).memory_limit == GIB


@pytest.mark.parametrize(
    ("own", "whole", "values"),
    [
        ({"limits": {"cpu": "0", "memory": "0"}}, {}, (2, None, None)),
        ({"limits": {"cpu": "0", "memory": "0"}}, {"cpu": "1", "memory": "1Gi"}, (1024, 100000, GIB)),
        ({"requests": {"cpu": "0"}, "limits": {"cpu": "1"}}, {}, (2, 100000, None)),
        ({"requests": {"cpu": "0"}}, {"cpu": "1"}, (2, 100000, None)),
        ({"requests": {"cpu": "1m"}, "limits": {"cpu": "1m"}}, {}, (2, 1000, None)),
    ],
)
def test_limit_of_zero_is_none_and_request_of_zero_is_least(
    own: dict[str, Any], whole: dict[str, str], values: tuple[int, int | None, int | None]
) -> None:
    subject = pod(container(**own), resources={"limits": whole})
    found = container_resources(subject, subject.spec.containers[0], CONFIG, NODE)
    assert (found.cpu_shares, found.cpu_quota, found.memory_limit) == values


@pytest.mark.parametrize("whole", [{}, {"cpu": "0", "memory": "0"}])
def test_container_with_a_limit_of_zero_leaves_the_pod_without(whole: dict[str, str]) -> None:
    limited = container(requests=SMALL, limits={"cpu": "1", "memory": "2Gi"})
    unlimited = {**container(limits={"cpu": "0", "memory": "0"}), "name": "other"}
    found = pod_resources(spec(limited, unlimited, resources={"limits": whole}), CONFIG)
    assert (found.cpu_quota, found.memory_limit) == (None, None)


@pytest.mark.parametrize(
    ("containers", "adj"),
    [
        ([container(requests=SMALL, limits=SMALL)], -997),
        ([container()], 1000),
        ([container(requests={"memory": "4Gi"})], 500),
        ([container(requests={"memory": "1"})], 999),
        ([container(requests={"memory": "8Gi"})], 3),
    ],
)
def test_oom_score_follows_qos_class_and_request(containers: list[dict[str, Any]], adj: int) -> None:
    subject = spec(*containers)
    assert oom_score_adj(subject, subject.containers[0], 8 * GIB) == adj


@pytest.mark.parametrize(
    ("resources", "parent"),
    [
        (container(requests=SMALL, limits=SMALL), "/podling/podu-1"),
        (container(requests=SMALL), "/podling/burstable/podu-1"),
        (container(), "/podling/besteffort/podu-1"),
    ],
)
def test_pod_cgroup_lies_below_its_qos_class(resources: dict[str, Any], parent: str) -> None:
    assert cgroup_parent(pod(resources), CONFIG) == parent


def test_pod_cgroup_is_limited_only_if_all_containers_are() -> None:
    limited = container(requests=SMALL, limits={"cpu": "1", "memory": "2Gi"})
    whole = pod_resources(spec(limited), CONFIG)
    assert (whole.cpu_shares, whole.cpu_quota, whole.memory_limit) == (512, 100000, 2 * GIB)
    half = pod_resources(spec(limited, {"name": "other"}), CONFIG)
    assert (half.cpu_quota, half.memory_limit) == (None, None)


def test_init_containers_count_in_the_pod_cgroup() -> None:
    """The largest one counts; one without a limit leaves the whole pod without."""
    app = container(requests=SMALL, limits={"cpu": "1", "memory": "1Gi"})
    large = {
        "name": "setup",
        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "3Gi"}},
    }
    whole = pod_resources(spec(app, initContainers=[large]), CONFIG)
    assert (whole.cpu_shares, whole.cpu_quota, whole.memory_limit) == (2048, 400000, 3 * GIB)
    open_ended = pod_resources(spec(app, initContainers=[{"name": "setup"}]), CONFIG)
    assert (open_ended.cpu_quota, open_ended.memory_limit) == (None, None)


@pytest.mark.parametrize("requests", [{}, {"cpu": "1"}])
def test_pod_pids_limit_is_the_limit_of_every_pod(requests: dict[str, str]) -> None:
    app = {"name": "app", "resources": {"requests": requests}}
    assert pod_resources(spec(app), KubeletConfig(pod_pids_limit=100)).pids_limit == 100
    assert pod_resources(spec(app), KubeletConfig()).pids_limit is None


@pytest.mark.parametrize(
    ("swap", "memory", "limit", "swap_max"),
    [
        (0, {"limits": {"memory": "1Gi"}}, GIB, None),
        (4 * GIB, {"limits": {"memory": "1Gi"}}, GIB, "0"),
        (4 * GIB, {}, None, "0"),
        (
            4 * GIB,
            {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            5 * GIB // 2,
            str(GIB // 2),
        ),
        (4 * GIB, {"requests": {"memory": "2Gi"}}, None, str(GIB)),
    ],
)
def test_swap_is_never_unlimited(
    swap: int, memory: dict[str, Any], limit: int | None, swap_max: str | None
) -> None:
    subject = pod(container(**memory), container())
    config = KubeletConfig(fail_swap_on=False, memory_swap_swap_behavior="LimitedSwap")
    found = container_resources(subject, subject.spec.containers[0], config, NodeMemory(8 * GIB, swap))
    assert found.memory_swap_limit == limit
    assert found.unified.get("memory.swap.max") == swap_max


def test_container_with_its_own_cpus_has_no_quota() -> None:
    config = KubeletConfig(cpu_manager_policy="static")
    whole = {"cpu": "2", "memory": "1Gi"}
    subject = pod(container(requests=whole, limits=whole))
    found = container_resources(subject, subject.spec.containers[0], config, NODE)
    assert (found.cpu_shares, found.cpu_quota) == (2048, None)
    assert pod_resources(subject.spec, config).cpu_quota is None
    assert pod_resources(subject.spec, CONFIG).cpu_quota == 200000
