"""``podling why`` for SidecarSets, on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.sim import ImageScript, Scenario
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.extension_answers import why
from tests.support.sidecar_sets import change_set, create, run_pods, sidecar_set

ABSENT = Scenario(images={"*absent:*": ImageScript(missing=True), "*slow:*": ImageScript(pull_seconds=300)})


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path, ABSENT) as found:
        yield found


def agent(image: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "agent", "image": image, **more}]


async def test_pods_with_the_newest_sidecars_are_well(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise, 3)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.reason) == (True, "Ready")
    assert answer.text.endswith("SidecarSet sidecars: 3 of 3 pods have its newest sidecars.")


async def test_selector_without_pods_is_named(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await kruise.wait(1)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.reason) == (False, "NoPods")


@pytest.mark.parametrize(
    ("paused", "reason"), [(False, "NotInjected"), (True, "InjectionPaused")], ids=["older pods", "paused"]
)
async def test_pods_without_sidecars_are_named(kruise: Kruise, paused: bool, reason: str) -> None:
    await run_pods(kruise)
    await create(kruise, sidecar_set(injectionStrategy={"paused": paused}))
    await kruise.wait(1)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.reason) == (False, reason)
    assert "1 pods that it selects do not have its sidecars, as default/web-0" in answer.text


@pytest.mark.parametrize(
    ("strategy", "reason", "healthy"),
    [
        ({"paused": True}, "Paused", False),
        ({"type": "NotUpdate"}, "NotUpdate", True),
        ({"partition": 3}, "Partition", True),
        ({"selector": {"matchLabels": {"canary": "yes"}}}, "Selector", True),
    ],
    ids=["paused", "not update", "partition", "selector"],
)
async def test_strategy_that_holds_the_update_back_is_named(
    kruise: Kruise, strategy: dict[str, Any], reason: str, healthy: bool
) -> None:
    await create(kruise, sidecar_set(updateStrategy=strategy))
    await run_pods(kruise, 3)
    await change_set(kruise, containers=agent("agent:2"))
    await kruise.wait(30)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.reason, answer.healthy) == (reason, healthy)
    assert "0 of 3 pods have its newest sidecars" in answer.text


async def test_change_of_more_than_images_is_named(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise, 2)
    await change_set(kruise, containers=agent("agent:1", env=[{"name": "A", "value": "1"}]))
    await kruise.wait(20)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.reason) == (False, "NotUpgradablePods")
    assert "2 cannot be updated in place, as web-0: more than images has changed" in answer.text


async def test_image_that_is_still_pulled_is_named(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise, 2)
    await change_set(kruise, containers=agent("slow:1"))
    await kruise.wait(20)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.reason) == (False, "Updating")
    assert "1 of 2 pods have its newest sidecars. Pod web-" in answer.text


async def test_sidecar_of_a_new_pod_that_cannot_start_is_named(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(containers=agent("absent:1")))
    await run_pods(kruise)
    answer = await why(kruise, "sidecarset", "sidecars")
    assert (answer.healthy, answer.container) == (False, "agent")
    assert answer.text.startswith("SidecarSet sidecars: 1 of 1 pods have a problem. One is web-0: ")
