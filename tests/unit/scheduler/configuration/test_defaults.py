"""Default plugins, and a profile's own choice merged into them."""

from __future__ import annotations

import pytest

from podling.scheduler.configuration.defaults import merged_plugin_set, with_defaults
from podling.scheduler.configuration.types import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginEntry,
    PluginSet,
)


def entries(text: str) -> tuple[PluginEntry, ...]:
    """Return the plugins of a text as ``A B=2``."""
    found = (each.partition("=") for each in text.split())
    return tuple(PluginEntry(name=name, weight=int(weight) if weight else None) for name, _, weight in found)


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(enabled=entries(enabled), disabled=entries(disabled))


@pytest.mark.parametrize(
    ("default", "custom", "merged"),
    [
        (plugin_set("A B C"), plugin_set(), plugin_set("A B C")),
        (plugin_set("A B C"), plugin_set("", "A B"), plugin_set("C", "A B")),
        (plugin_set("A B C"), plugin_set("", "*"), plugin_set("", "*")),
        (plugin_set("A B"), plugin_set("C"), plugin_set("A B C")),
        (plugin_set("A B C"), plugin_set("C A", "*"), plugin_set("C A", "*")),
        (plugin_set("A B C"), plugin_set("B=9"), plugin_set("A B=9 C")),
        (plugin_set("A B C"), plugin_set("D E=9 C=3", "B"), plugin_set("A C=3 D E=9", "B")),
        (plugin_set("A B"), plugin_set("C C"), plugin_set("A B C C")),
        (plugin_set("A B C"), plugin_set("B B"), plugin_set("A B C B")),
        (plugin_set("A", "B"), plugin_set("B"), plugin_set("A B", "B")),
    ],
)
def test_custom_plugins_are_merged_into_default_ones(
    default: PluginSet, custom: PluginSet, merged: PluginSet
) -> None:
    assert merged_plugin_set(default, custom) == merged


def test_only_a_single_profile_gets_the_default_name() -> None:
    [one] = with_defaults(KubeSchedulerConfiguration()).profiles
    assert one.scheduler_name == "default-scheduler"
    two = KubeSchedulerConfiguration(profiles=(KubeSchedulerProfile(), KubeSchedulerProfile()))
    assert [each.scheduler_name for each in with_defaults(two).profiles] == [None, None]


def test_numbers_have_the_defaults_of_kubernetes() -> None:
    found = with_defaults(KubeSchedulerConfiguration())
    assert (found.parallelism, found.percentage_of_nodes_to_score) == (16, 0)
    assert (found.pod_initial_backoff_seconds, found.pod_max_backoff_seconds) == (1, 10)
