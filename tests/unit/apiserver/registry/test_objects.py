"""Objects in the store: encoded with their revision, decoded at most once."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.objects import (
    Stored,
    Writing,
    entry_of,
    lacks_object,
    object_of,
    problem,
    stored,
    viewed,
)
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.store.base import Entry
from podling.store.large_values import LARGE_BYTES

OBJECT = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", resource_version="3"), data={"k": "v"})
KEY = "/registry/configmaps/default/a"


def read_entry(value: bytes) -> Entry:
    """Return an entry as it is read back from disk, without a memo."""
    return Entry(KEY, value, 7, 1)


def test_written_object_carries_its_new_revision() -> None:
    writing = Writing(OBJECT)
    plain = codec.decode(writing.encode(7), ConfigMap)
    assert plain.metadata.resource_version == "7"
    assert writing.memo.object == plain
    assert OBJECT.metadata.resource_version == "3"


def test_entry_is_decoded_once() -> None:
    entry = read_entry(codec.encode(OBJECT))
    found = object_of(entry, ConfigMap)
    assert found == OBJECT
    assert object_of(entry, ConfigMap) is found
    assert stored(entry, ConfigMap).object is found


def test_object_of_a_memo_is_not_decoded() -> None:
    entry = Entry(KEY, b"not read", 7, 1, Stored(OBJECT))
    assert object_of(entry, ConfigMap) is OBJECT


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b'{"data": 5}'])
def test_damaged_value_is_an_internal_error(value: bytes) -> None:
    entry = read_entry(value)
    assert problem(entry, ConfigMap)
    with pytest.raises(ApiError) as error:
        object_of(entry, ConfigMap)
    assert error.value.code == 500
    assert KEY in str(error.value)


def test_sound_value_is_no_problem() -> None:
    assert problem(read_entry(codec.encode(OBJECT)), ConfigMap) == ""


def test_entry_of_an_object_has_its_revision_and_value() -> None:
    entry = entry_of(OBJECT)
    assert entry.revision == 3
    assert codec.decode(entry.value, ConfigMap) == OBJECT
    assert object_of(entry, ConfigMap) is OBJECT
    assert entry_of(ConfigMap()).revision == 0


LARGE = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"k": "v" * LARGE_BYTES})


def test_object_of_a_large_value_is_not_kept_by_a_view() -> None:
    entry = read_entry(codec.encode(LARGE))
    assert lacks_object(entry)
    assert viewed(entry, ConfigMap) == LARGE
    assert stored(entry, ConfigMap).object is None, "it is known to be readable"
    assert lacks_object(entry)
    assert object_of(entry, ConfigMap) == LARGE
    assert viewed(entry, ConfigMap) is object_of(entry, ConfigMap), "a watch has left it there"
    assert not lacks_object(entry)


def test_object_of_a_small_value_is_kept_by_a_view() -> None:
    entry = read_entry(codec.encode(OBJECT))
    assert viewed(entry, ConfigMap) is viewed(entry, ConfigMap)
    assert not lacks_object(entry)
