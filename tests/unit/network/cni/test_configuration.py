"""CNI configurations: the file that counts, its contents, and the input of each plugin."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.network.cni.configuration import ConfigurationError, choose_file, parse, request
from podling.runtime.base import PortMapping

PORT = PortMapping(container_port=80, host_port=8080, protocol="TCP")


def conflist(**fields: Any) -> str:
    plain = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "bridge"}, {"type": "portmap"}]}
    return json.dumps({key: value for key, value in {**plain, **fields}.items() if value is not None})


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["20-b.conf", "10-a.conflist", "30-c.json"], "10-a.conflist"),
        (["10-a.conflist.bak", "notes", "20-b.conf"], "20-b.conf"),
        (["10-a.txt"], ""),
        ([], ""),
    ],
)
def test_first_file_with_a_known_suffix_counts(names: list[str], chosen: str) -> None:
    assert choose_file(names) == chosen


def test_list_of_plugins_is_read() -> None:
    found = parse("a.conflist", conflist(disableCheck=True))
    assert (found.name, found.version, found.types) == ("net", "1.0.0", ("bridge", "portmap"))
    assert not found.can_check


def test_single_plugin_is_a_list_of_one() -> None:
    found = parse("a.conf", json.dumps({"cniVersion": "0.3.1", "name": "net", "type": "ptp"}))
    assert found.types == ("ptp",)
    assert not found.can_check, "CHECK came with 0.4.0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "a.conflist is not JSON"),
        (b"\xff", "a.conflist is not JSON"),
        ("[]", "a.conflist is not a JSON object"),
        (conflist(name=None), "a.conflist has no name of a network"),
        (conflist(name=""), "a.conflist has no name of a network"),
        (conflist(cniVersion=None), "cniVersion is missing; known are 0.3.0, 0.3.1, 0.4.0, 1.0.0"),
        (conflist(cniVersion="0.2.0"), 'cniVersion is "0.2.0"'),
        (conflist(cniVersion=1), 'cniVersion is "1"'),
        (conflist(plugins=None), "a.conflist has no plugins"),
        (conflist(plugins=[]), "a.conflist has no plugins"),
        (conflist(plugins=["bridge"]), "a.conflist has a plugin without a type"),
        (conflist(plugins=[{"type": ""}]), "a.conflist has a plugin without a type"),
        (conflist(plugins=[{"type": "../sh"}]), "the plugin type '../sh' is no name of a program"),
    ],
)
def test_unusable_configuration_is_refused_with_the_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse("a.conflist", text)
    assert reason in str(refused.value)


def test_each_plugin_gets_its_part_the_result_so_far_and_its_capabilities() -> None:
    mapping = {"type": "portmap", "capabilities": {"portMappings": True, "bandwidth": False}, "snat": True}
    found = parse("a.conflist", conflist(plugins=[{"type": "bridge", "bridge": "b0"}, mapping]))
    first, second = found.plugins
    own = {"name": "net", "cniVersion": "1.0.0"}
    assert found.maps_ports
    assert request(found, first, None, (PORT,)) == {"type": "bridge", "bridge": "b0", **own}
    assert request(found, second, {"ips": []}, (PORT,)) == {
        "type": "portmap",
        "snat": True,
        **own,
        "runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]},
        "prevResult": {"ips": []},
    }
    assert "runtimeConfig" not in request(found, second, None, ())


def test_host_address_of_a_port_is_passed_on() -> None:
    mapping = {"type": "portmap", "capabilities": {"portMappings": True}}
    found = parse("a.conflist", conflist(plugins=[mapping]))
    port = PortMapping(container_port=53, host_port=53, protocol="UDP", host_ip="127.0.0.1")
    (given,) = request(found, mapping, None, (port,))["runtimeConfig"]["portMappings"]
    assert given == {"hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "127.0.0.1"}
