"""The options of ``podling up`` and ``podling join`` for nodes, under the names of the kubelet's flags."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from podling.cli.common_options import Failure
from podling.node.node_options import NodeOptions

PATHS = ("kubelet_config", "config_dir")


def node_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, those of the configuration file excepted."""
    for option in (
        click.option(
            "--config-dir",
            metavar="DIR",
            help="Merge the files *.conf of this directory into the kubelet's configuration; '' uses none.  "
            "[default: the last directory, or none]",
        ),
        click.option(
            "--fail-swap-on",
            type=bool,
            metavar="true|false",
            help="Let the kubelet refuse a machine with swap.  [default: as last time, or true]",
        ),
        click.option(
            "--register-node",
            type=bool,
            metavar="true|false",
            help="Let the kubelet register its node.  [default: as last time, or true]",
        ),
        click.option(
            "--register-with-taints",
            metavar="KEY=VALUE:EFFECT,...",
            help="The taints of a node when it registers.  [default: the last ones, or none]",
        ),
        click.option(
            "--node-external-ip",
            metavar="IP[,IP]",
            help="The addresses of a node outside of the cluster, as ExternalIP; '' is none.  "
            "[default: the last ones, or none]",
        ),
        click.option(
            "--node-labels",
            metavar="KEY=VALUE,...",
            help="The labels of a node when it registers.  [default: the last ones, or none]",
        ),
        click.option(
            "--node-status-update-frequency",
            metavar="DURATION",
            help="The interval between two computations of a node's status.  [default: the last one, or 10s]",
        ),
        click.option(
            "--feature-gates",
            metavar="NAME=true|false,...",
            help="Gates that differ from their defaults; '' is none.  [default: the last ones, or none]",
        ),
    ):
        command = option(command)
    return command


def kubelet_config_option(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the file of the kubelet's configuration, under these names."""
    return click.option(
        *names,
        "kubelet_config",
        metavar="FILE",
        help="The kubelet's configuration: a KubeletConfiguration of kubelet.config.k8s.io/v1beta1; '' uses "
        "none.  [default: the last file, or none]",
    )


def chosen_node_options(chosen: Mapping[str, Any], last: NodeOptions) -> NodeOptions:
    """Return this run's options: those given, else the last run's. Raises ``Failure`` for invalid ones."""
    given = {name: chosen[name] for name in NodeOptions.__struct_fields__ if chosen.get(name) is not None}
    for name in PATHS:
        if given.get(name):
            given[name] = os.path.abspath(os.path.expanduser(given[name]))
    if given.get("kubelet_document"):
        given.setdefault("kubelet_config", "")
    elif given.get("kubelet_config"):
        given["kubelet_document"] = ""
    options = NodeOptions(
        **{name: given.get(name, getattr(last, name)) for name in NodeOptions.__struct_fields__}
    )
    if options != NodeOptions():
        check_node_options(options)
    return options


def check_node_options(options: NodeOptions) -> None:
    """Refuse options and files that no kubelet could use. Raises ``Failure``."""
    from podling.kubelet.configuration.refused import ConfigurationRefused
    from podling.node.kubelet_settings import kubelet_settings

    try:
        kubelet_settings(options)
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
