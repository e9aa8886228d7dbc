"""The objects that tests apply: from files, folders, texts and plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from podling.machinery.encoding import codec

Plain = dict[str, Any]
Source = str | Path | Mapping[str, Any] | Struct | Sequence[Any]
"""A file or folder, a manifest as text, one object, or several of these."""

SUFFIXES = (".yaml", ".yml", ".json")


def documents(source: Source) -> Iterator[Plain]:
    """Yield the objects of a source, in order. Raises ``ValueError`` and ``OSError``."""
    if isinstance(source, Path):
        yield from _of_path(source)
    elif isinstance(source, str):
        yield from _of_text(source, "the manifest") if _is_manifest(source) else _of_path(Path(source))
    elif isinstance(source, Struct):
        yield codec.to_plain(source)
    elif isinstance(source, Mapping):
        yield from _of_object(dict(source), "the manifest")
    else:
        for each in source:
            yield from documents(each)


def _is_manifest(text: str) -> bool:
    return "\n" in text or ":" in text


def _of_path(path: Path) -> Iterator[Plain]:
    if path.is_dir():
        for file in sorted(each for each in path.iterdir() if each.suffix in SUFFIXES):
            yield from _of_path(file)
    else:
        yield from _of_text(path.read_text(), str(path))


def _of_text(text: str, where: str) -> Iterator[Plain]:
    try:
        found = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(f"{where}: error parsing YAML: {' '.join(str(error).split())}") from error
    for each in found:
        if each is not None:
            yield from _of_object(each, where)


def _of_object(plain: Any, where: str) -> Iterator[Plain]:
    if not isinstance(plain, dict):
        raise ValueError(f"{where}: a manifest must be a mapping, found {type(plain).__name__}")
    if str(plain.get("kind", "")).endswith("List") and isinstance(plain.get("items"), list):
        for each in plain["items"]:
            yield from _of_object(each, where)
        return
    missing = [key for key in ("apiVersion", "kind") if not plain.get(key)]
    if missing:
        raise ValueError(f"{where}: {' and '.join(missing)} not set")
    yield plain
