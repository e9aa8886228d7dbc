"""Resources of sidecars that follow from those of a pod's containers, through the API server.

Cases of upstream's ``sidecarset_resources_policy_test.go`` and of the field's description.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.sidecar_sets import create, pod, sidecar_set


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


def agent(expressions: dict[str, Any], /, mode: str = "sum", **policy: Any) -> dict[str, Any]:
    given = {"targetContainersMode": mode, "resourcesExpr": expressions, **policy}
    return {"name": "agent", "image": "agent:1", "resourcesPolicy": given}


def container(name: str, limits: dict[str, str], requests: dict[str, str], **more: Any) -> dict[str, Any]:
    resources = {"limits": limits, "requests": requests}
    return {"name": name, "image": "web:1", "resources": resources, **more}


ONE = container("web", {"cpu": "400m", "memory": "1Gi"}, {"cpu": "200m", "memory": "512Mi"})
TWO = container("log", {"cpu": "200m"}, {"cpu": "100m"})
BOTH = {
    "limits": {"cpu": "max(cpu*50%, 50m)", "memory": "memory*2"},
    "requests": {"cpu": "cpu*50%", "memory": "max(memory, 100Mi)"},
}


async def resources(kruise: Kruise, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return the resources of the sidecar in a pod of these containers."""
    made = await kruise.client.create(pod(containers=list(containers), **spec))
    every = (*made.spec.init_containers, *made.spec.containers)
    found: dict[str, Any] = codec.to_plain(next(each for each in every if each.name == "agent").resources)
    return found


CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "one container": (
        agent(BOTH),
        [ONE],
        {"limits": {"cpu": "200m", "memory": "2Gi"}, "requests": {"cpu": "100m", "memory": "512Mi"}},
    ),
    "sum, with a container of unlimited memory": (
        agent(BOTH),
        [ONE, TWO],
        {"limits": {"cpu": "300m"}, "requests": {"cpu": "150m", "memory": "512Mi"}},
    ),
    "largest": (
        agent(BOTH, mode="max"),
        [ONE, TWO],
        {"limits": {"cpu": "200m"}, "requests": {"cpu": "100m", "memory": "512Mi"}},
    ),
    "containers by name": (
        agent(BOTH, targetContainersNameRegex="^log$"),
        [ONE, TWO],
        {"limits": {"cpu": "100m"}, "requests": {"cpu": "50m", "memory": "100Mi"}},
    ),
    "containers without resources": (
        agent(BOTH),
        [container("web", {}, {})],
        {"requests": {"cpu": "0", "memory": "100Mi"}},
    ),
    "numbers": (
        agent({"requests": {"cpu": "0.25", "memory": "1e6"}}),
        [ONE],
        {"requests": {"cpu": "250m", "memory": "1M"}},
    ),
}


@pytest.mark.parametrize(("sidecar", "containers", "wanted"), CASES.values(), ids=CASES)
async def test_resources_follow_from_those_of_the_containers(
    kruise: Kruise, sidecar: dict[str, Any], containers: list[dict[str, Any]], wanted: dict[str, Any]
) -> None:
    await create(kruise, sidecar_set(containers=[sidecar]))
    assert await resources(kruise, *containers) == wanted


async def test_init_containers_that_run_on_count_and_those_of_sidecar_sets_do_not(kruise: Kruise) -> None:
    other = {**container("beside", {"cpu": "9"}, {"cpu": "9"})}
    await create(kruise, sidecar_set(containers=[agent({"requests": {"cpu": "cpu"}}), other]))
    init = [
        container("runs", {}, {"cpu": "1"}, restartPolicy="Always"),
        container("ends", {}, {"cpu": "4"}),
    ]
    assert await resources(kruise, ONE, initContainers=init) == {"requests": {"cpu": "1200m"}}


async def test_init_sidecar_has_resources_by_policy(kruise: Kruise) -> None:
    sidecar = {**agent({"requests": {"cpu": "cpu*2"}}), "restartPolicy": "Always"}
    await create(
        kruise, sidecar_set(containers=None, initContainers=[sidecar], updateStrategy={"type": "NotUpdate"})
    )
    assert await resources(kruise, ONE) == {"requests": {"cpu": "400m"}}


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        (agent(BOTH, targetContainersNameRegex="absent"), 'no containers match the regex pattern "absent"'),
        (
            agent({"limits": {"cpu": "cpu - 1"}}),
            'failed to evaluate CPU limits expression: failed to parse expression "cpu - 1": calculation '
            "result is negative: -600m",
        ),
    ],
)
async def test_pod_without_resources_for_its_sidecar_is_refused(
    kruise: Kruise, sidecar: dict[str, Any], message: str
) -> None:
    await create(kruise, sidecar_set(containers=[sidecar]))
    with pytest.raises(ApiError) as refused:
        await resources(kruise, ONE)
    assert (refused.value.code, message in str(refused.value)) == (400, True), str(refused.value)


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "resources beside the policy": (
        {**agent(BOTH), "resources": {"limits": {"cpu": "1"}}},
        "resourcesPolicy and resources cannot be configured together",
    ),
    "no expressions": (agent({}), "at least one of limits or requests must be configured"),
    "unreadable expression": (
        agent({"limits": {"cpu": "cpu +"}}),
        'resourcesExpr.limits.cpu: Invalid value: "cpu +": invalid expression: parse error',
    ),
    "variable of the other resource": (
        agent({"requests": {"memory": "cpu"}}),
        "invalid expression: undefined variable: cpu",
    ),
    "unreadable pattern": (agent(BOTH, targetContainersNameRegex="("), "invalid regex pattern"),
    "unknown mode": (agent(BOTH, mode="mean"), 'targetContainersMode: Unsupported value: "mean"'),
}


@pytest.mark.parametrize(("sidecar", "message"), INVALID.values(), ids=INVALID)
async def test_invalid_policies_are_refused(kruise: Kruise, sidecar: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        await create(kruise, sidecar_set(containers=[sidecar]))
    assert (refused.value.code, message in str(refused.value)) == (422, True), str(refused.value)


async def test_init_container_that_ends_has_no_policy(kruise: Kruise) -> None:
    with pytest.raises(ApiError, match="only supported for containers with RestartPolicy Always"):
        await create(kruise, sidecar_set(initContainers=[agent(BOTH)], containers=None))
