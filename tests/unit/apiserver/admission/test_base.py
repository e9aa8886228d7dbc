"""The chain of admission plugins: their order, a second round, and names in refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap, LimitRange, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.base import AdmissionRequest, Chain, Objects, Operation, Plugin, release
from podling.client.requests import SYSTEM
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource, resource_of
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane

CONFIG_MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"seen": ""})


class Appending(Plugin):
    """Appends a letter to the object; the first time, it may request a second round."""

    def __init__(self, letter: str, *, again: bool = False) -> None:
        self.letter, self.again = letter, again

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        if self.again:
            request.rounds.needed = True
        return structs.replace(request.object, data={"seen": request.object.data["seen"] + self.letter})


class ForUpdates(Appending):
    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return operation is Operation.UPDATE


class ForLimitRanges(Appending):
    acts_on = LimitRange


class Refusing(Plugin):
    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        raise request.forbidden("no")


def request_of(obj: Any = CONFIG_MAP, **more: Any) -> AdmissionRequest:
    values = {
        "operation": Operation.CREATE,
        "resource": resource_of(type(obj)),
        "subresource": "",
        "namespace": "default",
        "name": "a",
        "object": obj,
        "old": None,
        "user": SYSTEM,
        "now": EPOCH,
    }
    return AdmissionRequest(**{**values, **more})


@pytest.mark.parametrize(
    ("plugins", "operation", "seen"),
    [
        ((Appending("a"), Appending("b")), Operation.CREATE, "ab"),
        ((Appending("b"), Appending("a")), Operation.CREATE, "ba"),
        ((Appending("a"), Appending("b", again=True)), Operation.CREATE, "abab"),
        ((Appending("a"), ForUpdates("b")), Operation.CREATE, "a"),
        ((Appending("a"), ForUpdates("b")), Operation.UPDATE, "ab"),
        ((Appending("a"), Plugin(), Refusing()), Operation.CREATE, "a"),
    ],
)
async def test_plugins_admit_in_order_and_at_most_twice(
    cluster: ControlPlane, plugins: tuple[Plugin, ...], operation: Operation, seen: str
) -> None:
    chain = Chain(plugins, cluster.server.objects)
    admitted = await chain.admit(request_of(operation=operation))
    assert admitted.data == {"seen": seen}


async def test_plugin_of_a_kind_is_called_once_an_object_of_it_exists(cluster: ControlPlane) -> None:
    chain = Chain((ForLimitRanges("a"),), cluster.server.objects)
    assert await cluster.server.objects.list(LimitRange) == ()
    assert await chain.admit(request_of()) is CONFIG_MAP
    await cluster.client.create(LimitRange(metadata=ObjectMeta(name="l", namespace="default")))
    assert (await chain.admit(request_of())).data == {"seen": "a"}


async def test_validation_raises_the_refusal_of_a_plugin(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as error:
        await Chain((Appending("a"), Refusing()), cluster.server.objects).validate(request_of())
    assert (error.value.code, str(error.value)) == (403, 'configmaps "a" is forbidden: no')


@pytest.mark.parametrize(
    ("name", "metadata", "collection", "shown"),
    [
        ("a", ObjectMeta(name="b"), False, "a"),
        ("", ObjectMeta(name="b"), False, "b"),
        ("", ObjectMeta(generate_name="b-"), False, "b-"),
        ("", ObjectMeta(), False, "Unknown"),
        ("a", ObjectMeta(name="b"), True, "b"),
    ],
)
def test_refusal_names_the_object_as_far_as_known(
    name: str, metadata: ObjectMeta, collection: bool, shown: str
) -> None:
    request = request_of(ConfigMap(metadata=metadata), name=name, collection=collection)
    assert str(request.forbidden("why")) == f'configmaps "{shown}" is forbidden: why'


def test_namespace_is_within_itself() -> None:
    assert request_of().within == "default"
    namespace = Namespace(metadata=ObjectMeta(name="mine"))
    assert request_of(namespace, namespace="", name="mine").within == "mine"


def test_releases_are_called_once() -> None:
    called: list[str] = []
    releases: list[Callable[[], object]] = [lambda: called.append("a"), lambda: called.append("b")]
    release(releases)
    release(releases)
    assert sorted(called) == ["a", "b"]
