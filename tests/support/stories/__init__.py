"""Stories of pods for every runtime: shell for real containers, scripts for simulated ones.

A story's moments are about a second apart, so that their order does not depend on the load of the
machine. Each ends with the deletion of its pod.
"""

from __future__ import annotations

from podling.runtime.sim import ImageScript
from tests.support.stories import beginnings, changes, endings, probes_and_hooks
from tests.support.stories.words import IMAGE

STORIES = {**beginnings.STORIES, **probes_and_hooks.STORIES, **changes.STORIES, **endings.STORIES}
"""All stories, by name."""

IMAGES = {
    f"{IMAGE}:*": ImageScript(present=True),
    beginnings.OUT_OF_REACH: ImageScript(missing=True, pull_seconds=0.4),
}
"""The stories' images in the simulated registry and on the node."""
