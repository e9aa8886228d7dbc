"""Lives of pods that are played on every runtime: shell for real containers, scripts for simulated ones.

A story's moments are about a second apart, so that what follows what does not depend on how busy a machine
is. Each ends with the deletion of its pod.
"""

from __future__ import annotations

from tests.support.stories import beginnings, changes, endings, probes_and_hooks

STORIES = {**beginnings.STORIES, **probes_and_hooks.STORIES, **changes.STORIES, **endings.STORIES}
"""By name."""
