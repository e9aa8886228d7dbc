"""Records of the image store, and the rules over them. Pure: tags move, the last name takes the image.

One small JSON file holds every record; it is replaced whole and atomically, after the layers it names
are in place. Layers on disk without a record are leftovers of an interrupted pull and are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling.runtime.base import Image
from podling.runtime.images.image_documents import RunConfig


class ImageRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One image. ``layers`` are diff ids, lowest first."""

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    size_bytes: int = 0
    architecture: str = ""
    os: str = "linux"
    config: RunConfig = RunConfig()
    pinned: bool = False
    loaded: tuple[str, ...] = ()
    """Those of ``tags`` that an archive gave, not a registry."""
    binds: tuple[str, ...] = ()
    """Directories of the machine that show through, read-only (the built-in image's ``/usr``)."""


class Catalog(Struct, frozen=True, kw_only=True):
    """The file's content."""

    images: tuple[ImageRecord, ...] = ()


class Hold(Struct, frozen=True, kw_only=True):
    """Layers that a container uses, which stay even if the image is deleted."""

    image: str
    layers: tuple[str, ...] = ()


class ImageContent(Struct, frozen=True, kw_only=True):
    """The files and defaults of an image: ``layers`` are read-only directories, lowest first."""

    id: str
    ref: str
    """The value of ``imageID``: a repository digest if present, else the id."""
    layers: tuple[Path, ...]
    config: RunConfig
    architecture: str
    os: str
    binds: tuple[str, ...] = ()


def as_image(record: ImageRecord) -> Image:
    """Return the record as the runtime protocol shows it."""
    return Image(
        id=record.id,
        tags=record.tags,
        digests=record.digests,
        size_bytes=record.size_bytes,
        user=record.config.user or "",
        stop_signal=record.config.stop_signal or "",
        volumes=tuple(sorted(record.config.volumes or ())),
        pinned=record.pinned,
    )


def named(records: Mapping[str, ImageRecord], full: str) -> ImageRecord | None:
    """Return the image that has the full name ``full``, as a tag or with a digest."""
    return next(
        (record for record in records.values() if full in record.tags or full in record.digests), None
    )


def add(records: Mapping[str, ImageRecord], new: ImageRecord) -> dict[str, ImageRecord]:
    """Return the records with ``new``: its tags leave the images that had them, its names join those it had.

    An image that loses its last name stays, nameless, until it is removed by id: containers may use it.
    """
    result = {
        id_: replace(record, tags=_without(record.tags, new.tags), loaded=_without(record.loaded, new.tags))
        for id_, record in records.items()
    }
    before = result.get(new.id)
    if before is not None:
        new = replace(
            new,
            tags=_union(before.tags, new.tags),
            digests=_union(before.digests, new.digests),
            loaded=_union(before.loaded, new.loaded),
        )
    result[new.id] = new
    return result


def remove(records: Mapping[str, ImageRecord], image_id: str, full: str) -> dict[str, ImageRecord]:
    """Return the records without the name ``full``; without the image, if that was its last tag.

    An empty ``full`` removes the image with all its names.
    """
    record = records[image_id]
    tags = tuple(tag for tag in record.tags if tag != full)
    digests = tuple(digest for digest in record.digests if digest != full)
    result = dict(records)
    if full and (tags or (full not in record.tags and digests)):
        repositories = {tag.rpartition(":")[0] for tag in tags}
        if full in record.tags:
            digests = tuple(digest for digest in digests if digest.partition("@")[0] in repositories)
        result[image_id] = replace(
            record, tags=tags, digests=digests, loaded=_without(record.loaded, (full,))
        )
    else:
        del result[image_id]
    return result


def live_layers(records: Iterable[ImageRecord], holds: Iterable[Hold]) -> set[str]:
    """Return every layer that something still needs."""
    kept = {layer for record in records for layer in record.layers}
    return kept.union(*(hold.layers for hold in holds))


def _without(names: tuple[str, ...], gone: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in gone)


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
