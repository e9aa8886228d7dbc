"""The options of ``podling up`` for address ranges and node ports, under Kubernetes' names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from podling.cli.common_options import Failure
from podling.cluster.cluster_settings import ClusterSettings
from podling.machinery.network_ranges import (
    CLUSTER_CIDR,
    MODES,
    NODE_PORTS,
    SERVICE_RANGE,
    NetworkRanges,
    Route,
    changed_range,
    missing_family,
    missing_ipv4,
    network_ranges,
    route_conflict,
)
from podling.machinery.node_masks import NodeMasks

_RANGES = ("cluster_cidr", "service_cluster_ip_range", "service_node_port_range")
_MASKS = ("node_cidr_mask_size", "node_cidr_mask_size_ipv4", "node_cidr_mask_size_ipv6")
_OWN_INTERFACES = ("pl-", "pv")
"""Prefixes of the names of bridges and interfaces of podling's own clusters."""


cni_option = click.option(
    "--cni-conf-dir",
    metavar="DIR",
    help="Let the machine's CNI plugins make the network of the pods, as the configuration in this "
    "directory says; '' uses Podling's own network.  [default: the last directory, or none]",
)


def _mask_option(name: str) -> Callable[..., Any]:
    family = {"ipv4": "IPv4 ", "ipv6": "IPv6 "}.get(name.rpartition("_")[2], "")
    clusters = "one range" if not family else "two ranges, or one of this family"
    return click.option(
        f"--{name.replace('_', '-')}",
        type=click.IntRange(0, 128),
        metavar="BITS",
        help=f"The mask size of each node's block of {family}pod addresses, in a cluster with {clusters}; "
        "0 is the default.  [default: the last one, or 24 for IPv4 and 64 for IPv6]",
    )


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in (
        click.option(
            "--cluster-cidr",
            metavar="CIDR[,CIDR]",
            help="The addresses of pods; a second range of the other family gives pods two addresses.  "
            f"[default: the last ranges, or {CLUSTER_CIDR}]",
        ),
        click.option(
            "--service-cluster-ip-range",
            metavar="CIDR[,CIDR]",
            help="The addresses of Services; the first range has the default family.  "
            f"[default: the last ranges, or {SERVICE_RANGE}]",
        ),
        click.option(
            "--service-node-port-range",
            metavar="PORTS",
            help=f"The node ports of Services.  [default: the last range, or {NODE_PORTS}]",
        ),
        *(_mask_option(name) for name in _MASKS),
        click.option(
            "--network",
            type=click.Choice(MODES),
            help="How packets get to the pods of other machines: in tunnels, or by routes, for machines that "
            "share a link.  [default: as last time, or vxlan]",
        ),
        cni_option,
        click.option(
            "--node-ip",
            metavar="IP[,IP]",
            help="The address of the nodes of this machine, or one of each family, the primary one first; "
            "'::' prefers the machine's IPv6 address; '' takes the machine's own.  [default: the last one, "
            "or the machine's own]",
        ),
    ):
        command = option(command)
    return command


def chosen_ranges(chosen: Mapping[str, Any], last: ClusterSettings) -> dict[str, Any]:
    """Return the settings of ranges and addresses: the options, else those of the last run. Pure."""
    ranges = {name: chosen[name] or getattr(last, name) for name in _RANGES}
    ranges |= {name: getattr(last, name) if chosen[name] is None else chosen[name] for name in _MASKS}
    ranges["network"] = chosen["network"] or last.network
    ranges["cni_conf_dir"] = chosen_cni(chosen["cni_conf_dir"], last.cni_conf_dir)
    return {**ranges, "node_ip": last.node_ip if chosen["node_ip"] is None else chosen["node_ip"]}


def chosen_cni(option: str | None, last: str) -> str:
    """Return the directory of the CNI configuration: the option, else the last one."""
    return last if option is None else option and os.path.abspath(option)


def check_cni(option: str | None, runtime: str) -> None:
    """Raise ``Failure`` if the option names no directory, or the runtime's pods have no network."""
    if option and runtime in ("process", "sim"):
        raise Failure("--cni-conf-dir needs --runtime oci: other pods have the network of the machine")
    if option and not os.path.isdir(option):
        raise Failure(f"--cni-conf-dir {option} is no directory")


def check_ranges(
    chosen: Mapping[str, Any], last: ClusterSettings, runtime: str, *, exists: bool = False
) -> None:
    """Refuse ranges that no cluster can have, or that this one, if it ``exists``, cannot have any more.

    Ranges that are new are compared with the machine's routes, too; those of the last run are in use. Raises
    ``Failure``.
    """
    wanted = chosen_ranges(chosen, last)
    check_cni(chosen["cni_conf_dir"], runtime)
    try:
        ranges = _ranges_of(wanted)
    except ValueError as error:
        raise Failure(str(error)) from error
    if exists and (problem := _change(ranges, last.ranges())):
        raise Failure(problem)
    if chosen["node_ip"]:
        from podling.node.machine import node_ip_problem

        if problem := node_ip_problem(chosen["node_ip"]):
            raise Failure(problem)
    if runtime != "oci":
        return
    is_new = any(wanted[name] != getattr(last, name) for name in _RANGES[:2])
    problem = (
        missing_ipv4(ranges) or missing_family(ranges) or (_conflict(ranges, wanted, last) if is_new else "")
    )
    if problem:
        raise Failure(problem)


def _ranges_of(wanted: Mapping[str, Any]) -> NetworkRanges:
    """Return the ranges that settings name. Raises ``ValueError``."""
    pods, services, node_ports = (wanted[name] for name in _RANGES)
    return network_ranges(pods, services, node_ports, NodeMasks(*(wanted[name] for name in _MASKS)))


def _change(wanted: NetworkRanges, last: NetworkRanges) -> str:
    return changed_range("--cluster-cidr", last.pods, wanted.pods) or changed_range(
        "--service-cluster-ip-range", last.services, wanted.services
    )


def _conflict(ranges: NetworkRanges, wanted: Mapping[str, str], last: ClusterSettings) -> str:
    """Return why a new range would hide a part of the machine's network; empty if none does."""
    from podling.network.routes import machine_routes

    routes = [route for route in machine_routes() if not is_own(route)]
    for name, blocks in (("cluster_cidr", ranges.pods), ("service_cluster_ip_range", ranges.services)):
        is_new = wanted[name] != getattr(last, name)
        problem = is_new and route_conflict(f"--{name.replace('_', '-')}", blocks, routes)
        if problem:
            return problem
    return ""


def is_own(route: Route) -> bool:
    """Return whether a route leads to pods of a cluster of podling's."""
    return route.interface.startswith(_OWN_INTERFACES)
