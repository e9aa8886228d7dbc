"""Data directories with damaged or missing files: ``up`` names what is wrong and how to go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEY = "/registry/configmaps/default/broken"


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster that ran and was stopped, with one ConfigMap of its own."""
    cluster = RealCluster(tmp_path / "data", "sim", "--port", "0")
    try:
        cluster.up()
        cluster.kubectl("create", "configmap", "broken")
        cluster.kubectl("create", "configmap", "whole", "--from-literal=a=b")
        cluster.down()
        yield cluster
    finally:
        cluster.remove()


def refusal(cluster: RealCluster, *options: str) -> str:
    """Return the one line with which ``up`` fails."""
    done = cluster.podling("up", "--detach", *options)
    assert done.code == 1
    (line,) = done.err.strip().splitlines()
    return line


def damage(cluster: RealCluster, value: bytes) -> None:
    store = sqlite3.connect(cluster.directory / "store.db")
    changed = store.execute("UPDATE log SET value = ? WHERE key = ?", (value, KEY)).rowcount
    store.commit()
    store.close()
    assert changed == 1


def test_undecodable_value_is_named_and_can_be_set_aside(stopped: RealCluster) -> None:
    damage(stopped, b"\x00\xff")
    line = refusal(stopped)
    assert f"store.db: the value of {KEY} cannot be decoded: " in line
    assert "'podling up --set-aside-undecodable'" in line
    assert KEY in stopped.up("--set-aside-undecodable").out
    (file,) = (stopped.directory / "set-aside").iterdir()
    assert file.read_bytes() == b"\x00\xff"
    assert stopped.get("configmap", "whole")["data"] == {"a": "b"}
    assert "not found" in stopped.try_kubectl("get", "configmap", "broken").err
    stopped.down()
    stopped.up()


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_lost_store_begins_no_new_cluster_unasked(stopped: RealCluster, left: str) -> None:
    for file in stopped.directory.glob("store.db*"):
        file.unlink()
    if left == "an empty file":
        (stopped.directory / "store.db").touch()
    assert "--new-store" in refusal(stopped)
    assert "--new-store" in refusal(stopped)
    stopped.up("--new-store")
    assert "not found" in stopped.try_kubectl("get", "configmap", "whole").err


def test_new_store_keeps_the_old_one(stopped: RealCluster) -> None:
    (stopped.directory / "store.db").write_bytes(b"certainly not a database" * 1000)
    assert "is damaged or not a store" in refusal(stopped)
    stopped.up("--new-store")
    kept = stopped.directory / "set-aside" / "store-1" / "store.db"
    assert kept.read_bytes().startswith(b"certainly not a database")


def test_other_damaged_files_are_named(stopped: RealCluster) -> None:
    place = stopped.directory
    key = (place / "pki" / "ca.key").read_bytes()
    (place / "pki" / "ca.key").unlink()
    assert "ca.key is missing; restore it from a backup" in refusal(stopped)
    (place / "pki" / "ca.key").write_bytes(key[:100])
    assert "the cluster's authority is damaged" in refusal(stopped)
    (place / "pki" / "ca.key").write_bytes(key)
    identity = (place / "identity.json").read_bytes()
    (place / "identity.json").write_bytes(identity[:20])
    assert "identity.json cannot be read" in refusal(stopped)
    (place / "identity.json").unlink()
    assert "--identity new" in refusal(stopped)
    stopped.up("--identity", "new")
    assert stopped.get("configmap", "whole")["data"] == {"a": "b"}
