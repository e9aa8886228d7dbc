"""The images of one node: the ``ImageService`` of every runtime that uses unpacked layers.

Layout under ``root``::

    catalog.json        every image (``records``), replaced whole
    layers/<diff id>/   unpacked, shared by images, complete from the moment it has this name
    holders/<name>      which layers a container uses
    work/               archives and layers in the making; emptied at start

Invariant: what ``catalog.json`` names is complete on disk. Layers are unpacked under ``work`` and
renamed; a crash leaves only things without a name, which the next start removes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from podling import ids
from podling.files.trees import remove_tree
from podling.runtime.base import Credentials, Image, ImageFailure, NotFound
from podling.runtime.images import archive, image_documents, image_names, pulls, records
from podling.runtime.images.host_image import HOST_IMAGE, build_host_image
from podling.runtime.images.records import Catalog, Hold, ImageContent, ImageRecord
from podling.runtime.images.unpack import unpack
from podling.runtime.oci.threads import in_thread
from podling.runtime.platform import architecture

logger = logging.getLogger(__name__)


class ImageStore:
    """``ImageService`` over a directory. One instance at a time may use a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._records: dict[str, ImageRecord] | None = None
        self._holds: dict[str, Hold] = {}
        self._writing = asyncio.Lock()
        self._unpacking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._opening = threading.Lock()
        self._sweeping = threading.Lock()
        self._wanted: Counter[str] = Counter()
        """Layers of images being taken in, which no record names yet; guarded by ``_sweeping``."""
        self._host_record: ImageRecord | None = None

    # ---- ImageService

    async def image_status(self, name: str) -> Image | None:
        record = self._find(name)
        if record is None:
            return None
        local = not image_names.image_id(name) and image_names.parse(name).full in (
            *record.loaded,
            HOST_IMAGE,
        )
        return replace(records.as_image(record), local=local)

    async def list_images(self) -> tuple[Image, ...]:
        loaded, held = self._loaded(), {hold.image for hold in self._holds.values()}
        return tuple(
            replace(records.as_image(record), in_use=record.id in held) for record in loaded.values()
        )

    async def pull(self, name: str, credentials: Sequence[Credentials] = (), *, platform: str = "") -> Image:
        reference = image_names.parse(name)
        if reference.full == HOST_IMAGE:
            return records.as_image(self._loaded()[self._host().id])
        wanted = image_documents.parse_platform(platform, architecture())
        scratch = self._scratch()
        try:
            remote = await pulls.resolve(reference, credentials, wanted)
            have = self._loaded().get(remote.config_digest)
            tags = () if reference.digest else (reference.full,)
            digests = (reference.at(remote.digest),)
            if have is not None:
                return await self._add(msgspec.structs.replace(have, tags=tags, digests=digests))
            await pulls.fetch(reference, remote, scratch)
            found = await asyncio.to_thread(archive.pulled, scratch, remote.manifest_digest)
            return await self._keep(found, tags, digests)
        except OSError as error:
            raise _no_image(reference.full, error) from error
        finally:
            await asyncio.to_thread(_remove, scratch)

    async def load(self, archive_path: Path, names_: Sequence[str] = ()) -> tuple[Image, ...]:
        tags = tuple(image_names.parse(name).full for name in names_)
        wanted = image_documents.Platform(os="linux", architecture=architecture())
        scratch = self._scratch()
        try:
            with ExitStack() as stack:
                images = await asyncio.to_thread(
                    stack.enter_context, archive.opened(archive_path, wanted, scratch)
                )
                if tags and len(images) != 1:
                    raise ImageFailure(f"{archive_path} holds {len(images)} images, not one to rename")
                return tuple([await self._take_in(found, tags) for found in images])
        except OSError as error:
            raise _no_image(str(archive_path), error) from error
        finally:
            await asyncio.to_thread(_remove, scratch)

    async def remove_image(self, name: str) -> None:
        record = self._find(name)
        if record is None:
            raise NotFound(f"image {name!r} is not here")
        if record.id == self._host().id:
            raise ImageFailure(f"{HOST_IMAGE} is built in and cannot be removed")
        full = "" if image_names.image_id(name) else image_names.parse(name).full
        async with self._writing:
            self._save(records.remove(self._loaded(), record.id, full))
        await in_thread(self._sweep)

    # ---- what runtimes need

    def hold(self, holder: str, image_id: str) -> ImageContent:
        """Keep an image's layers for ``holder`` (a container's id) until ``release``; idempotent.

        Raises ``NotFound``.
        """
        record = self._loaded().get(image_id)
        if record is None:
            raise NotFound(f"image {image_id!r} is not here")
        hold = Hold(image=record.id, layers=record.layers)
        _write(self.root / "holders" / holder, msgspec.json.encode(hold))
        self._holds[holder] = hold
        return self._content(record)

    async def release(self, holder: str) -> None:
        """Give up what ``holder`` holds, also as ``<holder>-<anything>``; layers of an image removed
        meanwhile go with the last hold."""
        records_ = self._loaded()
        given_up = [name for name in self._holds if name == holder or name.startswith(f"{holder}-")]
        holds = [self._holds.pop(name) for name in given_up]
        for name in given_up:
            (self.root / "holders" / name).unlink(missing_ok=True)
        if any(hold.image not in records_ for hold in holds):
            await in_thread(self._sweep)

    def forget_holder(self, holder: str) -> None:
        """Release the layers of ``holder`` in a store that is not open; opening it removes them."""
        for path in (self.root / "holders").glob(f"{holder}*"):
            path.unlink(missing_ok=True)

    def shown_directories(self) -> tuple[str, ...]:
        """Return the machine's directories that the built-in image shows."""
        self._loaded()
        return self._host().binds

    def content(self, image_id: str) -> ImageContent:
        """Return an image's layers and configuration. Raises ``NotFound``."""
        record = self._loaded().get(image_id)
        if record is None:
            raise NotFound(f"image {image_id!r} is not here")
        return self._content(record)

    def _content(self, record: ImageRecord) -> ImageContent:
        return ImageContent(
            id=record.id,
            ref=record.digests[0] if record.digests else record.id,
            layers=tuple(self._layer(layer) for layer in record.layers),
            config=record.config,
            architecture=record.architecture,
            os=record.os,
            binds=record.binds,
        )

    # ---- inside

    def _find(self, name: str) -> ImageRecord | None:
        loaded = self._loaded()
        if id_ := image_names.image_id(name):
            return loaded.get(id_)
        reference = image_names.parse(name)
        if reference.full == HOST_IMAGE:
            return loaded[self._host().id]
        return records.named(loaded, reference.full)

    async def _take_in(self, found: archive.Found, tags: tuple[str, ...]) -> Image:
        own = tuple(image_names.parse(name).full for name in found.names)
        chosen = tags or own
        digests: tuple[str, ...] = ()
        if found.manifest_digest:
            digests = tuple(image_names.parse(tag).at(found.manifest_digest) for tag in chosen)
        return await self._keep(found, chosen, digests, loaded=chosen)

    async def _keep(
        self,
        found: archive.Found,
        tags: tuple[str, ...],
        digests: tuple[str, ...],
        loaded: tuple[str, ...] = (),
    ) -> Image:
        """Unpack an image and record it; its layers are safe from sweeping in between."""
        diff_ids = found.document.rootfs.diff_ids
        with self._sweeping:
            self._wanted.update(diff_ids)
        try:
            record = await self._unpack(found)
            return await self._add(msgspec.structs.replace(record, tags=tags, digests=digests, loaded=loaded))
        finally:
            with self._sweeping:
                self._wanted.subtract(diff_ids)

    async def _add(self, record: ImageRecord) -> Image:
        async with self._writing:
            self._save(records.add(self._loaded(), record))
            return records.as_image(self._loaded()[record.id])

    async def _unpack(self, found: archive.Found) -> ImageRecord:
        """Return every layer that is not here yet; returns the image's record, still nameless."""
        diff_ids = found.document.rootfs.diff_ids
        if len(diff_ids) != len(found.layers):
            raise ImageFailure(
                f"the image is broken: {len(found.layers)} layers, {len(diff_ids)} in its configuration"
            )
        if len(diff_ids) > image_documents.LAYERS_MAX:
            raise ImageFailure(
                f"the image has {len(diff_ids)} layers, and {image_documents.LAYERS_MAX} can be joined"
            )
        size = len(found.configuration)
        for diff_id, open_layer in zip(diff_ids, found.layers, strict=True):
            if image_names.image_id(diff_id) != diff_id:
                raise ImageFailure(f"the image names a layer that is none: {diff_id!r}")
            lock = self._unpacking.setdefault(diff_id, asyncio.Lock())
            async with lock:
                if not self._layer(diff_id).is_dir():
                    await in_thread(partial(self._unpack_layer, diff_id, open_layer))
            size += int((self._layer(diff_id).parent / "size").read_text())
        return ImageRecord(
            id=image_documents.digest(found.configuration),
            layers=tuple(diff_ids),
            size_bytes=size,
            architecture=found.document.architecture,
            os=found.document.os,
            config=found.document.config or image_documents.RunConfig(),
        )

    def _unpack_layer(self, diff_id: str, open_layer: archive.Opener) -> None:
        work = self._scratch()
        try:
            (work / "files").mkdir(mode=0o755)
            with open_layer() as stream:
                actual, size = unpack(stream, work / "files")
            if actual != diff_id:
                raise ImageFailure(f"the image is broken: layer {diff_id} has the content of {actual}")
            (work / "size").write_text(str(size))
            os.chmod(work, 0o700)
            work.rename(self._layer(diff_id).parent)
        finally:
            _remove(work)

    def _layer(self, diff_id: str) -> Path:
        return self.root / "layers" / diff_id.removeprefix("sha256:")[:32] / "files"

    def _scratch(self) -> Path:
        self._loaded()
        path = self.root / "work" / ids.hex_id(16)
        path.mkdir(mode=0o700)
        return path

    async def open(self) -> None:
        """Read the store, and make the built-in image if the machine changed, without blocking the loop.

        Otherwise the first use of the store does so; repeats do nothing.
        """
        await asyncio.to_thread(self._loaded)

    def _loaded(self) -> dict[str, ImageRecord]:
        """Return the records, read from disk on first use."""
        if self._records is None:
            with self._opening:
                if self._records is None:
                    self._records = self._read()
                    self._sweep()
        return self._records

    def _read(self) -> dict[str, ImageRecord]:
        """Return the records on disk, after removing leftovers of an interrupted run."""
        _remove(self.root / "work")
        for name in ("layers", "holders", "work"):
            (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        catalog = Catalog()
        path = self.root / "catalog.json"
        if path.exists():
            try:
                catalog = msgspec.json.decode(path.read_bytes(), type=Catalog)
            except msgspec.MsgspecError as error:
                kept = path.with_name(f"{path.name}.damaged")
                with suppress(OSError):
                    path.replace(kept)
                logger.error("%s is damaged, so all images have to be pulled again: %s", kept, error)
        for file in (self.root / "holders").iterdir():
            try:
                if file.name.startswith("."):
                    raise msgspec.DecodeError("it was never finished")
                self._holds[file.name] = msgspec.json.decode(file.read_bytes(), type=Hold)
            except msgspec.MsgspecError:  # its writer was cut off: the container was never made
                file.unlink()
        host = self._host()
        return {record.id: record for record in (*catalog.images, host)}

    def _host(self) -> ImageRecord:
        if self._host_record is None:
            self._host_record = build_host_image(self.root / "layers")
        return self._host_record

    def _save(self, new: dict[str, ImageRecord]) -> None:
        stored = tuple(record for record in new.values() if not record.pinned)
        _write(self.root / "catalog.json", msgspec.json.encode(Catalog(images=stored)), durable=True)
        self._records = new

    def _sweep(self) -> None:
        """Remove every layer that nothing needs."""
        with self._sweeping:
            live = records.live_layers((self._records or {}).values(), list(self._holds.values()))
            keep = {self._layer(layer).parent.name for layer in live | set(+self._wanted)}
            gone = [entry for entry in _directories(self.root / "layers") if entry.name not in keep]
            moved = [entry.rename(self.root / "work" / f"gone-{ids.hex_id(16)}") for entry in gone]
        for directory in moved:
            _remove(directory)


def _no_image(what: str, error: OSError) -> ImageFailure:
    """Return the failure that users see when the file system does not take an image."""
    return ImageFailure(f'failed to pull and unpack image "{what}": {error.strerror or error}')


def _remove(path: Path) -> None:
    """Remove a tree; what stays is found again at the next start."""
    try:
        remove_tree(path)
    except OSError as error:
        logger.warning("%s was not removed: %s", path, error)


def _directories(path: Path) -> Iterable[Path]:
    return [entry for entry in path.iterdir() if entry.is_dir()]


def _write(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file at once; ``durable``: also when the power fails, which takes a moment."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        # Private from the start. A file that is there already would be written to disk when it is closed.
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)
