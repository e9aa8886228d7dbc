"""The option of ``podling up`` for the configuration of admission plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from podling.cli.common_options import Failure
from podling.cli.options.configuration_source import chosen_source
from podling.cluster.cluster_settings import ClusterSettings


def admission_options(command: Any) -> Any:
    """Add ``--admission-control-config-file``, and the parameter for the section of a cluster's file."""
    hidden = click.option("--admission-document", hidden=True)(command)
    return click.option(
        "--admission-control-config-file",
        metavar="FILE",
        help="The configuration of admission plugins, as of kube-apiserver: an AdmissionConfiguration of "
        "apiserver.config.k8s.io/v1; '' uses none.  [default: the last file, or none]",
    )(hidden)


def chosen_admission_options(chosen: Mapping[str, Any], last: ClusterSettings) -> dict[str, Any]:
    """Return the settings of this run's admission: those given, else the last run's. Raises ``Failure``."""
    file, document = chosen_source(
        chosen["admission_control_config_file"],
        chosen["admission_document"],
        (last.admission_control_config_file, last.admission_document),
    )
    if file or document:
        _check(ClusterSettings(admission_control_config_file=file, admission_document=document))
    return {"admission_control_config_file": file, "admission_document": document}


def _check(settings: ClusterSettings) -> None:
    """Refuse a configuration that no API server could use. Raises ``Failure``."""
    from podling.apiserver.admission.configuration.files import ConfigurationRefused
    from podling.cluster.admission_settings import admission_configuration

    try:
        admission_configuration(settings)
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
