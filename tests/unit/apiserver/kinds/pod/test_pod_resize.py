"""Tests of ``pods/resize``."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
from podling.machinery.pods import qos_class
from tests.support.causes import Cause, forbidden, invalid
from tests.support.manifests import NOW, PLAIN_POD, change_causes, created, merged, obj, rules

SMALL = "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}"
INIT = (
    "spec: {{containers: [{{name: main, image: x}}], "
    "initContainers: [{{name: first, image: x, resources: {{requests: {{{}}}}}}}]}}"
)
RESTARTED_INIT = (
    "spec: {{containers: [{{name: main, image: x}}], "
    "initContainers: [{{name: first, image: x, resources: {{requests: {{{}}}}}, "
    "resizePolicy: [{{resourceName: cpu, restartPolicy: RestartContainer}}]}}]}}"
)
RESTARTED_SIDECAR = RESTARTED_INIT.replace("name: first,", "name: first, restartPolicy: Always,")
LIMITED = (
    "spec: {{containers: [{{name: main, image: x, "
    "resources: {{requests: {{cpu: 1, memory: 1Mi}}, limits: {{{}}}}}}}]}}"
)
SHARED = (
    "spec: {{resources: {{requests: {{{}}}}}, "
    "containers: [{{name: main, image: x, resources: {{requests: {{cpu: 1}}}}}}]}}"
)
HUGE = (
    "spec: {{containers: [{{name: main, image: x, resources: {{requests: {{cpu: 1}}, "
    "limits: {{hugepages-2Mi: {}}}}}}}]}}"
)
RESIZES: list[tuple[str, str, list[Cause]]] = [
    (SMALL, "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}", []),
    (
        "spec: {os: {name: windows}, containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("[]", "windows pods cannot be resized")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: {}}]}",
        [
            invalid("spec", '"Burstable"', "Pod QOS Class may not change as a result of resizing"),
            forbidden("spec.containers[0].resources.requests", "resource requests cannot be removed"),
        ],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: "
        "{requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}",
        [forbidden("spec", "only cpu and memory resources are mutable")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}, "
        "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}",
        [forbidden("spec", "only cpu and memory resources are mutable")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: other, image: x, resources: {requests: {cpu: 1}}}]}",
        [forbidden("spec.containers[0].name", "containers may not be renamed or reordered on resize")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}, {name: b, image: x}]}",
        [forbidden("spec.containers", "containers may not be added or removed on resize")],
    ),
    (
        INIT.format("cpu: 1"),
        "spec: {initContainers: []}",
        [
            invalid("spec", '"Burstable"', "Pod QOS Class may not change as a result of resizing"),
            forbidden("spec.initContainers", "initContainers may not be added or removed on resize"),
        ],
    ),
    (LIMITED.format("cpu: 2"), LIMITED.format("cpu: 2, memory: 1Gi"), []),
    (
        LIMITED.format("cpu: 2, memory: 1Gi"),
        LIMITED.format("cpu: 2"),
        [forbidden("spec.containers[0].resources.limits", "resource limits cannot be removed")],
    ),
    (
        "spec: {containers: [{name: main, image: x, resources: "
        "{requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}",
        [
            forbidden("spec.containers[0].resources.requests", "resource requests cannot be removed"),
            forbidden("spec", "only cpu and memory resources are mutable"),
        ],
    ),
    (
        HUGE.format("2Mi"),
        HUGE.format("4Mi"),
        [forbidden("spec", "only cpu and memory resources are mutable")],
    ),
    (HUGE.format("2Mi"), HUGE.format("2Mi, cpu: 2"), []),
    (
        f"{SMALL}\nstatus: {{containerStatuses: [{{name: main, state: {{running: {{}}}}}}]}}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("spec", "Pod running on node without support for resize")],
    ),
    (
        f"{SMALL}\nstatus: {{containerStatuses: [{{name: main, state: {{waiting: {{}}}}}}]}}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [],
    ),
    (
        f"{SMALL}\nstatus: {{containerStatuses: [{{name: main, state: {{running: {{}}}}, "
        "resources: {requests: {cpu: 1}}}]}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [],
    ),
    (INIT.format("cpu: 1"), INIT.format("cpu: 2"), []),
    (RESTARTED_SIDECAR.format("cpu: 1"), RESTARTED_SIDECAR.format("cpu: 2"), []),
    (
        INIT.format("cpu: 1"),
        INIT.format("cpu: 1, ephemeral-storage: 1Gi"),
        [
            forbidden(
                "spec.initContainers[0]",
                "only cpu and memory resources for init or sidecar containers are mutable",
            )
        ],
    ),
    (
        RESTARTED_INIT.format("cpu: 1"),
        RESTARTED_INIT.format("cpu: 2"),
        [
            forbidden(
                "spec.initContainers[0]",
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
            )
        ],
    ),
    (SHARED.format("cpu: 2, memory: 1Gi"), SHARED.format("cpu: 3, memory: 1Gi"), []),
    (
        SHARED.format("cpu: 2, memory: 1Gi"),
        SHARED.format("cpu: 2, memory: null"),
        [forbidden("spec.resources.requests", "pod-level resource requests cannot be removed")],
    ),
    (
        SHARED.format("cpu: 2"),
        "spec: {resources: null}",
        [forbidden("spec.resources", "pod-level resources cannot be removed")],
    ),
    (
        SHARED.format("cpu: 2"),
        SHARED.format("cpu: 2, hugepages-2Mi: 2Mi"),
        [
            (
                "spec.resources.limits",
                "FieldValueRequired",
                "Required value: Limit must be set for non overcommitable resources",
            ),
            forbidden("spec", "only cpu and memory resources are mutable at pod-level"),
        ],
    ),
    (
        "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {nodeName: n1}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("[]", "static pods cannot be resized")],
    ),
]


def pair(before: str, after: str) -> tuple[Pod, Pod]:
    """Return a stored pod, and the same pod with more fields, as in an update."""
    base = merged(PLAIN_POD, yaml.safe_load(before) or {})
    old = created(obj(Pod, "", base))
    status = obj(Pod, "", base).status
    given = status.container_statuses or status.init_container_statuses or status.conditions
    return obj(Pod, after, base), type(old)(
        metadata=old.metadata, spec=old.spec, status=status if given else old.status
    )


def update(before: str, after: str, subresource: str = "") -> list[Cause]:
    new, old = pair(before, after)
    return change_causes(new, old, subresource)


@pytest.mark.parametrize(("before", "after", "expected"), RESIZES)
def test_resize_of_pod_is_validated(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after, "resize") == expected


def test_resize_changes_resources_and_nothing_else() -> None:
    new, old = pair(
        SMALL,
        "metadata: {labels: {a: b}}\nspec: {hostname: other, containers: [{name: main, image: y, "
        "resources: {requests: {cpu: 2}}}]}",
    )
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="resize"))
    assert made.spec.hostname == ""
    assert made.metadata.labels == {}
    assert made.spec.containers[0].image == "x"
    assert made.spec.containers[0].resources.requests == {"cpu": "2"}


def test_resize_cannot_change_quality_of_service() -> None:
    assert update("", "status: {qosClass: Guaranteed}", "status") == [
        invalid("status.qosClass", '"Guaranteed"', "field is immutable")
    ]


AMOUNTS = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(["1", "2"]), "memory": st.sampled_from(["1Gi", "2Gi"])}
)
RESOURCES = st.fixed_dictionaries({"requests": AMOUNTS, "limits": AMOUNTS})


def with_resources(resources: list[dict[str, Any]]) -> str:
    containers = [{"name": f"c{n}", "image": "x", "resources": each} for n, each in enumerate(resources)]
    return json.dumps({"spec": {"containers": containers}})


@given(st.lists(st.tuples(RESOURCES, RESOURCES), min_size=1, max_size=2))
def test_valid_resize_never_changes_the_quality_of_service(
    resources: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    old = created(obj(Pod, with_resources([before for before, _ in resources]), PLAIN_POD))
    new = created(obj(Pod, with_resources([after for _, after in resources]), PLAIN_POD))
    if not change_causes(new, old, "resize"):
        assert qos_class(new.spec) == qos_class(old.spec) == old.status.qos_class
