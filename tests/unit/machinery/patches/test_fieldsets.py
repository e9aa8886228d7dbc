"""Field ownership: properties that hold for any writes, and managedFields of new objects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api import apps_v1, core_v1
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import DEDUCED
from podling.machinery.encoding.shapes import shape_of
from podling.machinery.patches import fieldsets
from podling.machinery.patches.apply import track_update
from podling.machinery.patches.creations import first_entry
from podling.machinery.patches.field_trees import maker_of
from tests.support.appliers import applied, containers, deployment, writer

SHAPE = shape_of(apps_v1.Deployment)
labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
items = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("xyz")}, optional={"image": st.sampled_from("12")}),
    unique_by=lambda item: item["name"],
    max_size=3,
)


@st.composite
def intents(draw: st.DrawFn) -> dict[str, Any]:
    intent = deployment(draw(st.none() | st.integers(0, 2)))
    if found := draw(labels):
        intent["metadata"]["labels"] = found
    if some := draw(items):
        intent.setdefault("spec", {}).update(containers(*some))
    return intent


@given(intents())
def test_field_sets_survive_being_written(intent: dict[str, Any]) -> None:
    fields = fieldsets.fields_in(intent, SHAPE)
    assert fieldsets.decode(fieldsets.encode(fields)) == fields


@given(intents(), intents())
def test_applied_fields_exist_and_reapplying_changes_nothing(first: Any, second: Any) -> None:
    live = applied(None, first, "you")
    obj = applied(live, second, "me", force=True)
    missing = fieldsets.fields_in(second, SHAPE) - fieldsets.fields_in(obj, SHAPE)
    assert not missing
    assert applied(obj, second, "me", minutes=1) is obj


@given(intents(), intents())
def test_one_applier_alone_sees_exactly_its_last_intent(first: Any, second: Any) -> None:
    obj = applied(applied(None, first, "me"), second, "me")
    found = fieldsets.compare(applied(None, second, "me"), obj, SHAPE)
    assert not (found.added | found.modified)


@given(intents(), intents())
def test_withdrawing_leaves_what_others_own(first: Any, second: Any) -> None:
    alone = applied(None, first, "you")
    obj = applied(applied(alone, second, "me", force=True), deployment(), "me")
    yours = [entry for entry in obj["metadata"].get("managedFields", ()) if entry["manager"] == "you"]
    kept = fieldsets.decode(yours[0]["fieldsV1"]) if yours else fieldsets.NOTHING
    assert kept <= fieldsets.fields_in(obj, SHAPE)
    assert not any(entry["manager"] == "me" for entry in obj["metadata"].get("managedFields", ()))


@given(intents(), intents())
def test_a_write_makes_the_writer_answer_for_every_difference(first: Any, second: Any) -> None:
    old = track_update(None, first, apps_v1.Deployment, writer("you"))
    new = track_update(old, second, apps_v1.Deployment, writer("me"))
    assert {**new, "metadata": {**new["metadata"], "managedFields": None}} == {
        **second,
        "metadata": {**second["metadata"], "managedFields": None},
    }
    with_names = fieldsets.with_named_parents(
        path
        for entry in new["metadata"].get("managedFields", ())
        for path in fieldsets.decode(entry["fieldsV1"])
    )
    nobodys = {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        ("f:metadata", "f:name"),
        ("f:metadata", "f:namespace"),
    }
    assert fieldsets.fields_in(second, SHAPE) - nobodys <= with_names


@given(intents())
def test_the_owner_of_a_new_object_is_found_without_comparing(intent: Any) -> None:
    zero = codec.to_plain(apps_v1.Deployment())
    nothing: dict[str, Any] = {}
    for start in (nothing, zero):
        difference = fieldsets.compare(start, intent, SHAPE)
        everything = fieldsets.encode(difference.added | difference.modified)
        make = maker_of(SHAPE, given=start is zero)
        assert make is not None
        assert make(intent) == everything


@pytest.mark.parametrize(("labels", "shared"), [(3, True), (1_000, False)])
def test_equal_records_are_kept_once_unless_they_are_large(labels: int, shared: bool) -> None:
    obj = deployment(1)
    obj["metadata"]["labels"] = {f"label-{number}": "x" for number in range(labels)}
    first, second = (
        first_entry(codec.from_plain(obj, apps_v1.Deployment), apps_v1.Deployment, writer("me"))
        for _ in range(2)
    )
    assert first is not None
    assert first == second
    assert (first.fields_v1 is second.fields_v1) is shared


def test_a_new_object_whose_items_lack_their_keys_has_no_first_entry() -> None:
    nameless = core_v1.ServiceAccount(secrets=(core_v1.ObjectReference(),))
    assert first_entry(nameless, core_v1.ServiceAccount, writer("me")) is None


@given(intents(), intents(), st.sampled_from(((), ("status",), ("spec",))))
def test_the_first_entry_is_what_any_write_of_a_new_object_records(
    first: Any, second: Any, ignored: tuple[str, ...]
) -> None:
    """Cached entries of earlier objects do not change the result; names have no manager."""
    me = structs.replace(writer("me"), ignored=ignored)
    for intent in (first, second, first, {**second, "metadata": second["metadata"] | {"name": "other"}}):
        new = codec.from_plain(intent, apps_v1.Deployment)
        recorded = track_update(None, codec.to_plain(new), apps_v1.Deployment, me)["metadata"]
        entry = first_entry(new, apps_v1.Deployment, me)
        assert ([] if entry is None else [codec.to_plain(entry)]) == recorded.get("managedFields", [])


def test_structs_that_are_always_there_are_nobodys_doing() -> None:
    """As Kubernetes records it: a dot for maps, for items of lists, and for structs that may be absent."""
    ports = {"name": "a", "image": "1", "resources": {"limits": {"cpu": "1"}}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    obj = deployment(1, **containers(ports), strategy=strategy, selector={"matchLabels": {"a": "b"}})
    obj = obj | {"metadata": obj["metadata"] | {"labels": {"a": "b"}}}
    made = track_update(None, obj, apps_v1.Deployment, writer("me"))
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"a"}': {
                            ".": {},
                            "f:image": {},
                            "f:name": {},
                            "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                        }
                    }
                }
            },
        },
    }


@given(intents(), intents(), intents())
def test_untouched_managed_fields_entries_stay_identical(first: Any, second: Any, third: Any) -> None:
    both = track_update(
        track_update(None, first, apps_v1.Deployment, writer("a")), second, apps_v1.Deployment, writer("b")
    )
    change = {**both, "status": {"replicas": 3}}
    after = track_update(both, change, apps_v1.Deployment, writer("c", subresource="status"))
    ours = [each for each in after["metadata"]["managedFields"] if each["manager"] == "c"]
    assert [each["fieldsV1"] for each in ours] == [{"f:status": {".": {}, "f:replicas": {}}}]
    others = [each for each in after["metadata"]["managedFields"] if each["manager"] != "c"]
    assert others == both["metadata"].get("managedFields", [])
    again = track_update(after, {**after, "spec": third.get("spec", {})}, apps_v1.Deployment, writer("d"))
    assert [each["fieldsV1"] for each in again["metadata"]["managedFields"] if each["manager"] == "c"] == [
        {"f:status": {".": {}, "f:replicas": {}}}
    ]


def test_fields_without_schema_are_owned_by_leaf() -> None:
    make = maker_of(DEDUCED)
    assert make is not None
    assert make({"spec": {"deep": {"down": 1}, "list": [{"a": 1}]}}) == {
        "f:spec": {".": {}, "f:deep": {".": {}, "f:down": {}}, "f:list": {}}
    }
