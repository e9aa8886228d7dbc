"""Lives of pods that are played on every runtime: shell for real containers, scripts for simulated ones.

A story's moments are about a second apart, so that what follows what does not depend on how busy a machine
is. Each ends with the deletion of its pod.
"""

from __future__ import annotations

from podling.runtime.sim import ImageScript
from tests.support.stories import beginnings, changes, endings, probes_and_hooks
from tests.support.stories.words import IMAGE

STORIES = {**beginnings.STORIES, **probes_and_hooks.STORIES, **changes.STORIES, **endings.STORIES}
"""By name."""

IMAGES = {
    f"{IMAGE}:*": ImageScript(present=True),
    beginnings.OUT_OF_REACH: ImageScript(missing=True, pull_seconds=0.4),
}
"""What the simulated registry and node know of the stories' images."""
