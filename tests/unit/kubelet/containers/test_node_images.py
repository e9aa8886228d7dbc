"""Images that an extension looks up and pulls."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.node_controllers import PullFailed
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from tests.support.node_controllers import context, node_with_notes


async def test_images_are_found_and_pulled(tmp_path: Path) -> None:
    images = {"docker.io/library/gone:1": ImageScript(missing=True)}
    async with node_with_notes(tmp_path, Scenario(images=images)):
        held = context().images
        assert await held.find("app:1") is None
        pulled = await held.pull("app:1")
        assert await held.find("app:1") == pulled
        with pytest.raises(PullFailed, match="gone"):
            await held.pull("gone:1")
        with pytest.raises(PullFailed, match="couldn't parse image name"):
            await held.find("A/B:1")
