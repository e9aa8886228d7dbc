"""Steps before a data directory is used at another place than last time.

A moved directory keeps its identity; its containers are ended, because mounts and logs of the running ones
lead to the old place, and the pods start again. A copied directory gets an identity of its own, and drops the
records of containers that it did not create. In both, volumes of claims are found at the new place.

The identity is written last, so that a crash in between repeats all of it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from podling import ids
from podling.api.core_v1 import PersistentVolume
from podling.apiserver.registry.objects import object_of, problem, with_revision
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.cluster.identity import FILE, Identity, Place, Standing
from podling.cluster.local_nodes import end_all_containers
from podling.controllers.volumes.directory_provisioner import PROVISIONER
from podling.controllers.volumes.volume_migration import PROVISIONED_BY
from podling.files.trees import remove_tree
from podling.machinery.encoding import codec
from podling.store.base import Store
from podling.store.sqlite import SqliteStore

GRACE_SECONDS = 10.0
VOLUMES_PREFIX = "/registry/persistentvolumes/"


NEW_IDENTITY = "new"
"""Said of a directory whose identity is lost: it is a copy."""


async def settle(directory: DataDirectory, said: str = "") -> str:
    """Make a locked directory usable where it is; return what was done, for people.

    Args:
        said: where the identity is lost, the identity that the directory has, or ``NEW_IDENTITY``.

    Raises ``RuntimeFailure``, ``StoreError``, ``DirectoryUnusable`` or ``OSError``.
    """
    found = directory.standing()
    if found is Standing.SAME:
        return ""
    if found is Standing.NEW and (before := directory.settings().identity):
        return _replace_lost_identity(directory, before, said)
    recorded, here = directory.identity(), Place.of(directory.path)
    own = directory.id if found is Standing.MOVED else ids.hex_id(8)
    done = ""
    if recorded is None:
        own = directory.id if directory.store.exists() else own
    else:
        done = await _relocate(directory, recorded, found)
    directory.remember_identity(Identity(id=own, place=here))
    return done


def _replace_lost_identity(directory: DataDirectory, before: str, said: str) -> str:
    """Give a directory whose identity is lost the one that is ``said``.

    Guessing would either leave the cluster's containers behind, or end those of the cluster that this is a
    copy of.
    """
    if said not in (before, NEW_IDENTITY):
        raise DirectoryUnusable(
            f"{directory.path / FILE} is missing: restore it from a backup, or say whether this is cluster "
            f"{before} itself ('podling up --identity {before}') or a copy ('--identity {NEW_IDENTITY}')"
        )
    own = said
    if said == NEW_IDENTITY:
        forget_containers(directory)
        own = ids.hex_id(8)
    directory.remember_identity(Identity(id=own, place=Place.of(directory.path)))
    return f"is cluster {own}"


async def _relocate(directory: DataDirectory, recorded: Identity, found: Standing) -> str:
    before = recorded.place.path
    if found is Standing.MOVED:
        ended = await end_all_containers(directory, GRACE_SECONDS)
        done = f"moved from {before}; stopped its {ended} pods"
    else:
        forget_containers(directory)
        done = f"copied from {before}; runs beside it"
    if directory.store.exists():
        store = SqliteStore(directory.store)
        try:
            await move_volumes(store, Path(before), directory.path)
        finally:
            await store.close()
    return done


def forget_containers(directory: DataDirectory) -> None:
    """Remove the records of containers that another directory runs; nothing outside is touched."""
    for name in directory.node_names():
        for runtime in ("oci", "process"):
            for part in ("containers", "sandboxes"):
                remove_tree(directory.node(name) / runtime / part)
    holders = directory.images / "holders"
    for holder in holders.iterdir() if holders.is_dir() else ():
        holder.unlink()


async def move_volumes(store: Store, before: Path, now: Path) -> None:
    """Let the volumes that were made for claims name their directories below ``now``.

    Written past the API server, which refuses every change of a volume's source.
    """
    for entry in (await store.list(VOLUMES_PREFIX)).entries:
        if problem(entry, PersistentVolume):
            continue  # the start of the cluster reports it
        volume = moved_volume(object_of(entry, PersistentVolume), before, now)
        if volume is not None:
            await store.put(
                entry.key,
                lambda revision, volume=volume: codec.encode(with_revision(volume, revision)),  # type: ignore[misc]
                expect=entry.revision,
            )


def moved_volume(volume: PersistentVolume, before: Path, now: Path) -> PersistentVolume | None:
    """Return the volume with its new path; ``None`` for one that stays as it is."""
    source = volume.spec.host_path
    if source is None or volume.metadata.annotations.get(PROVISIONED_BY) != PROVISIONER:
        return None
    path = Path(source.path)
    if not path.is_relative_to(before):
        return None
    moved = structs.replace(source, path=str(now / path.relative_to(before)))
    return structs.replace(volume, spec=structs.replace(volume.spec, host_path=moved))
