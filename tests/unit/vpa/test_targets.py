"""The controllers that autoscalers target: selectors, and the topmost of a chain of owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podling.api.autoscaling_v1 import CrossVersionObjectReference
from podling.client.base import ApiObject
from podling.machinery.encoding import codec
from podling_vpa.targets import CYCLE, WELL_KNOWN, Controller, NoScale, NoTarget, Targets
from tests.support.vertical_autoscalers import pod


def owner(kind: str, name: str, api_version: str = "apps/v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": True}


def made(kind: str, name: str, *owners: dict[str, Any]) -> ApiObject:
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": name}}}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": {"template": {"metadata": {"labels": {"app": name}}}}}}
    if kind == "ReplicationController":
        spec = {"selector": {"app": name}}
    metadata = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    found: ApiObject = codec.from_plain({"metadata": metadata, "spec": spec}, WELL_KNOWN[kind])
    return found


class Controllers:
    """Controllers of one namespace, and the selectors in the scales of custom ones, by name."""

    def __init__(self, *found: ApiObject, scales: Mapping[str, str] | None = None) -> None:
        self._found = {(type(each), each.metadata.name): each for each in found}
        self._scales = scales or {}

    def get(self, type_: type[Any], name: str, namespace: str) -> ApiObject | None:
        return self._found.get((type_, name))

    async def scale_selector(self, group: str, kind: str, name: str, namespace: str) -> str:
        if name not in self._scales:
            raise NoScale(f'no matches for kind "{kind}" in group "{group}"', is_missing=False)
        return self._scales[name]


def reference(kind: str, name: str, api_version: str = "apps/v1") -> CrossVersionObjectReference:
    return CrossVersionObjectReference(kind=kind, name=name, api_version=api_version)


@pytest.mark.parametrize("kind", sorted(WELL_KNOWN))
async def test_selector_of_a_well_known_controller_is_in_its_spec(kind: str) -> None:
    targets = Targets(Controllers(made(kind, "web")))
    assert str(await targets.selector("default", reference(kind, "web"))) == "app=web"


async def test_selector_of_any_other_controller_is_in_its_scale() -> None:
    targets = Targets(Controllers(scales={"one": "app=one", "two": ""}))
    of = reference("Widget", "one", "example.com/v1")
    assert str(await targets.selector("default", of)) == "app=one"
    with pytest.raises(NoTarget, match="has an empty selector for scale sub-resource"):
        await targets.selector("default", reference("Widget", "two", "example.com/v1"))
    with pytest.raises(
        NoTarget, match=r"unhandled targetRef example\.com/v1 / Widget / three, last error no"
    ):
        await targets.selector("default", reference("Widget", "three", "example.com/v1"))


async def test_topmost_controller_of_a_pod() -> None:
    chain = (made("ReplicaSet", "web-1", owner("Deployment", "web")), made("Deployment", "web"))
    targets = Targets(Controllers(*chain))
    found = await targets.controller_of_pod(pod(owner=owner("ReplicaSet", "web-1")), "default")
    assert found == Controller("default", "Deployment", "web", "apps/v1")
    assert await targets.controller_of_pod(pod(owner=None), "default") is None
    assert await targets.controller_of_pod(pod(owner=owner("Node", "n", "v1")), "default") is None


async def test_custom_owner_with_a_scale_is_the_topmost() -> None:
    below = made("Deployment", "web", owner("Widget", "one", "example.com/v1"))
    targets = Targets(Controllers(below, scales={"one": "app=one"}))
    text = await targets.unsupported("default", reference("Deployment", "web"))
    assert text == (
        "The target apps/v1.Deployment/web has a parent controller but it should point to a topmost "
        "well-known or scalable controller"
    )
    assert await targets.unsupported("default", reference("Widget", "one", "example.com/v1")) == ""


async def test_cycle_of_owners_is_an_error() -> None:
    first = made("ReplicaSet", "a", owner("ReplicaSet", "b"))
    second = made("ReplicaSet", "b", owner("ReplicaSet", "a"))
    targets = Targets(Controllers(first, second))
    with pytest.raises(NoTarget, match=CYCLE):
        await targets.topmost(Controller("default", "ReplicaSet", "a", "apps/v1"))
