"""A cluster is its data directory: who holds it, what it remembers, where kubeconfigs go."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable


def test_files_of_an_earlier_version_are_closed_to_others(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    names = ("store.db", "store.db-wal", "store.db.lock", "podling.log.1", "cluster.json", "admin.kubeconfig")
    outside = tmp_path / "outside"
    outside.touch(0o644)
    (directory.path / "link").symlink_to(outside)
    for name in names:
        (directory.path / name).touch(0o644)
    directory.create()
    assert {(directory.path / name).stat().st_mode & 0o777 for name in names} == {0o600}
    assert outside.stat().st_mode & 0o777 == 0o644


def test_directory_of_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    """``--data-dir ~`` must not take a user's files from others, nor ``--data-dir /tmp`` everyone's."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "notes.txt").touch(0o644)
    with pytest.raises(DirectoryUnusable, match=r"home is not empty and no data directory; name another"):
        DataDirectory(home).create()
    assert [path.name for path in home.iterdir()] == ["notes.txt"]
    assert home.stat().st_mode & 0o777 == 0o755
    assert (home / "notes.txt").stat().st_mode & 0o777 == 0o644


def test_files_of_others_in_a_data_directory_keep_their_modes(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    with directory.locked():
        (directory.path / "README").touch(0o644)
    directory.create()
    assert (directory.path / "README").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", [None, "lost+found", "images", "volumes", "nodes"])
def test_empty_file_system_becomes_a_data_directory(tmp_path: Path, name: str | None) -> None:
    """Its own folders may be there, with file systems of their own."""
    if name:
        (tmp_path / name).mkdir()
    DataDirectory(tmp_path).create()
    assert (tmp_path / "pki").is_dir()


def test_settings_are_remembered_and_damage_is_survived(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    assert directory.settings() == ClusterSettings()
    directory.remember(ClusterSettings(port=7001, runtime="sim", nodes=3))
    assert directory.settings() == ClusterSettings(port=7001, runtime="sim", nodes=3)
    for damaged in ("{", '{"cluster_cidr": "10.88.0.0"}'):
        (tmp_path / "cluster.json").write_text(damaged)
        assert directory.settings() == ClusterSettings()


def test_a_place_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryUnusable, match=r"cannot use data directory .*file/data: .*--data-dir"):
        DataDirectory(tmp_path / "file" / "data").create()


def test_clusters_have_different_ids() -> None:
    assert DataDirectory(Path("/a")).id != DataDirectory(Path("/b")).id
    assert DataDirectory(Path("/a/../b")).id == DataDirectory(Path("/a/../b")).id


def ran_before(path: Path) -> DataDirectory:
    directory = DataDirectory(path)
    directory.create()
    directory.remember(ClusterSettings(port=7001, runtime="sim"))
    directory.store.write_bytes(b"store")
    return directory


def test_new_directory_needs_no_store(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    directory.check_store()


def test_missing_or_empty_store_of_a_cluster_is_refused(tmp_path: Path) -> None:
    directory = ran_before(tmp_path)
    directory.check_store()
    directory.store.write_bytes(b"")
    with pytest.raises(DirectoryUnusable, match=r"store\.db is empty, but a cluster ran in .*--new-store"):
        directory.check_store()
    directory.store.unlink()
    with pytest.raises(DirectoryUnusable, match=r"store\.db is missing, .* restore it from a backup"):
        directory.check_store()


def test_nodes_show_that_a_cluster_ran(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    (directory.node("one") / "oci").mkdir(parents=True)
    directory.check_store()  # a file system for records to come may be mounted there
    (directory.node("one") / "oci" / "containers").mkdir()
    with pytest.raises(DirectoryUnusable, match="is missing"):
        directory.check_store()
    assert directory.settings().runtime == "oci", "'podling down' must end the containers"


def test_retired_stores_are_kept(tmp_path: Path) -> None:
    directory = ran_before(tmp_path)
    directory.store.with_name("store.db-wal").write_bytes(b"log")
    directory.store.with_name("store.db.lock").write_bytes(b"")
    first = directory.retire_store()
    assert first is not None
    assert {file.name: file.read_bytes() for file in first.iterdir()} == {
        "store.db": b"store",
        "store.db-wal": b"log",
    }
    assert directory.retire_store() is None
    directory.store.write_bytes(b"second")
    second = directory.retire_store()
    assert second is not None
    assert second != first
    assert (second / "store.db").read_bytes() == b"second"
