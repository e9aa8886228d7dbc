"""APIServices: their Available condition, and the resources that servers list."""

from __future__ import annotations

from datetime import timedelta

from podling.api.apiregistration_v1 import APIService
from podling.api.meta_v1 import APIResource, APIResourceList, ObjectMeta
from podling.apiserver.aggregation.api_services import LOCAL, PASSED, resources_of, with_availability
from podling.sim.loop import EPOCH

SERVICE = APIService(metadata=ObjectMeta(name="v1.example.com"))
FAILED = ("False", "FailedDiscoveryCheck", "why")


def test_availability_is_a_condition() -> None:
    (condition,) = with_availability(SERVICE, LOCAL, EPOCH).status.conditions
    assert (condition.type, condition.status, condition.reason) == ("Available", "True", "Local")
    assert condition.message == "Local APIServices are always available"


def test_service_with_the_same_availability_stays_as_it_is() -> None:
    available = with_availability(SERVICE, PASSED, EPOCH)
    assert with_availability(available, PASSED, EPOCH + timedelta(seconds=1)) is available


def test_changed_availability_has_a_new_transition_time() -> None:
    later = EPOCH + timedelta(seconds=1)
    available = with_availability(SERVICE, PASSED, EPOCH)
    (condition,) = with_availability(available, FAILED, later).status.conditions
    assert (condition.status, condition.reason, condition.message) == FAILED
    assert condition.last_transition_time == later


def test_listed_resources_have_their_subresources() -> None:
    widgets = APIResource(
        name="widgets",
        singular_name="widget",
        kind="Widget",
        namespaced=True,
        verbs=("get", "list"),
        short_names=("w",),
        categories=("all",),
    )
    scale = APIResource(
        name="widgets/scale", kind="Scale", group="autoscaling", version="v1", verbs=("get", "update")
    )
    status = APIResource(name="widgets/status", kind="Widget", namespaced=True, verbs=("patch",))
    gears = APIResource(name="gears", kind="Gear", verbs=("get",))
    listed = APIResourceList(group_version="example.com/v2", resources=(scale, widgets, status, gears))
    first, second = resources_of(listed, "example.com", "v2")
    assert (first.group_version, first.plural, first.singular) == ("example.com/v2", "widgets", "widget")
    assert (first.kind, first.namespaced, first.verbs) == ("Widget", True, ("get", "list"))
    assert (first.short_names, first.categories) == (("w",), ("all",))
    parts = {
        name: (part.group, part.version, part.kind, part.verbs) for name, part in first.subresources.items()
    }
    assert parts == {
        "scale": ("autoscaling", "v1", "Scale", ("get", "update")),
        "status": ("example.com", "v2", "Widget", ("patch",)),
    }
    assert (second.plural, second.namespaced, dict(second.subresources)) == ("gears", False, {})
