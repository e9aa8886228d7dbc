"""A pod's effective requests and limits, and its quality of service class."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod, PodSpec
from podling.machinery.encoding import codec
from podling.machinery.pods import (
    has_pod_level_resources,
    is_critical,
    is_terminal,
    pod_limits,
    pod_requests,
    qos_class,
    regular_and_init,
)


def spec(text: str) -> PodSpec:
    return codec.from_plain(yaml.safe_load(text), PodSpec)


def container(requests: str = "", limits: str = "", policy: str = "") -> str:
    sidecar = f", restartPolicy: {policy}" if policy else ""
    return f"{{name: c, resources: {{requests: {{{requests}}}, limits: {{{limits}}}}}{sidecar}}}"


BOTH = "cpu: '1', memory: 1Gi"
ONE_CPU = "cpu: '1'"
FIVE_CPU = "cpu: '5'"
NO_CPU = "cpu: '0'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"containers: [{container()}]", "BestEffort"),
        (f"containers: [{container(requests='ephemeral-storage: 1Gi')}]", "BestEffort"),
        (f"containers: [{container(requests=NO_CPU)}]", "BestEffort"),
        (f"containers: [{container(BOTH, BOTH)}]", "Guaranteed"),
        (f"containers: [{container(BOTH, BOTH)}, {container()}]", "Burstable"),
        (f"initContainers: [{container()}]\ncontainers: [{container(BOTH, BOTH)}]", "Burstable"),
        (f"containers: [{container(requests=BOTH)}]", "Burstable"),
        (f"containers: [{container(ONE_CPU, ONE_CPU)}]", "Burstable"),
        (
            f"resources: {{requests: {{{BOTH}}}, limits: {{{BOTH}}}}}\ncontainers: [{container()}]",
            "Guaranteed",
        ),
        (f"resources: {{requests: {{{BOTH}}}}}\ncontainers: [{container(BOTH, BOTH)}]", "Burstable"),
        (f"ephemeralContainers: [{{name: d}}]\ncontainers: [{container(BOTH, BOTH)}]", "Guaranteed"),
    ],
)
def test_quality_of_service(text: str, expected: str) -> None:
    assert qos_class(spec(text)) == expected


def cpu(amount: int, policy: str = "") -> str:
    return container(requests=f"cpu: '{amount}'", policy=policy)


@pytest.mark.parametrize(
    ("why", "text", "expected"),
    [
        ("regular containers add up", f"containers: [{cpu(1)}, {cpu(2)}]", "3"),
        ("a big init container counts alone", f"initContainers: [{cpu(5)}]\ncontainers: [{cpu(1)}]", "5"),
        (
            "a sidecar runs beside the regular ones",
            f"initContainers: [{cpu(2, 'Always')}]\ncontainers: [{cpu(1)}]",
            "3",
        ),
        (
            "a sidecar runs beside later init containers",
            f"initContainers: [{cpu(2, 'Always')}, {cpu(4)}]\ncontainers: [{cpu(1)}]",
            "6",
        ),
        (
            "but not beside earlier ones",
            f"initContainers: [{cpu(4)}, {cpu(2, 'Always')}]\ncontainers: [{cpu(1)}]",
            "4",
        ),
        (
            "a sidecar beside init and regular containers",
            f"initContainers: [{cpu(10, 'Always')}, {cpu(200)}]\ncontainers: [{cpu(100)}]",
            "210",
        ),
        (
            "several sidecars",
            f"initContainers: [{cpu(1, 'Always')}, {cpu(2, 'Always')}, {cpu(3, 'Always')}]\n"
            f"containers: [{cpu(3)}]",
            "9",
        ),
        (
            "sidecars between init containers",
            f"initContainers: [{cpu(5)}, {cpu(1, 'Always')}, {cpu(2, 'Always')}, {cpu(5)}, "
            f"{cpu(3, 'Always')}]\ncontainers: [{cpu(1)}]",
            "8",
        ),
        (
            "overhead comes on top",
            f"overhead: {{cpu: 500m}}\ncontainers: [{cpu(1)}]",
            "1500m",
        ),
        (
            "what the pod asks for as a whole replaces its containers'",
            f"resources: {{requests: {{cpu: '7'}}}}\noverhead: {{cpu: '1'}}\ncontainers: [{cpu(1)}]",
            "8",
        ),
    ],
)
def test_effective_requests_cover_all_containers(why: str, text: str, expected: str) -> None:
    assert str(pod_requests(spec(text))["cpu"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"containers: [{container(limits=ONE_CPU)}, {container(limits=ONE_CPU)}]", "2"),
        (f"initContainers: [{container(limits=FIVE_CPU)}]\ncontainers: [{container(limits=ONE_CPU)}]", "5"),
        (
            f"initContainers: [{container(limits=FIVE_CPU, policy='Always')}]\n"
            f"containers: [{container(limits=ONE_CPU)}]",
            "6",
        ),
    ],
)
def test_effective_limits_cover_all_containers(text: str, expected: str) -> None:
    assert str(pod_limits(spec(text))["cpu"]) == expected


def test_overhead_adds_no_limit_where_there_is_none() -> None:
    limited = spec(f"overhead: {{cpu: '1', memory: 1Gi}}\ncontainers: [{container(limits='memory: 1Gi')}]")
    assert {name: str(value) for name, value in pod_limits(limited).items()} == {"memory": "2Gi"}


@pytest.mark.parametrize(
    ("text", "critical"),
    [
        ("spec: {priority: 2000000000}", True),
        ("spec: {priority: 1999999999}", False),
        ("metadata: {annotations: {kubernetes.io/config.source: file}}", True),
        ("metadata: {annotations: {kubernetes.io/config.source: api}}", False),
        ("metadata: {annotations: {kubernetes.io/config.mirror: x}}", True),
    ],
)
def test_priority_decides_critical_pods(text: str, critical: bool) -> None:
    assert is_critical(codec.from_plain(yaml.safe_load(text), Pod)) is critical


@pytest.mark.parametrize(
    ("phase", "terminal"), [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)]
)
def test_terminal_phases_are_recognised(phase: str, terminal: bool) -> None:
    assert is_terminal(codec.from_plain({"status": {"phase": phase}}, Pod)) is terminal


AMOUNTS = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(["0", "1", "2"]), "memory": st.sampled_from(["0", "1Gi", "2Gi"])}
)
RESOURCES = st.fixed_dictionaries({"requests": AMOUNTS, "limits": AMOUNTS})
CONTAINERS = st.lists(st.fixed_dictionaries({"resources": RESOURCES}), min_size=1, max_size=2)


@given(CONTAINERS, CONTAINERS, st.none() | RESOURCES)
def test_every_pod_has_one_quality_of_service(
    containers: list[dict[str, Any]], init: list[dict[str, Any]], own: dict[str, Any] | None
) -> None:
    plain = {
        "containers": [{"name": f"c{n}", **each} for n, each in enumerate(containers)],
        "initContainers": [{"name": f"i{n}", **each} for n, each in enumerate(init)],
        **({"resources": own} if own is not None else {}),
    }
    found = codec.from_plain(plain, PodSpec)
    assert qos_class(found) in ("Guaranteed", "Burstable", "BestEffort")
    assert (qos_class(found) == "BestEffort") == (not has_positive_amounts(found))


def has_positive_amounts(of: PodSpec) -> bool:
    lists = [of.resources] if has_pod_level_resources(of) else [c.resources for c in regular_and_init(of)]
    maps = [amounts for each in lists if each is not None for amounts in (each.requests, each.limits)]
    return any(amount != "0" for amounts in maps for amount in amounts.values())
