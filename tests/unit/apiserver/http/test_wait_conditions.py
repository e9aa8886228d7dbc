"""Conditions of ``kubectl wait``: their text, and when they hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.http.wait_conditions import Awaited, parse, predicate, resource_named, until_met
from podling.client.requests import SYSTEM, User
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, resource_of
from podling.testing import ControlPlane


def conditions(*pairs: tuple[str, str], generation: int = 1, observed: int | None = None) -> dict[str, Any]:
    about = {} if observed is None else {"observedGeneration": observed}
    found = [{"type": name, "status": status, **about} for name, status in pairs]
    return {"metadata": {"generation": generation}, "status": {"conditions": found}}


ADDRESSES = [{"ip": "a"}, {"ip": "b"}]
RUNNING = {"metadata": {}, "status": {"phase": "Running", "ready": 3, "addresses": ADDRESSES}}


@pytest.mark.parametrize(
    ("wanted", "plain", "holds"),
    [
        ("create", None, False),
        ("create", {}, True),
        ("delete", None, True),
        ("delete", {}, False),
        ("condition=Ready", None, False),
        ("condition=Ready", {"metadata": {}}, False),
        ("condition=ready", conditions(("Ready", "True")), True),
        ("condition=Ready", conditions(("Ready", "False")), False),
        ("condition=Ready=false", conditions(("Ready", "False")), True),
        ("condition=Ready=Unknown", conditions(("Other", "True"), ("Ready", "Unknown")), True),
        ("condition=Ready", conditions(("Ready", "True"), generation=2, observed=1), False),
        ("condition=Ready", conditions(("Ready", "True"), generation=2, observed=2), True),
        ("jsonpath={.status.phase}=Running", RUNNING, True),
        ("jsonpath={.status.phase}=Failed", RUNNING, False),
        ("jsonpath='{.status.phase}'=Running", RUNNING, True),
        ("jsonpath=.status.phase=Running", RUNNING, True),
        ("jsonpath={.status.ready}=3", RUNNING, True),
        ("jsonpath={.status.addresses[*].ip}=b", RUNNING, True),
        ("jsonpath={.status.phase}", RUNNING, True),
        ("jsonpath={.status.absent}", RUNNING, False),
        ("jsonpath={.status.absent}", None, False),
    ],
)
def test_condition_is_tested_on_plain_data(wanted: str, plain: Any, holds: bool) -> None:
    assert predicate(wanted)(plain) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pod", "does not name an object"),
        ("pod/", "does not name an object"),
        ("pod/a/b condition=Ready", "does not name an object"),
        ("pod/a ready", "unrecognized condition: 'ready'"),
        ("pod/a condition=", "unrecognized condition"),
        ("pod/a jsonpath={.status[}", "in path"),
        ("pod/a jsonpath={.status}x", "jsonpath wait format"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[").replace("{", r"\{")):
        parse(text, "default")


def test_text_names_object_and_condition() -> None:
    assert parse(" job/x  --for=condition=Complete", "a") == Awaited("job", "x", "condition=Complete", "a")
    assert parse("job/x", "a").wanted == "create"


@pytest.mark.parametrize(
    ("name", "plural"),
    [
        ("po", "pods"),
        ("Pod", "pods"),
        ("deployments.apps", "deployments"),
        ("deploy.v1.apps", "deployments"),
        ("widgets", None),
        ("pods.apps", None),
    ],
)
def test_resources_have_the_names_of_kubectl(name: str, plural: str | None) -> None:
    found = resource_named(name, RESOURCES)
    assert (found and found.plural) == plural


async def wait(cluster: ControlPlane, wanted: str, user: User = SYSTEM) -> float:
    """Return the moment at which a ConfigMap meets a condition."""
    await until_met(cluster.backend, resource_of(ConfigMap), Awaited("cm", "a", wanted, "default"), user)
    return clock.monotonic()


async def test_wait_follows_creation_change_and_deletion(cluster: ControlPlane) -> None:
    waits = [
        asyncio.create_task(wait(cluster, wanted))
        for wanted in ("delete", "create", "jsonpath={.data.a}=2", "jsonpath={.data.a}=1")
    ]
    await cluster.advance(seconds=10)
    metadata = ObjectMeta(name="a", namespace="default")
    await cluster.client.create(ConfigMap(metadata=metadata, data={"a": "1"}))
    await cluster.advance(seconds=10)
    await cluster.client.patch(ConfigMap, "a", {"data": {"a": "2"}}, "default")
    gone = asyncio.create_task(wait(cluster, "delete"))
    await cluster.advance(seconds=10)
    await cluster.client.delete(ConfigMap, "a", "default")
    assert [await each for each in waits] == [0, 10, 20, 10]
    assert await gone == 30


async def test_wait_needs_the_right_to_read(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match="cannot get resource"):
        await wait(cluster, "create", User("nobody", ("system:authenticated",)))
