"""The defaults of a ``KubeSchedulerConfiguration``, and its plugins merged into the default ones. Pure.

Upstream: ``pkg/scheduler/apis/config/v1/defaults.go`` and ``default_plugins.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import fields, replace

from podling.machinery.feature_gates import is_enabled
from podling.scheduler.configuration.plugin_args import (
    EMPTIEST_STORAGE,
    STORAGE_CAPACITY_SCORING,
    Args,
    VolumeBindingArgs,
    args_with_defaults,
    default_args,
)
from podling.scheduler.configuration.types import (
    DEFAULT_SCHEDULER,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
    PluginEntry,
    Plugins,
    PluginSet,
)

PARALLELISM = 16
BACKOFF_SECONDS_INITIAL, BACKOFF_SECONDS_MAX = 1, 10
GANG_SCHEDULING = "GangScheduling"
"""The plugin, and its feature gate."""

_DEFAULT_PLUGINS: tuple[tuple[str, int | None], ...] = (
    ("SchedulingGates", None),
    ("PrioritySort", None),
    ("NodeUnschedulable", None),
    ("NodeName", None),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", None),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", None),
    ("NodeVolumeLimits", None),
    ("VolumeBinding", None),
    ("VolumeZone", None),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DefaultPreemption", None),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", None),
)

DEFAULT_PLUGINS = Plugins(
    multi_point=PluginSet(
        enabled=tuple(PluginEntry(name=name, weight=weight) for name, weight in _DEFAULT_PLUGINS)
    )
)
"""Kubernetes' plugins in Kubernetes' order, without those of resources that no kubelet here prepares."""


def with_defaults(found: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Return the configuration with every default filled in, its profiles included."""
    profiles = found.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER),)
    return replace(
        found,
        parallelism=_default(found.parallelism, PARALLELISM),
        percentage_of_nodes_to_score=_default(found.percentage_of_nodes_to_score, 0),
        pod_initial_backoff_seconds=_default(found.pod_initial_backoff_seconds, BACKOFF_SECONDS_INITIAL),
        pod_max_backoff_seconds=_default(found.pod_max_backoff_seconds, BACKOFF_SECONDS_MAX),
        profiles=tuple(_profile(each) for each in profiles),
    )


def with_gates(found: KubeSchedulerConfiguration, gates: Mapping[str, bool]) -> KubeSchedulerConfiguration:
    """Return the configuration with the plugins and defaults of feature gates that are on.

    A profile that enables or disables such a plugin by itself, or disables all, keeps its plugins
    (``applyFeatureGates``).
    """
    profiles = found.profiles
    if is_enabled(GANG_SCHEDULING, gates):
        profiles = tuple(_with_plugin(each, GANG_SCHEDULING) for each in profiles)
    if is_enabled(STORAGE_CAPACITY_SCORING, gates):
        profiles = tuple(_with_shape(each) for each in profiles)
    return replace(found, profiles=profiles)


def _with_shape(found: KubeSchedulerProfile) -> KubeSchedulerProfile:
    """Return the profile in which nodes with the most free storage score highest, unless it has a shape."""
    config = tuple(
        replace(each, args=replace(each.args, shape=EMPTIEST_STORAGE))
        if isinstance(each.args, VolumeBindingArgs) and not each.args.shape
        else each
        for each in found.plugin_config
    )
    return replace(found, plugin_config=config)


def _with_plugin(found: KubeSchedulerProfile, name: str) -> KubeSchedulerProfile:
    plugins = found.plugins or Plugins()
    chosen = plugins.multi_point
    if {each.name for each in (*chosen.enabled, *chosen.disabled)} & {name, "*"}:
        return found
    more = replace(chosen, enabled=(*chosen.enabled, PluginEntry(name=name)))
    return replace(found, plugins=replace(plugins, multi_point=more))


def _default(value: int | None, default: int) -> int:
    return default if value is None else value


def _profile(found: KubeSchedulerProfile) -> KubeSchedulerProfile:
    plugins = merged_plugins(DEFAULT_PLUGINS, found.plugins)
    given = tuple(
        replace(each, args=args_with_defaults(each.args)) if isinstance(each.args, Args) else each
        for each in found.plugin_config
    )
    names = {each.name for each in given}
    more = ((name, default_args(name)) for name in sorted(_names(plugins)) if name not in names)
    config = (*given, *(PluginConfig(name=name, args=args) for name, args in more if args is not None))
    return replace(found, plugins=plugins, plugin_config=config)


def _names(plugins: Plugins) -> set[str]:
    return {entry.name for point in fields(plugins) for entry in getattr(plugins, point.name).enabled}


def merged_plugins(defaults: Plugins, custom: Plugins | None) -> Plugins:
    """Return the default plugins with a profile's own choice applied to each extension point."""
    if custom is None:
        return defaults
    points = [each.name for each in fields(defaults)]
    return Plugins(
        **{name: merged_plugin_set(getattr(defaults, name), getattr(custom, name)) for name in points}
    )


def merged_plugin_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Return defaults without the disabled ones and with the repeated ones replaced, then the others.

    A name twice among the enabled ones stays twice, and is refused when the profile is made.
    """
    disabled = {each.name for each in (*custom.disabled, *defaults.disabled)}
    last = {each.name: number for number, each in enumerate(custom.enabled)}
    enabled: list[PluginEntry] = []
    replaced: set[int] = set()
    for entry in () if "*" in disabled else defaults.enabled:
        if entry.name in disabled:
            continue
        number = last.get(entry.name)
        if number is not None:
            replaced.add(number)
        enabled.append(entry if number is None else custom.enabled[number])
    enabled += [each for number, each in enumerate(custom.enabled) if number not in replaced]
    both = (*custom.disabled, *defaults.disabled)
    return PluginSet(enabled=tuple(enabled), disabled=tuple(PluginEntry(name=each.name) for each in both))
