"""Makes profiles of plugins from a configuration. Pure.

Upstream: ``NewFramework`` and ``expandMultiPointPlugins`` in
``pkg/scheduler/framework/runtime/framework.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from podling.machinery.encoding.bodies import Body
from podling.machinery.encoding.intake import read
from podling.machinery.encoding.mismatch import Mismatch
from podling.scheduler.configuration.defaults import with_defaults
from podling.scheduler.configuration.types import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginEntry,
    Plugins,
    PluginSet,
)
from podling.scheduler.framework import Plugin
from podling.scheduler.plugin_registry import KUBERNETES, NOT_HERE, PluginRefused, Registry
from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podling.scheduler.profile import Profile, Scorer

POINTS: Mapping[str, tuple[str, str]] = {
    "pre_enqueue": ("PreEnqueuePlugin", "pre_enqueue"),
    "queue_sort": ("QueueSortPlugin", "queue_key"),
    "pre_filter": ("PreFilterPlugin", "candidates"),
    "filter": ("FilterPlugin", "filter"),
    "post_filter": ("PostFilterPlugin", "post_filter"),
    "pre_score": ("PreScorePlugin", "pre_score"),
    "score": ("ScorePlugin", "score"),
    "reserve": ("ReservePlugin", "reserve"),
    "permit": ("PermitPlugin", "permit"),
    "pre_bind": ("PreBindPlugin", "pre_bind"),
    "bind": ("BindPlugin", "bind"),
    "post_bind": ("PostBindPlugin", "post_bind"),
}
"""The extension points: Kubernetes' interface, and the method of ``Plugin`` for it."""

TOTAL_SCORE_MAX = 2**63 - 1
_NODE_SCORE_MAX = 100


def default_configuration() -> KubeSchedulerConfiguration:
    """Return Kubernetes' configuration of a scheduler that is given none."""
    return with_defaults(KubeSchedulerConfiguration())


def make_profiles(
    configuration: KubeSchedulerConfiguration, registry: Registry | None = None
) -> dict[str, Profile]:
    """Return the profiles of a configuration with its defaults, by name. Raises ``PluginRefused``."""
    known = registry or Registry()
    profiles = (
        make_profile(each, known, configuration.percentage_of_nodes_to_score or 0)
        for each in _without_ignored_resources(configuration)
    )
    return {each.name: _with_extenders(each, configuration.extenders) for each in profiles}


def _without_ignored_resources(found: KubeSchedulerConfiguration) -> tuple[KubeSchedulerProfile, ...]:
    """Return the profiles; NodeResourcesFit leaves resources to extenders that say so (``buildExtenders``).

    Raises ``PluginRefused``.
    """
    ignored = tuple(
        resource.name
        for extender in found.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    return tuple(_ignoring(each, ignored) for each in found.profiles) if ignored else found.profiles


def _ignoring(profile: KubeSchedulerProfile, ignored: tuple[str, ...]) -> KubeSchedulerProfile:
    name = NodeResourcesFit.name
    if all(each.name != name for each in profile.plugin_config):
        raise PluginRefused("can't find NodeResourcesFitArgs in plugin config")
    config = tuple(
        replace(each, args=replace(each.args, ignored_resources=ignored)) if each.name == name else each
        for each in profile.plugin_config
    )
    return replace(profile, plugin_config=config)


def _with_extenders(profile: Profile, extenders: Sequence[Extender]) -> Profile:
    """Return the profile of a scheduler with these extenders."""
    if not extenders:
        return profile
    from podling.scheduler.extenders.chain import ExtenderRejection

    return replace(
        profile,
        by_name={**profile.by_name, ExtenderRejection.name: ExtenderRejection()},
        needs_many=any(each.filter_verb or each.prioritize_verb for each in extenders),
    )


def make_profile(found: KubeSchedulerProfile, registry: Registry, percentage: int) -> Profile:
    """Return one profile. Raises ``PluginRefused``."""
    plugins, name = found.plugins or Plugins(), found.scheduler_name or ""
    made = _made(found, plugins, registry)
    points = {point: _plugins_at(point, plugins, made) for point in POINTS}
    if len(points["queue_sort"]) != 1:
        raise PluginRefused(
            f'only one queue sort plugin required for profile with scheduler name "{name}", '
            f"but got {len(points['queue_sort'])}"
        )
    if not points["bind"]:
        raise PluginRefused(f'at least one bind plugin is needed for profile with scheduler name "{name}"')
    own = found.percentage_of_nodes_to_score
    asked: dict[str, Any] = {
        point: tuple(each for each in points[point] if _overrides(type(each), point))
        for point in POINTS
        if point != "score"
    }
    return Profile(
        name=name,
        percentage=percentage if own is None else own,
        score=_weighted(points["score"], plugins),
        by_name=made,
        **asked,
    )


def implements(plugin: type[Plugin], point: str) -> bool:
    """Return whether a plugin takes part in an extension point."""
    return point in plugin.also_at or _overrides(plugin, point)


def _overrides(plugin: type[Plugin], point: str) -> bool:
    method = POINTS[point][1]
    return getattr(plugin, method) is not getattr(Plugin, method)


def _made(found: KubeSchedulerProfile, plugins: Plugins, registry: Registry) -> dict[str, Plugin]:
    """Return each plugin that the profile enables anywhere, once."""
    args = {each.name: each.args for each in found.plugin_config}
    made: dict[str, Plugin] = {}
    for point in (*POINTS, "multi_point"):
        chosen: PluginSet = getattr(plugins, point)
        for entry in chosen.enabled:
            if entry.name not in made:
                interface = POINTS[point][0] if point in POINTS else "MultiPoint"
                made[entry.name] = _new(entry.name, interface, args.get(entry.name), registry)
    return made


def _new(name: str, interface: str, args: Any, registry: Registry) -> Plugin:
    kind = registry.find(name)
    if kind is None and name in NOT_HERE:
        raise PluginRefused(f'{interface} "{name}" is not supported: no node here has what it decides about')
    if kind is None:
        raise PluginRefused(f'{interface} "{name}" does not exist')
    if kind.arguments is not None and not isinstance(args, kind.arguments):
        try:
            args = read(Body(args or {}), kind.arguments, "Strict")[0]
        except Mismatch as error:
            raise PluginRefused(f"decoding args for plugin {name}: {error}") from None
    try:
        return kind(args)
    except Exception as error:
        raise PluginRefused(f'initializing plugin "{name}": {error}') from error


def _plugins_at(point: str, plugins: Plugins, made: Mapping[str, Plugin]) -> tuple[Plugin, ...]:
    """Return the plugins of an extension point: overridden defaults, other defaults, those of the point."""
    chosen: PluginSet = getattr(plugins, point)
    own = _own_names(point, chosen, made)
    disabled = {each.name for each in chosen.disabled}
    if "*" in disabled or not plugins.multi_point.enabled:
        return tuple(made[name] for name in own)
    everywhere: list[str] = []
    overridden: set[str] = set()
    for entry in plugins.multi_point.enabled:
        if not implements(type(made[entry.name]), point) or entry.name in disabled:
            continue
        if entry.name in own:
            overridden.add(entry.name)
        elif entry.name in everywhere:
            raise PluginRefused(f'plugin "{entry.name}" already registered as "{POINTS[point][0]}"')
        else:
            everywhere.append(entry.name)
    first = [name for name in own if name in overridden]
    last = [name for name in own if name not in overridden]
    return tuple(made[name] for name in (*first, *everywhere, *last))


def _own_names(point: str, chosen: PluginSet, made: Mapping[str, Plugin]) -> list[str]:
    interface, names = POINTS[point][0], list[str]()
    for entry in chosen.enabled:
        if not implements(type(made[entry.name]), point):
            raise PluginRefused(f'plugin "{entry.name}" does not extend {interface} plugin')
        if entry.name in names:
            raise PluginRefused(f'plugin "{entry.name}" already registered as "{interface}"')
        names.append(entry.name)
    return names


def _weighted(scoring: Sequence[Plugin], plugins: Plugins) -> tuple[Scorer, ...]:
    """Return the weights: those of the extension point, else those of ``multiPoint``, else 1."""
    weights: dict[str, int] = {}
    entries: tuple[PluginEntry, ...] = (*plugins.score.enabled, *plugins.multi_point.enabled)
    for entry in entries:
        weights.setdefault(entry.name, entry.weight or 1)
    found = tuple(
        Scorer(each, weights[each.name], type(each) not in KUBERNETES)
        for each in scoring
        if _overrides(type(each), "score")
    )
    if sum(each.weight for each in found) * _NODE_SCORE_MAX > TOTAL_SCORE_MAX:
        raise PluginRefused("total score of Score plugins could overflow")
    return found
