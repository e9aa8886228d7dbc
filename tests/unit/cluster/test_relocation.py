"""Data directories that are found at another place than last time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podling.api.core_v1 import HostPathVolumeSource, PersistentVolume, PersistentVolumeSpec
from podling.api.meta_v1 import ObjectMeta
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.cluster.identity import FILE, Standing
from podling.cluster.local_nodes import end_all_containers
from podling.cluster.relocation import NEW_IDENTITY, VOLUMES_PREFIX, moved_volume, settle
from podling.controllers.volumes.directory_provisioner import PROVISIONER
from podling.machinery.encoding import codec
from podling.store.sqlite import SqliteStore

real_loop = pytest.mark.asyncio(loop_factories=["real"])


def volume(path: str, provisioner: str = PROVISIONER) -> PersistentVolume:
    return PersistentVolume(
        metadata=ObjectMeta(name="pvc-1", annotations={"pv.kubernetes.io/provisioned-by": provisioner}),
        spec=PersistentVolumeSpec(host_path=HostPathVolumeSource(path=path, type="Directory")),
    )


def test_volume_below_the_old_place_moves_along() -> None:
    moved = moved_volume(volume("/old/volumes/pvc-1"), Path("/old"), Path("/new/place"))
    assert moved is not None
    assert moved.spec.host_path == HostPathVolumeSource(path="/new/place/volumes/pvc-1", type="Directory")


@pytest.mark.parametrize(
    "other",
    [
        volume("/older/volumes/pvc-1"),
        volume("/srv/data"),
        volume("/old/volumes/pvc-1", "example.com/other"),
        PersistentVolume(metadata=ObjectMeta(name="nfs")),
    ],
)
def test_other_volumes_stay(other: PersistentVolume) -> None:
    assert moved_volume(other, Path("/old"), Path("/new")) is None


async def made(path: Path) -> DataDirectory:
    """Return a directory as a run leaves it, with one volume and the records of a container."""
    directory = DataDirectory(path)
    directory.create()
    await settle(directory)
    directory.remember(ClusterSettings(runtime="process"))
    store = SqliteStore(directory.store)
    own = volume(str(directory.path / "volumes" / "pvc-1"))
    await store.put(f"{VOLUMES_PREFIX}pvc-1", lambda revision: codec.encode(own), expect=0)
    await store.close()
    for runtime in ("oci", "process"):
        (directory.node("one") / runtime / "containers" / "abc").mkdir(parents=True)
    (directory.images / "holders").mkdir(parents=True)
    (directory.images / "holders" / "abc").write_text("{}")
    return directory


async def volume_path(directory: DataDirectory) -> str:
    store = SqliteStore(directory.store)
    entry = await store.get(f"{VOLUMES_PREFIX}pvc-1")
    await store.close()
    assert entry is not None
    source = codec.decode(entry.value, PersistentVolume).spec.host_path
    assert source is not None
    return source.path


@real_loop
async def test_copy_gets_an_identity_and_volumes_of_its_own_and_forgets_containers(tmp_path: Path) -> None:
    original = await made(tmp_path / "original")
    copy = DataDirectory(Path(shutil.copytree(original.path, tmp_path / "copy")))
    assert copy.standing() is Standing.COPIED
    assert await end_all_containers(copy, 0) == 0, "'podling down' of a copy ends nothing"
    assert "copied from" in await settle(copy)
    assert copy.standing() is Standing.SAME
    assert copy.id != original.id
    assert not list(copy.path.glob("nodes/*/*/containers/*"))
    assert not list((copy.images / "holders").iterdir())
    assert await volume_path(copy) == f"{copy.path}/volumes/pvc-1"
    assert original.standing() is Standing.SAME
    assert await volume_path(original) == f"{original.path}/volumes/pvc-1"
    assert await settle(copy) == ""


@real_loop
async def test_moved_directory_keeps_its_identity_and_finds_its_volumes(tmp_path: Path) -> None:
    original = await made(tmp_path / "original")
    identity = original.id
    moved = DataDirectory(original.path.rename(tmp_path / "moved"))
    assert "moved from" in await settle(moved)
    assert (moved.id, moved.standing()) == (identity, Standing.SAME)
    assert await volume_path(moved) == f"{moved.path}/volumes/pvc-1"


@real_loop
async def test_two_new_directories_at_one_place_have_different_identities(tmp_path: Path) -> None:
    first = await made(tmp_path / "place")
    first.path.rename(tmp_path / "aside")
    second = await made(tmp_path / "place")
    assert second.id != DataDirectory(tmp_path / "aside").id


@real_loop
async def test_lost_identity_is_not_guessed(tmp_path: Path) -> None:
    directory = await made(tmp_path / "place")
    own = directory.id
    directory.remember(ClusterSettings(runtime="sim", identity=own))
    (directory.path / FILE).unlink()
    with pytest.raises(
        DirectoryUnusable, match=f"identity.json is missing: .*--identity {own}.*--identity new"
    ):
        await settle(directory)
    with pytest.raises(DirectoryUnusable, match="is missing"):
        await settle(directory, "another")
    await settle(directory, own)
    assert (directory.id, directory.standing()) == (own, Standing.SAME)
    assert list(directory.path.glob("nodes/*/*/containers/*"))


@real_loop
async def test_lost_identity_of_a_copy_is_made_anew(tmp_path: Path) -> None:
    directory = await made(tmp_path / "place")
    own = directory.id
    directory.remember(ClusterSettings(runtime="sim", identity=own))
    (directory.path / FILE).unlink()
    await settle(directory, NEW_IDENTITY)
    assert directory.id != own
    assert not list(directory.path.glob("nodes/*/*/containers/*"))
