"""Definitions put together: names that follow the kind, one schema around each version's own parts."""

from __future__ import annotations

from podling_kruise.definitions import STATUS_AND_SCALE, definition_of, version_of
from podling_kruise.schemas import TEXT, column, record


def test_names_follow_the_kind() -> None:
    version = version_of("v1", "Things.", record(a=TEXT), record(), [], storage=True)
    found = definition_of("ThingSet", [version], scope="Cluster", short_names=["ts"])
    names = found.spec.names
    assert found.metadata.name == "thingsets.apps.kruise.io"
    assert (names.plural, names.singular, names.kind, names.list_kind, names.short_names) == (
        "thingsets",
        "thingset",
        "ThingSet",
        "ThingSetList",
        ("ts",),
    )
    assert (found.spec.group, found.spec.scope) == ("apps.kruise.io", "Cluster")


def test_version_has_the_parts_that_it_is_given() -> None:
    age = column("AGE", ".metadata.creationTimestamp", kind="date")
    plain = version_of(
        "v1beta1",
        "Things.",
        record(a=TEXT),
        record(b=TEXT),
        [age],
        storage=False,
        subresources=STATUS_AND_SCALE,
    )
    [version] = definition_of("ThingSet", [plain]).spec.versions
    assert (version.name, version.served, version.storage) == ("v1beta1", True, False)
    assert version.subresources is not None
    assert version.subresources.scale is not None
    assert [each.name for each in version.additional_printer_columns] == ["AGE"]
    schema = plain["schema"]["openAPIV3Schema"]
    assert schema["description"] == "Things."
    assert schema["properties"]["spec"] == record(a=TEXT)
    assert schema["properties"]["status"] == record(b=TEXT)
