"""The record of a joined node."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.settings import JoinedSettings, address_towards, current_addresses
from podling.machinery.node_masks import NodeMasks

SETTINGS = JoinedSettings(
    server="https://127.0.0.1:6443", node_name="n1", runtime="sim", addresses=("192.0.2.1", "2001:db8::1")
)


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    found = DataDirectory(tmp_path / "data")
    found.create()
    return found


def test_settings_are_kept(directory: DataDirectory) -> None:
    assert joined_settings.read(directory) is None
    joined_settings.write(directory, SETTINGS)
    assert joined_settings.read(directory) == SETTINGS
    assert (directory.path / "node.json").stat().st_mode & 0o777 == 0o600
    directory.create()  # it is known for a data directory


def test_damaged_settings_are_refused(directory: DataDirectory) -> None:
    (directory.path / "node.json").write_text("{")
    with pytest.raises(DirectoryUnusable, match="cannot be read"):
        joined_settings.read(directory)


def test_plan_has_the_port_of_kubelets(directory: DataDirectory) -> None:
    plan = joined_settings.node_plan(directory, SETTINGS)
    assert (plan.name, plan.index, plan.port, plan.static_pod_path) == ("n1", 0, 10250, None)
    assert (plan.addresses, plan.pod_ranges[0].version) == (("192.0.2.1", "2001:db8::1"), 4)
    assert plan.root == directory.node("n1")


@pytest.mark.parametrize(
    ("given", "last", "server", "expected"),
    [
        ("192.0.2.7", "192.0.2.8", "https://127.0.0.1:6443", "192.0.2.7"),
        ("", "192.0.2.8", "https://127.0.0.1:6443", "127.0.0.1"),
        ("", "192.0.2.8", "https://nowhere.invalid:6443", "192.0.2.8"),
    ],
)
def test_address_of_the_node(given: str, last: str, server: str, expected: str) -> None:
    found = JoinedSettings(server=server, node_name="n1", node_ip=given, addresses=(last,))
    assert current_addresses(found) == (expected,)


def test_address_towards_an_ipv6_server() -> None:
    assert address_towards("https://[::1]:6443") in ("::1", "")


def test_blocks_have_the_sizes_of_the_cluster(directory: DataDirectory) -> None:
    settings = structs.replace(SETTINGS, node_masks=NodeMasks(single=26))
    assert joined_settings.node_plan(directory, settings).pod_prefixes[4] == 26
    assert joined_settings.node_plan(directory, SETTINGS).pod_prefixes[4] == 24
