"""Detection of damaged values in the store, and their removal before anything is served.

One damaged value would fail all reads of its kind, and with them the components that need these:
authorisation reads all roles, the scheduler all pods. So a cluster checks its values when it starts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from podling.api.meta_v1 import StatusCause
from podling.apiserver.registry.objects import problem
from podling.machinery import errors
from podling.machinery.scheme import RESOURCES, Resource
from podling.store.base import Entry, Store

REGISTRY = "/registry/"
_NAME_MAX = 255
"""Bytes in the name of a file."""


CORRUPT_MAX = 100
"""A list names so many values that cannot be decoded (apiserver ``corruptObjErrAggregatorFactory``)."""
TOO_MANY = "too many errors, the list is truncated"


class _Metadata(msgspec.Struct):
    name: str


class _AnyObject(msgspec.Struct):
    """The fields of every object. Custom kinds, the types of which are not known yet, need no more."""

    kind: str
    metadata: _Metadata
    api_version: str = msgspec.field(name="apiVersion")


class Undecodable(Struct, frozen=True):
    """A value that is not an object of its kind, and why."""

    entry: Entry
    why: str

    @property
    def key(self) -> str:
        return self.entry.key


async def undecodable(store: Store) -> list[Undecodable]:
    """Return the values in ``store`` that are not objects of their kinds, in the order of their keys."""
    page = await store.list(REGISTRY)
    return list(_found(page.entries))


def check_readable(entries: Iterable[Entry], resource: Resource) -> None:
    """Raise ``ApiError`` 500, with a cause for each of ``entries`` that is not an object of ``resource``."""
    kind = resource.storage_resource.type
    causes: list[StatusCause] = []
    for entry in entries:
        if (why := problem(entry, kind)) and len(causes) == CORRUPT_MAX:
            causes.append(StatusCause(reason="FieldValueTooMany", message=TOO_MANY))
            break
        if why:
            message = errors.storage_error(entry.key, entry.revision, why)
            causes.append(StatusCause(reason="UnexpectedServerResponse", field_=entry.key, message=message))
    if causes:
        raise errors.unreadable_objects(resource.plural, resource.group, causes)


def _found(entries: Iterable[Entry]) -> Iterable[Undecodable]:
    types: dict[str, type[Any] | None] = {}
    prefixes = {each.key_prefix: each for each in RESOURCES}
    for entry in entries:
        collection = _collection(entry.key, prefixes)
        if collection not in types:
            resource = prefixes.get(collection)
            types[collection] = resource.storage_resource.type if resource else None
        kind = types[collection]
        copy = structs.replace(entry)  # what is decoded here need not stay in memory
        if why := problem(copy, kind) if kind else _problem_of_custom(entry):
            yield Undecodable(entry, why)


def _collection(key: str, prefixes: Iterable[str]) -> str:
    """Return the prefix of the keys of a kind: ``/registry/pods/``, ``/registry/apps/deployments/``."""
    first, second, *_ = [*key.removeprefix(REGISTRY).split("/", 2), ""]
    core = f"{REGISTRY}{first}/"
    return core if core in prefixes else f"{core}{second}/"


def _problem_of_custom(entry: Entry) -> str:
    try:
        msgspec.json.decode(entry.value, type=_AnyObject)
    except Exception as error:  # any fault of a damaged value concerns this object alone
        return str(error) or type(error).__name__
    return ""


async def set_aside(store: Store, values: Sequence[Undecodable], folder: Path) -> None:
    """Move values out of ``store``, each into a file of ``folder`` named after its revision and key.

    History ends here, so that no watch begins before this and reads them again. Raises ``OSError`` or
    ``StoreError``; a value that is in no file by then is still in the store.
    """
    for each in values:
        await asyncio.to_thread(_keep, each.entry, folder)
        await store.delete(each.key, expect=each.entry.revision)
    await store.compact(store.revision)


def _keep(entry: Entry, folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{entry.revision}{entry.key.replace('/', '_')}"[:_NAME_MAX]
    with open(folder / name, "wb", opener=_private) as file:
        file.write(entry.value)
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
