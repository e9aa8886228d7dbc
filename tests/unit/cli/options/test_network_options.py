"""The options for address ranges: what is remembered, and what is refused before anything starts."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import click
import pytest

from podling.cli.common_options import Failure
from podling.cli.options.network_options import check_ranges, chosen_ranges, is_own, network_options
from podling.cluster.cluster_settings import ClusterSettings
from podling.machinery.network_ranges import Route

UP = click.Command("up")
network_options(UP)
NONE: dict[str, Any] = {option.name or "": None for option in UP.params}
"""The values of a command line without any of the options."""
DUAL = ClusterSettings(
    cluster_cidr="10.1.0.0/16,fd01::/48", service_cluster_ip_range="10.2.0.0/16,fd02::/112"
)


def test_options_replace_what_the_last_run_had() -> None:
    found = chosen_ranges({**NONE, "cluster_cidr": "10.3.0.0/16"}, DUAL)
    assert found["cluster_cidr"] == "10.3.0.0/16"
    assert found["service_cluster_ip_range"] == "10.2.0.0/16,fd02::/112"
    assert found["service_node_port_range"] == "30000-32767"
    assert found.keys() == NONE.keys(), "every option is remembered"


def test_empty_node_ip_forgets_the_last_one() -> None:
    last = ClusterSettings(node_ip="192.0.2.7")
    assert chosen_ranges(NONE, last)["node_ip"] == "192.0.2.7"
    assert chosen_ranges({**NONE, "node_ip": ""}, last)["node_ip"] == ""


def test_mask_size_is_remembered_until_it_is_zero() -> None:
    last = ClusterSettings(node_cidr_mask_size_ipv4=26)
    assert last.ranges().node_prefixes[4] == 26
    assert chosen_ranges(NONE, last)["node_cidr_mask_size_ipv4"] == 26
    assert chosen_ranges({**NONE, "node_cidr_mask_size_ipv4": 0}, last)["node_cidr_mask_size_ipv4"] == 0


def test_settings_of_an_older_run_have_the_default_ranges() -> None:
    assert ClusterSettings().ranges().families == ("IPv4",)
    assert DUAL.ranges().families == ("IPv4", "IPv6")


REFUSED = [
    ({"cluster_cidr": "10.96.0.0/16"}, ClusterSettings(), "process", "overlap"),
    ({"service_node_port_range": "x"}, ClusterSettings(), "sim", "is no range of ports"),
    ({"node_cidr_mask_size": 26}, DUAL, "sim", "is not allowed with dual-stack clusters"),
    (
        {"cluster_cidr": "10.1.0.0/27"},
        ClusterSettings(node_cidr_mask_size=26),
        "sim",
        "Invalid --cluster-cidr",
    ),
    (
        {"service_cluster_ip_range": "10.96.0.0/12,fd02::/112"},
        ClusterSettings(),
        "oci",
        "no pod could serve there",
    ),
]


@pytest.mark.parametrize(("chosen", "last", "runtime", "why"), REFUSED)
def test_impossible_ranges_are_refused(
    chosen: dict[str, str], last: ClusterSettings, runtime: str, why: str
) -> None:
    with pytest.raises(Failure, match=why):
        check_ranges({**NONE, **chosen}, last, runtime)


CHANGES = [
    ({"cluster_cidr": "10.88.0.0/16,fd00:88::/48"}, ClusterSettings(), ""),
    ({"cluster_cidr": "10.1.0.0/16"}, DUAL, ""),
    ({"cluster_cidr": "10.3.0.0/16"}, ClusterSettings(), "the cluster has the IPv4 range 10.88.0.0/16"),
    ({"cluster_cidr": "10.1.0.0/16,fd03::/48"}, DUAL, "the cluster has the IPv6 range fd01::/48"),
    ({"service_cluster_ip_range": "10.3.0.0/16"}, DUAL, "a ServiceCIDR object adds a further range"),
    ({"service_cluster_ip_range": "10.2.0.0/16"}, DUAL, ""),
    ({"service_node_port_range": "30000-30100"}, DUAL, ""),
]


@pytest.mark.parametrize(("chosen", "last", "why"), CHANGES)
def test_range_of_a_cluster_that_exists_stays(
    chosen: dict[str, str], last: ClusterSettings, why: str
) -> None:
    check_ranges({**NONE, **chosen}, last, "sim")
    if not why:
        check_ranges({**NONE, **chosen}, last, "sim", exists=True)
        return
    with pytest.raises(Failure, match=why):
        check_ranges({**NONE, **chosen}, last, "sim", exists=True)


def test_family_without_pods_is_refused_only_where_pods_have_addresses() -> None:
    check_ranges({**NONE, "service_cluster_ip_range": "10.96.0.0/12,fd02::/112"}, ClusterSettings(), "sim")


def test_routes_of_own_bridges_are_no_obstacle() -> None:
    assert is_own(Route(ip_network("10.1.0.0/24"), "pl-0123456789"))
    assert not is_own(Route(ip_network("10.1.0.0/24"), "eth0"))
