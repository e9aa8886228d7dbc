"""Stored objects as the bytes of an answer: lists, tables, metadata, watch events.

Store entries already hold their object's JSON, so most answers are those bytes inside an envelope. Computed
forms (metadata alone) are cached in the entry. Long lists are made in pieces, so that other requests are
served in between and no answer is held in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from podling import turns
from podling.api.meta_v1 import ListMeta, ObjectMeta
from podling.apiserver.http.negotiation import META_VERSIONS, Form
from podling.apiserver.kinds.common.base import KindRules, RowCondition
from podling.apiserver.registry.objects import stored, viewed
from podling.client.base import WatchEventType
from podling.machinery import tables
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource
from podling.machinery.tables import Column
from podling.store.base import Entry
from podling.store.large_values import LARGE_BYTES

ITEMS_AT_ONCE = 500
"""Items of a list that are made in one piece."""
ROWS_AT_ONCE = 200
"""The same for tables, whose rows are computed at every list."""
CUSTOM_ROWS_AT_ONCE = 50
"""The same for tables of custom resources, whose cells are found by JSONPath."""
PIECE_BYTES = turns.TURN_BYTES
"""About how large the objects of a piece are together."""

_EVENT_HEADS = {each: f'{{"type":"{each.value}","object":'.encode() for each in WatchEventType}


class _Metadata(Struct, frozen=True, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())


class Renderer(Struct, frozen=True):
    """Makes answers about one kind. ``include_object``: None, Metadata or Object, for tables."""

    resource: Resource
    rules: KindRules[Any]
    form: Form = Form.OBJECT
    include_object: str = "Metadata"
    version: str = META_VERSIONS[0]

    @property
    def columns(self) -> Sequence[Column]:
        return self.rules.columns or tables.DEFAULT_COLUMNS

    def one(self, entry: Entry, now: datetime) -> bytes:
        """Return a single object."""
        if self.form is Form.OBJECT:
            return entry.value
        if self.form is Form.TABLE:
            revision = ListMeta(resource_version=str(entry.revision))
            return self._table([self._row(entry, now)], revision, with_columns=True)
        return self._partial(entry)

    def size_of(self, entries: Sequence[Entry]) -> int:
        """Return the size of ``entries`` in bytes; more than that of a piece if they need several."""
        if len(entries) > self._at_once:
            return PIECE_BYTES + 1
        return sum([len(entry.value) for entry in entries])

    def pieces(
        self, entries: Sequence[Entry], metadata: ListMeta, now: datetime, size: int
    ) -> Iterator[bytes]:
        """Yield a list of objects, piece by piece, each of which should wait for its turn of the loop.

        ``size`` is ``size_of(entries)``: there is one piece if it is at most ``PIECE_BYTES``.
        """
        head, tail = self._around(metadata)
        if self.form is Form.TABLE:
            entries = self._in_order(entries)
        if not entries:
            yield head + tail
        start = 0
        for part in _parts(entries, self._at_once) if size > PIECE_BYTES else filter(None, (entries,)):
            block = self._items(part, now)
            block[0] = (b"," if start else head) + block[0]
            start += len(part)
            if start == len(entries):
                block[-1] += tail
            yield b",".join(block)

    @property
    def _at_once(self) -> int:
        if self.form is not Form.TABLE:
            return ITEMS_AT_ONCE
        return CUSTOM_ROWS_AT_ONCE if isinstance(self.resource, CustomResource) else ROWS_AT_ONCE

    def _in_order(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The rows of some kinds are sorted by what they say, page by page."""
        kind = self.resource.storage_resource.type
        if not entries or self.rules.row_order(viewed(entries[0], kind)) is None:
            return entries
        return sorted(entries, key=lambda entry: self.rules.row_order(viewed(entry, kind)))

    def _items(self, entries: Sequence[Entry], now: datetime) -> list[bytes]:
        if self.form is Form.TABLE:
            return [self._row(entry, now) for entry in entries]
        if self.form is not Form.OBJECT:
            return [self._partial(entry) for entry in entries]
        if isinstance(self.resource, CustomResource):
            return [entry.value for entry in entries]
        return [
            (memo is not None and memo.item_bytes) or self._item(entry)
            for entry in entries
            for memo in (entry.memo,)
        ]

    def _item(self, entry: Entry) -> bytes:
        """Return an object as lists have it. Of built-in kinds the list alone says what they are."""
        memo, value = stored(entry, self.resource.storage_resource.type), entry.value
        head = f'{{"apiVersion":"{self.resource.group_version}","kind":"{self.resource.kind}",'.encode()
        item = b"{" + value[len(head) :] if value.startswith(head) else _untyped(value)
        if len(value) <= LARGE_BYTES:
            memo.item_bytes = item
        return item

    def _around(self, metadata: ListMeta) -> tuple[bytes, bytes]:
        """Return the bytes before and after the items."""
        if self.form is Form.TABLE:
            return self._table_head(metadata, with_columns=True), b"]}"
        kind, version = self.resource.list_kind, self.resource.group_version
        if self.form is not Form.OBJECT:
            kind, version = "PartialObjectMetadataList", f"{tables.GROUP}/{self.version}"
        head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":'.encode()
        return head + codec.encode(metadata) + b',"items":[', b"]}"

    def event(self, type_: WatchEventType, entry: Entry, now: datetime, *, first: bool) -> bytes:
        """Return a line of a watch. ``first``: only the first table of a watch names the columns."""
        if self.form is Form.OBJECT:
            shown = entry.value
        elif self.form is Form.TABLE:
            revision = ListMeta(resource_version=str(entry.revision))
            rows = [] if type_ is WatchEventType.BOOKMARK else [self._row(entry, now)]
            if type_ is WatchEventType.BOOKMARK:
                rows = [b'{"cells":' + self._no_cells() + b',"object":' + self._partial(entry) + b"}"]
            shown = self._table(rows, revision, with_columns=first)
        else:
            shown = self._partial(entry)
        return b"".join((_EVENT_HEADS[type_], shown, b"}\n"))

    def _no_cells(self) -> bytes:
        return msgspec.json.encode([""] * len(self.columns))

    def _row(self, entry: Entry, now: datetime) -> bytes:
        obj = viewed(entry, self.resource.storage_resource.type)
        cells = self.rules.row(obj, now) if self.rules.columns else tables.default_cells(obj, now)
        parts = [b'{"cells":', msgspec.json.encode(cells)]
        conditions: Sequence[RowCondition] = self.rules.row_conditions(obj)
        if conditions:
            parts += [b',"conditions":', msgspec.json.encode(conditions)]
        if self.include_object == "Object":
            parts += [b',"object":', entry.value]
        elif self.include_object == "Metadata":
            parts += [b',"object":', self._partial(entry)]
        else:
            parts.append(b',"object":null')
        return b"".join([*parts, b"}"])

    def _table(self, rows: Sequence[bytes], metadata: ListMeta, *, with_columns: bool) -> bytes:
        head = self._table_head(metadata, with_columns=with_columns)
        return b"".join([head, b",".join(rows), b"]}"])

    def _table_head(self, metadata: ListMeta, *, with_columns: bool) -> bytes:
        columns = [column.definition() for column in self.columns] if with_columns else None
        return b"".join([
            f'{{"kind":"Table","apiVersion":"{tables.GROUP}/{self.version}","metadata":'.encode(),
            msgspec.json.encode(metadata),
            b',"columnDefinitions":',
            msgspec.json.encode(columns),
            b',"rows":[',
        ])  # fmt: skip

    def _partial(self, entry: Entry) -> bytes:
        kind = self.resource.storage_resource.type
        memo = stored(entry, kind)
        if memo.metadata_bytes is None:
            memo.metadata_bytes = msgspec.json.encode(_Metadata(metadata=viewed(entry, kind).metadata))[1:]
        head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{tables.GROUP}/{self.version}",'
        return head.encode() + memo.metadata_bytes


def _parts(entries: Sequence[Entry], at_once: int) -> Iterator[Sequence[Entry]]:
    """Yield ``entries`` in parts of bounded number and size: rows of tables hold copies of what they show."""
    for first in range(0, len(entries), at_once):
        block = entries[first : first + at_once]
        if sum([len(entry.value) for entry in block]) <= PIECE_BYTES:
            yield block
        else:
            yield from _small_parts(block)


def _small_parts(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    start = size = 0
    for position, entry in enumerate(entries):
        size += len(entry.value)
        if size > PIECE_BYTES and position > start:
            yield entries[start:position]
            start, size = position, len(entry.value)
    yield entries[start:]


def _untyped(value: bytes) -> bytes:
    plain = msgspec.json.decode(value)
    return msgspec.json.encode({name: plain[name] for name in plain if name not in ("apiVersion", "kind")})
