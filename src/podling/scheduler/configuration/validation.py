"""Validation of a ``KubeSchedulerConfiguration``, in Kubernetes' words. Pure.

Upstream: ``pkg/scheduler/apis/config/validation/validation.go``, ``k8s.io/component-base/config/validation``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import structs

from podling.machinery import fields, names
from podling.machinery.durations import seconds_of
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.fields import FieldError, Path
from podling.machinery.resource_names import is_extended
from podling.scheduler.configuration.plugin_args import Args
from podling.scheduler.configuration.plugin_args_validation import args_errors
from podling.scheduler.configuration.types import (
    API_VERSION,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginSet,
)

REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
"""Plugins that Kubernetes no longer has."""

_LEASE_DURATION, _RENEW_DEADLINE, _RETRY_PERIOD = "15s", "10s", "2s"


def problems(found: KubeSchedulerConfiguration, gates: Mapping[str, bool] = NO_GATES) -> list[str]:
    """Return why a configuration with its defaults is invalid; empty for a valid one."""
    return [str(error) for error in _errors(found, gates)]


def _errors(found: KubeSchedulerConfiguration, gates: Mapping[str, bool]) -> Iterator[FieldError]:
    if found.client_connection.burst < 0:
        path = Path("clientConnection").child("burst")
        yield fields.invalid(path, found.client_connection.burst, "must be non-negative")
    yield from _leader_election(found)
    if (found.parallelism or 0) <= 0:
        text = "should be an integer value greater than zero"
        yield fields.invalid(Path("parallelism"), found.parallelism, text)
    yield from _profiles(found.profiles, gates)
    yield from _percentage(Path("percentageOfNodesToScore"), found.percentage_of_nodes_to_score)
    initial, longest = found.pod_initial_backoff_seconds or 0, found.pod_max_backoff_seconds or 0
    if initial <= 0:
        yield fields.invalid(Path("podInitialBackoffSeconds"), initial, "must be greater than 0")
    if longest < initial:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        yield fields.invalid(Path("podMaxBackoffSeconds"), longest, text)
    yield from _extenders(Path("extenders"), found.extenders)


def _leader_election(found: KubeSchedulerConfiguration) -> Iterator[FieldError]:
    election, path = found.leader_election, Path("leaderElection")
    if election.leader_elect is False:
        return
    times = (
        ("leaseDuration", election.lease_duration or _LEASE_DURATION),
        ("renewDeadline", election.renew_deadline or _RENEW_DEADLINE),
        ("retryPeriod", election.retry_period or _RETRY_PERIOD),
    )
    for name, text in times:
        if seconds_of(text) <= 0:
            yield fields.invalid(path.child(name), text, "must be greater than zero")
    if seconds_of(times[0][1]) <= seconds_of(times[1][1]):
        yield fields.invalid(path.child("leaseDuration"), times[1][1], "must be greater than `RenewDeadline`")
    if election.resource_lock not in ("", "leases"):
        text = 'resourceLock value must be "leases"'
        yield fields.invalid(path.child("resourceLock"), election.resource_lock, text)


def _percentage(path: Path, value: int | None) -> Iterator[FieldError]:
    if value is not None and not 0 <= value <= 100:
        yield fields.invalid(path, value, "not in valid range [0-100]")


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], gates: Mapping[str, bool]) -> Iterator[FieldError]:
    path = Path("profiles")
    seen: dict[str, int] = {}
    for number, profile in enumerate(profiles):
        here, name = path.index(number), profile.scheduler_name or ""
        if not name:
            yield fields.required(here.child("schedulerName"))
        yield from _percentage(here.child("percentageOfNodesToScore"), profile.percentage_of_nodes_to_score)
        yield from _plugins(here, profile)
        yield from _plugin_config(here, profile, gates)
        if name in seen:
            shown = fields.Shown(path.index(seen[name]).child("schedulerName"))
            yield fields.duplicate(here.child("schedulerName"), shown)
        seen[name] = number
    yield from _queue_sorts(path, profiles)


def _plugins(path: Path, profile: KubeSchedulerProfile) -> Iterator[FieldError]:
    if profile.plugins is None:
        return
    for point in structs.fields(profile.plugins):
        if point.name == "multi_point":
            continue
        where = path.child("plugins", point.encode_name, "enabled")
        for number, entry in enumerate(getattr(profile.plugins, point.name).enabled):
            if entry.name in REMOVED:
                yield _removed(where.index(number), entry.name)


def _removed(path: Path, name: str) -> FieldError:
    text = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    return fields.invalid(path, name, text)


def _plugin_config(
    path: Path, profile: KubeSchedulerProfile, gates: Mapping[str, bool]
) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, config in enumerate(profile.plugin_config):
        here = path.child("pluginConfig").index(number)
        if config.name in seen:
            yield fields.duplicate(here, config.name)
        seen.add(config.name)
        if config.name in REMOVED:
            yield _removed(here, config.name)
        elif isinstance(config.args, Args):
            yield from args_errors(here.child("args"), config.args, gates)


def _queue_sorts(path: Path, profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[FieldError]:
    """Yield an error for each profile that sorts the queue, which all profiles share, differently."""
    sets = [each.plugins.queue_sort if each.plugins else PluginSet() for each in profiles]
    first = sets[0].enabled
    if len(first) > 1:
        here = path.index(0).child("plugins", "queueSort", "Enabled")
        yield fields.invalid(here, len(first), "only one queue sort plugin can be enabled")
    name = first[0].name if first else ""
    args = _args_of(profiles[0], name)
    for number, profile in enumerate(profiles[1:], 1):
        if sets[number] != sets[0]:
            here = path.index(number).child("plugins", "queueSort")
            shown = fields.in_go(Enabled=sets[number].enabled, Disabled=sets[number].disabled)
            yield fields.invalid(here, shown, "must be the same for all profiles")
        own = _args_of(profile, name)
        if name and own is not None and own != args:
            here = path.index(number).child("pluginConfig", "args")
            yield fields.invalid(here, own, "queueSort must be the same for all profiles")


def _args_of(profile: KubeSchedulerProfile, name: str) -> object:
    return next((each.args for each in profile.plugin_config if each.name == name), None)


def _extenders(path: Path, extenders: tuple[Extender, ...]) -> Iterator[FieldError]:
    managed: set[str] = set()
    for number, extender in enumerate(extenders):
        here = path.index(number)
        if extender.prioritize_verb and extender.weight <= 0:
            text = "must have a positive weight applied to it"
            yield fields.invalid(here.child("weight"), extender.weight, text)
        for position, resource in enumerate(extender.managed_resources):
            where = here.child("managedResources").index(position).child("name")
            yield from _resource_name(where, resource.name)
            if resource.name in managed:
                yield fields.invalid(where, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(each.bind_verb) for each in extenders)
    if binders > 1:
        shown = f"found {binders} extenders implementing bind"
        yield fields.invalid(path, shown, "only one extender can implement bind")


def _resource_name(path: Path, name: str) -> Iterator[FieldError]:
    found = names.qualified_name_errors(name)
    for text in found:
        yield fields.invalid(path, name, text)
    if not found and not is_extended(name):
        yield fields.invalid(path, name, "is an invalid extended resource name")
