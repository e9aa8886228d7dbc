"""Images of the process runtime, which runs none: every name is valid, and nothing is fetched.

``podling.local/host`` is the machine itself. With any other name, too, the container finds the machine's
files. A loaded archive adds its image's defaults (entrypoint, environment, working directory, stop signal),
read from its configuration alone. So the store is one small file and needs no root, unlike unpacked layers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from podling.runtime.base import Credentials, Image, ImageFailure, NotFound
from podling.runtime.images.image_names import image_id, parse
from podling.runtime.images.records import Catalog, ImageRecord, add, as_image, named, remove
from podling.runtime.platform import architecture
from podling.runtime.process.plan import Defaults
from podling.runtime.process.records import load, save

HOST_IMAGE = "podling.local/host:latest"


class NamedImages:
    """``ImageService`` of names and configurations, kept in the file ``catalog``."""

    def __init__(self, catalog: Path) -> None:
        self._catalog = catalog
        self._records: dict[str, ImageRecord] | None = None

    async def image_status(self, name: str) -> Image | None:
        record = self._find(name)
        if record is None:
            return None
        local = not image_id(name) and parse(name).full in record.loaded
        return dataclasses.replace(as_image(record), local=local)

    async def pull(self, name: str, credentials: Sequence[Credentials] = (), *, platform: str = "") -> Image:
        """Takes the name; nothing is fetched."""
        record = self._find(name)
        if record is None:
            record = _named_record(parse(name).full)
            self._save(add(self._loaded(), record))
        return as_image(record)

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]:
        tags = tuple(parse(name).full for name in names)
        found = await asyncio.to_thread(_read_archive, archive)
        if tags and len(found) != 1:
            raise ImageFailure(f"{archive} holds {len(found)} images, not one to rename")
        loaded = [replace(record, tags=tags, loaded=tags) for record in found] if tags else found
        for record in loaded:
            self._save(add(self._loaded(), record))
        return tuple(as_image(self._loaded()[record.id]) for record in loaded)

    async def list_images(self) -> tuple[Image, ...]:
        return tuple(as_image(record) for record in self._loaded().values())

    async def remove_image(self, name: str) -> None:
        record = self._find(name)
        if record is None:
            raise NotFound(f'image "{name}" not found')
        if record.pinned:
            raise ImageFailure(f"{HOST_IMAGE} is the machine itself and cannot be removed")
        self._save(remove(self._loaded(), record.id, "" if image_id(name) else parse(name).full))

    def of(self, id_: str) -> Image:
        """Return the image with this id. Raises ``NotFound``."""
        record = self._loaded().get(id_)
        if record is None:
            raise NotFound(f'image "{id_}" not found')
        return as_image(record)

    def defaults(self, id_: str) -> Defaults:
        """Return the image's defaults, as far as an archive stated them."""
        config = self._loaded()[id_].config
        pairs = (variable.partition("=") for variable in config.env or ())
        return Defaults(
            entrypoint=tuple(config.entrypoint or ()),
            command=tuple(config.cmd or ()),
            environment=tuple((name, text) for name, _, text in pairs),
            working_dir=config.working_dir or "",
            user=config.user or "",
        )

    def _find(self, name: str) -> ImageRecord | None:
        if wanted := image_id(name):
            return self._loaded().get(wanted)
        return named(self._loaded(), parse(name).full)

    def _loaded(self) -> dict[str, ImageRecord]:
        if self._records is None:
            kept = load(self._catalog, Catalog)
            host = replace(_named_record(HOST_IMAGE), pinned=True, loaded=(HOST_IMAGE,))
            self._records = {record.id: record for record in (host, *(kept.images if kept else ()))}
        return self._records

    def _save(self, records: dict[str, ImageRecord]) -> None:
        self._records = records
        save(self._catalog, Catalog(images=tuple(record for record in records.values() if not record.pinned)))


def _named_record(full: str) -> ImageRecord:
    """Return an image of which only the name is known; its id is made from that."""
    digest = "sha256:" + hashlib.sha256(full.encode()).hexdigest()
    return ImageRecord(id=digest, tags=() if "@" in full else (full,), digests=(full,) if "@" in full else ())


def _read_archive(archive: Path) -> list[ImageRecord]:
    """Return the images of an archive without their layers. Raises ``ImageFailure``."""
    from podling.runtime.images import image_documents
    from podling.runtime.images.archive import opened

    wanted = image_documents.Platform(os="linux", architecture=architecture())
    with tempfile.TemporaryDirectory() as scratch, opened(archive, wanted, Path(scratch)) as images:
        return [
            ImageRecord(
                id=image_documents.digest(found.configuration),
                tags=found.names,
                loaded=found.names,
                config=found.document.config or image_documents.RunConfig(),
                architecture=found.document.architecture,
                os=found.document.os,
            )
            for found in images
        ]
