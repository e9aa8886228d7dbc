"""Laws of resources: what a node grants never exceeds what it has, and no pod's class of service changes.

Both hold in any order of creations, ends, resizes, deletions and restarts of the kubelet, for pods of every
shape.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from podling.api.core_v1 import Node, Pod
from podling.client.base import PatchType
from podling.machinery.conditions import find
from podling.machinery.errors import ApiError
from podling.machinery.quantity import parse
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import NODE, SimNode, sim_node
from tests.support.sized_pods import (
    OVERHEAD_CLASS,
    SHAPES,
    Granted,
    documented_class,
    resize_of,
    shaped_pod,
)

ENDED = ("Succeeded", "Failed")
WHAT = ("create", "create", "create", "job", "resize", "resize", "resize", "delete", "restart", "wait")


class Step(Struct, frozen=True):
    """One action on the pod ``name``, if the action concerns a pod."""

    what: str
    name: str = "a"
    cpu: str = "500m"
    shape: str = "plain"
    limited: bool = False


STEPS = st.builds(
    Step,
    st.sampled_from(WHAT),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["500m", "1500m", "3"]),
    st.sampled_from(SHAPES),
    st.booleans(),
)


@given(st.lists(STEPS, max_size=14))
@example([Step("create", "a"), Step("create", "b", "3"), Step("resize", "a", "1500m")])
@example([Step("create", name, "1500m") for name in "abc"])
@example(
    [Step("create", name, "1500m", "sidecar") for name in "ab"] + [Step("create", "c", "500m", "sidecar")]
)
@example([Step("create", name, "500m", "init", limited=True) for name in "abc"])
@example([Step("create", "a", "3", "overhead"), Step("create", "b", "500m", "overhead"), Step("create", "c")])
@example(
    [
        Step("create", "a", "500m", "pod-level", limited=True),
        Step("create", "b", "1500m", "pod-level"),
        Step("resize", "a", "3", limited=True),
        Step("delete", "b"),
        Step("restart"),
        Step("create", "c", "1500m"),
    ]
)
@example(
    [Step("create", "a", limited=True), Step("resize", "a", "1500m"), Step("resize", "a", "3", limited=True)]
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_grants_fit_the_node_and_classes_stay(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(steps, Path(directory)))


async def play(steps: list[Step], root: Path) -> dict[str, str]:
    """Take the steps and check the laws after each; return what became of each pod that is left."""
    async with memory_cluster() as plane, sim_node(plane, root) as node:
        await node.client.create(OVERHEAD_CLASS)
        laws = Laws(node)
        for step in steps:
            await take(node, step)
            for _ in range(3):
                await node.pass_time(0.5)
                await laws.check()
        return {
            found.metadata.name or "": outcome(found)
            for found in (await node.client.list(Pod, "default")).items
        }


def outcome(found: Pod) -> str:
    """Return why a pod was rejected, or what its resize waits for, or its phase."""
    pending = find(found.status.conditions, "PodResizePending")
    return found.status.reason or (pending.reason if pending is not None else "") or found.status.phase or ""


@pytest.mark.parametrize(
    ("steps", "outcomes"),
    [
        pytest.param(
            [Step("create", name, "500m", "sidecar-init") for name in "ab"],
            {"a": "Running", "b": "OutOfcpu"},
            id="init-container-after-a-sidecar-runs-beside-it",
        ),
        pytest.param(
            [Step("create", "a", "3", "stubborn"), Step("delete", "a"), Step("create", "b", "1500m")],
            {"a": "Running", "b": "OutOfcpu"},
            id="ending-pod-holds-its-resources-until-its-containers-ended",
        ),
        pytest.param(
            [Step("create", "a", "3"), Step("delete", "a"), Step("create", "b", "3")],
            {"b": "Running"},
            id="deleted-pod-holds-nothing",
        ),
        pytest.param(
            [Step("job", "a", "3"), Step("wait"), Step("create", "b", "3")],
            {"a": "Succeeded", "b": "Running"},
            id="ended-pod-holds-nothing",
        ),
        pytest.param(
            [Step("create", "a", "3"), Step("create", "b", "1500m"), Step("create", "c", "500m")],
            {"a": "Running", "b": "OutOfcpu", "c": "Running"},
            id="pod-beyond-the-node-is-rejected",
        ),
        pytest.param(
            [Step("create", "a", "1500m"), Step("create", "b", "1500m"), Step("resize", "a", "3")],
            {"a": "Deferred", "b": "Running"},
            id="resize-beyond-what-is-free-is-deferred",
        ),
        pytest.param(
            [Step("create", "a"), Step("create", "b", "3"), Step("resize", "a", "1500m"), Step("restart")],
            {"a": "Deferred", "b": "Running"},
            id="restarted-kubelet-knows-what-it-granted",
        ),
        pytest.param(
            [
                Step("create", "a", "500m", "pod-level"),
                Step("create", "b", "3"),
                Step("resize", "a", "1500m"),
                Step("restart"),
            ],
            {"a": "Deferred", "b": "Running"},
            id="restarted-kubelet-knows-what-it-granted-to-a-whole-pod",
        ),
    ],
)
def test_each_step_ends_as_the_resources_allow(
    tmp_path: Path, steps: list[Step], outcomes: dict[str, str]
) -> None:
    assert loop.run(play(steps, tmp_path)) == outcomes


async def take(node: SimNode, step: Step) -> None:
    if step.what == "restart":
        await node.restart()
    elif step.what == "wait":
        await node.pass_time(200)
    elif step.what == "delete" and await node.exists(step.name):
        await node.delete(step.name)
    elif step.what == "resize" and await node.exists(step.name):
        await resize(node, step)
    elif step.what in ("create", "job") and not await node.exists(step.name):
        seconds = 20 if step.what == "job" else None
        await node.create(shaped_pod(step.name, step.shape, step.cpu, limited=step.limited, seconds=seconds))


async def resize(node: SimNode, step: Step) -> None:
    shape = "pod-level" if (await node.get(step.name)).spec.resources is not None else "plain"
    change = resize_of(shape, step.cpu, limited=step.limited)
    kind = PatchType.STRATEGIC
    try:
        await node.client.patch(Pod, step.name, change, "default", patch_type=kind, subresource="resize")
    except ApiError:
        return  # the pod has ended, or its class of service would change


class Laws:
    """Compares what the API shows of one node with what it showed before."""

    def __init__(self, node: SimNode) -> None:
        self._client = node.client
        self._granted = Granted()
        self._classes: dict[str | None, str] = {}

    async def check(self) -> None:
        total: Counter[str] = Counter()
        for found in (await self._client.list(Pod, "default")).items:
            was = self._classes.setdefault(found.metadata.uid, documented_class(found))
            assert documented_class(found) == was, "the API changed the class of service"
            assert found.status.qos_class == was, "the status shows another class of service"
            granted = self._granted.total(found)
            if found.status.phase not in ENDED:
                total.update(granted)
        allocatable = (await self._client.get(Node, NODE)).status.allocatable
        for name, milli in total.items():
            assert milli <= parse(allocatable[name]).milli_value, f"{name} is granted twice"
