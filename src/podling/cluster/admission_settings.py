"""Reads what the user has configured of a cluster's admission: a file, or a section of the cluster's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podling.cluster.cluster_settings import ClusterSettings

if TYPE_CHECKING:
    from podling.apiserver.admission.configuration.types import PluginSettings

SECTION = "admissionConfiguration"


def admission_configuration(settings: ClusterSettings) -> PluginSettings:
    """Return the configurations of admission plugins. Raises ``ConfigurationRefused``."""
    from podling.apiserver.admission.configuration.types import DEFAULT_SETTINGS

    if settings.admission_control_config_file:
        from podling.apiserver.admission.configuration.files import load

        return load(Path(settings.admission_control_config_file))
    if settings.admission_document:
        return section(json.loads(settings.admission_document), Path("/"), SECTION)
    return DEFAULT_SETTINGS


def section(plain: dict[str, Any], folder: Path, source: str) -> PluginSettings:
    """Return the plugins' configurations of a section, which need not say its kind.

    Raises ``ConfigurationRefused``.
    """
    from podling.apiserver.admission.configuration.files import settings_of
    from podling.apiserver.admission.configuration.types import AdmissionConfiguration

    group, version, kind = AdmissionConfiguration.group_version_kind
    return settings_of({"apiVersion": f"{group}/{version}", "kind": kind, **plain}, folder, source)
