"""Entries of managed fields: read, capped, ordered and written."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from podling.machinery.patches import fieldsets
from podling.machinery.patches.managed_entries import (
    ANCIENT_CHANGES,
    APPLY,
    MAX_UPDATE_MANAGERS,
    UPDATE,
    Entry,
    capped,
    entries_in,
    unmanaged,
    unreadable,
    with_entries,
)


def written(**changes: Any) -> dict[str, Any]:
    return {
        "manager": "m",
        "operation": UPDATE,
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
        **changes,
    }


def entry(manager: str, time: str = "", version: str = "v1", operation: str = UPDATE) -> Entry:
    fields = fieldsets.decode({"f:data": {f"f:{manager}": {}}})
    return Entry(manager, operation, version, "", time, fields)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (None, ""),
        ([written(), written(operation=APPLY)], ""),
        ([written(operation="Patch")], "operation must be `Apply` or `Update`"),
        ([written(apiVersion="")], "apiVersion must not be empty"),
        ([written(), written(fieldsType="")], "missing fieldsType in managed fields entry 1"),
        ([written(fieldsType="V2")], 'invalid fieldsType "V2" in managed fields entry 0'),
    ],
)
def test_unreadable_names_the_first_problem(entries: Any, reason: str) -> None:
    assert unreadable(entries) == reason
    assert bool(entries_in(entries)) is (reason == "" and entries is not None)


def test_one_bad_path_makes_all_entries_unreadable() -> None:
    assert entries_in([written(), written(fieldsV1={"x:a": {}})]) == []


def test_untouched_elements_are_kept_as_written() -> None:
    tree: dict[str, Any] = {"f:data": {"f:a": {}}, "f:immutable": {}}
    plain = {"metadata": {"managedFields": [written(fieldsV1=tree)]}}
    (found,) = entries_in(plain["metadata"]["managedFields"], {"f:immutable"})
    assert found.rest == {"f:data": {"f:a": {}}}
    assert fieldsets.encode(found.fields) == {"f:immutable": {}}
    assert with_entries({}, [found]) == plain


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (entry("m"), entry("m", time="2026-01-01T00:00:00Z"), True),
        (entry("m"), entry("m", version="v2"), False),
        (entry("m", operation=APPLY), entry("m", version="v2", operation=APPLY), True),
        (entry("m"), entry("m", operation=APPLY), False),
        (entry("m"), replace(entry("m"), subresource="status"), False),
    ],
)
def test_version_belongs_to_the_identity_of_updaters_only(first: Entry, second: Entry, same: bool) -> None:
    assert (first.identity == second.identity) is same


def test_few_updaters_are_all_kept() -> None:
    entries = [entry(f"m{number}") for number in range(MAX_UPDATE_MANAGERS)]
    entries += [entry(f"a{number}", operation=APPLY) for number in range(5)]
    assert capped(entries) == entries


def test_oldest_updaters_of_a_version_are_joined() -> None:
    entries = [
        entry(f"m{number:02}", time=f"2026-01-01T00:00:{number:02}Z")
        for number in range(MAX_UPDATE_MANAGERS + 2)
    ]
    kept = capped(list(reversed(entries)))
    assert len(kept) == MAX_UPDATE_MANAGERS
    (joined,) = (each for each in kept if each.manager == ANCIENT_CHANGES)
    assert joined.time == entries[2].time
    assert joined.fields == entries[0].fields | entries[1].fields | entries[2].fields
    assert {each.manager for each in kept} == {ANCIENT_CHANGES, *(each.manager for each in entries[3:])}


def test_updaters_of_different_versions_are_not_joined() -> None:
    entries = [entry(f"m{number}", version=f"v{number}") for number in range(MAX_UPDATE_MANAGERS + 3)]
    assert capped(entries) == entries


def test_entries_are_written_in_order_without_empty_ones() -> None:
    entries = [
        entry("b", time="2026-01-02T00:00:00Z"),
        entry("c", time="2026-01-01T00:00:00Z"),
        entry("z", operation=APPLY),
        replace(entry("empty"), fields=frozenset()),
    ]
    found = with_entries({"metadata": {"name": "x", "managedFields": [written()]}}, entries)
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == ["z", "c", "b"]
    assert "time" not in found["metadata"]["managedFields"][0]
    assert found["metadata"]["name"] == "x"


def test_no_entries_leave_no_field() -> None:
    plain = {"metadata": {"name": "x", "managedFields": [written()]}}
    assert with_entries(plain, []) == unmanaged(plain) == {"metadata": {"name": "x"}}
    assert unmanaged({"data": {}}) == {"data": {}}
