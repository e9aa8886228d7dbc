"""Tests of the validation of requests and limits."""

from __future__ import annotations

import pytest

from tests.support.causes import (
    LABEL_TEXT,
    Cause,
    Row,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
RESOURCES: list[Row] = [
    (
        container("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
        [invalid(f"{C0}.resources.requests", '"2"', "must be less than or equal to cpu limit of 1")],
    ),
    (
        container("resources: {requests: {memory: -1Mi}}"),
        [invalid(f"{C0}.resources.requests[memory]", '"-1Mi"', "must be greater than or equal to 0")],
    ),
    (
        container("resources: {limits: {gpu: 1}}"),
        [
            invalid(
                f"{C0}.resources.limits[gpu]", '"gpu"', "must be a standard resource type or fully qualified"
            ),
            invalid(f"{C0}.resources.limits[gpu]", '"gpu"', "must be a standard resource for containers"),
            invalid(
                f"{C0}.resources.requests[gpu]",
                '"gpu"',
                "must be a standard resource type or fully qualified",
            ),
            invalid(f"{C0}.resources.requests[gpu]", '"gpu"', "must be a standard resource for containers"),
        ],
    ),
    (
        container("resources: {requests: {nvidia.com/gpu: 1}}"),
        [required(f"{C0}.resources.limits", "Limit must be set for non overcommitable resources")],
    ),
    (
        container("resources: {limits: {nvidia.com/gpu: 500m}}"),
        [
            invalid(f"{C0}.resources.limits[nvidia.com/gpu]", '"500m"', "must be an integer"),
            invalid(f"{C0}.resources.requests[nvidia.com/gpu]", '"500m"', "must be an integer"),
        ],
    ),
    (
        container("resources: {limits: {hugepages-2Mi: 4Mi}}"),
        [forbidden(f"{C0}.resources", "HugePages require cpu or memory")],
    ),
    (
        container("resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]"),
        [unsupported(f"{C0}.resizePolicy", "disk", "cpu", "memory")],
    ),
    (
        "spec: {resources: {requests: {cpu: 1}}, containers: [{name: main, image: x, "
        "resources: {requests: {cpu: 2}}}]}",
        [
            invalid(
                "spec.resources.requests[cpu]",
                '"1"',
                "must be greater than or equal to aggregate container requests of 2",
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: tpu}]}}]}",
        [
            not_found(
                f"{C0}.resources.claims[0]",
                '"tpu"',
                "must be one of the names in pod.spec.resourceClaims: gpu",
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: gpu, request: A}]}}]}",
        [invalid(f"{C0}.resources.claims[0].request", '"A"', LABEL_TEXT)],
    ),
]
PAGES: list[Row] = [
    (container("resources: {limits: {cpu: 1, hugepages-2Mi: 0}}"), []),
    (
        container("resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi, hugepages-some: 1}}"),
        [
            invalid(f"{C0}.resources.{which}[hugepages-{size}]", f'"{value}"',
                    f"{value} is not positive integer multiple of hugepages-{size}")
            for which in ("limits", "requests")
            for size, value in (("2Mi", "3Mi"), ("some", "1"))
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: x}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: gpu, request: a}, {name: gpu}, {name: gpu, request: b}]}}]}",
        [
            duplicate(f"{C0}.resources.claims[1]", '"gpu"'),
            duplicate(f"{C0}.resources.claims[2]", '"gpu"'),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "expected"), [*RESOURCES, *PAGES])
def test_invalid_resources_are_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
