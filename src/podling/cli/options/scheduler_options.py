"""The option of ``podling up`` for the scheduler's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from podling.cli.common_options import Failure
from podling.cli.options.configuration_source import chosen_source
from podling.cluster.cluster_settings import ClusterSettings
from podling.node.node_options import NodeOptions


def scheduler_options(command: Any) -> Any:
    """Add ``--scheduler-config``, and the parameter for the section of a cluster's configuration file."""
    hidden = click.option("--scheduler-document", hidden=True)(command)
    return click.option(
        "--scheduler-config",
        metavar="FILE",
        help="The scheduler's configuration, as of kube-scheduler --config: a KubeSchedulerConfiguration of "
        "kubescheduler.config.k8s.io/v1; '' uses none.  [default: the last file, or none]",
    )(hidden)


def chosen_scheduler_options(
    chosen: Mapping[str, Any], last: ClusterSettings, node_options: NodeOptions
) -> dict[str, Any]:
    """Return the settings of this run's scheduler: those given, else the last run's. Raises ``Failure``.

    ``node_options`` are this run's; the feature gates are among them.
    """
    file, document = chosen_source(
        chosen["scheduler_config"],
        chosen["scheduler_document"],
        (last.scheduler_config, last.scheduler_document),
    )
    if file or document:
        settings = ClusterSettings(
            node_options=node_options, scheduler_config=file, scheduler_document=document
        )
        _check(settings)
    return {"scheduler_config": file, "scheduler_document": document}


def _check(settings: ClusterSettings) -> None:
    """Refuse a configuration that no scheduler could use. Raises ``Failure``."""
    from podling.cluster.scheduler_settings import check, scheduler_configuration
    from podling.scheduler.configuration.files import ConfigurationRefused

    try:
        configuration = scheduler_configuration(settings)
        if configuration is not None:
            check(configuration)
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
