"""Reads what the user has configured of a cluster's scheduler: a file, or a section of the cluster's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podling.cluster.cluster_settings import ClusterSettings

if TYPE_CHECKING:
    from podling.scheduler.configuration.types import KubeSchedulerConfiguration


def scheduler_configuration(settings: ClusterSettings) -> KubeSchedulerConfiguration | None:
    """Return the scheduler's configuration; None for the default. Raises ``ConfigurationRefused``."""
    if settings.scheduler_config:
        from podling.scheduler.configuration.files import load

        return load(Path(settings.scheduler_config), settings.feature_gates)
    if settings.scheduler_document:
        plain = json.loads(settings.scheduler_document)
        return section(plain, "schedulerConfiguration", settings.feature_gates)
    return None


def section(plain: dict[str, Any], source: str, gates: Mapping[str, bool]) -> KubeSchedulerConfiguration:
    """Return the configuration of a section, which need not say its kind. Raises ``ConfigurationRefused``."""
    from podling.scheduler.configuration.files import configuration_of
    from podling.scheduler.configuration.types import API_VERSION, KIND

    return configuration_of({"apiVersion": API_VERSION, "kind": KIND, **plain}, source, gates)


def check(configuration: KubeSchedulerConfiguration) -> None:
    """Refuse a configuration whose plugins or extenders cannot be used. Raises ``ConfigurationRefused``."""
    from podling.scheduler.configuration.files import ConfigurationRefused
    from podling.scheduler.plugin_registry import PluginRefused
    from podling.scheduler.profiles import make_profiles

    try:
        make_profiles(configuration)
        if configuration.extenders:
            from podling.scheduler.extenders.transport import tls_context

            for extender in configuration.extenders:
                tls_context(extender)
    except PluginRefused as error:
        raise ConfigurationRefused(f"failed to make the scheduler's profiles: {error}") from error
