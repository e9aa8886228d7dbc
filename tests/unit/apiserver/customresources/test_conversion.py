"""Conversion webhooks: one call for many objects, and one per revision of an object."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from podling.api.admissionregistration_v1 import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.auth.pki import Pki
from podling.apiserver.serving import Serving, tls_context
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import is_established
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane, memory_cluster
from tests.support.custom_resources import definition, widget

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


class Converter:
    """Between ``v1``, which has a ``size``, and ``v2``, which calls it ``width``."""

    def __init__(self) -> None:
        self.reviews: list[dict[str, Any]] = []
        self.failing = False
        self.wrong: dict[str, Any] = {}
        """Fields that replace those of every answer, or of every object in one."""

    async def answer(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        asked = review["request"]
        self.reviews.append(asked)
        made = [self.converted(each, asked["desiredAPIVersion"]) for each in asked["objects"]]
        result = {"status": "Failed", "message": "out of order"} if self.failing else {"status": "Success"}
        response = {"uid": asked["uid"], "result": result, "convertedObjects": made}
        whole = {key: value for key, value in self.wrong.items() if key in ("kind", "response")}
        return web.json_response({**review, "response": response, "request": None, **whole})

    def converted(self, obj: dict[str, Any], version: str) -> dict[str, Any]:
        names = ("size", "width") if version.endswith("v2") else ("width", "size")
        spec = {names[1] if key == names[0] else key: value for key, value in obj["spec"].items()}
        return {**obj, "apiVersion": version, "spec": spec, **self.wrong}


@pytest.fixture
async def converter(tmp_path: Path) -> AsyncIterator[tuple[Converter, dict[str, Any]]]:
    """A webhook over HTTPS, and the conversion that names it."""
    pki = Pki(tmp_path)
    serving = Serving(certificate=pki.server("webhook", ("127.0.0.1",)))
    converter = Converter()
    runner = web.ServerRunner(web.Server(converter.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls_context(serving)).start()
    client = {
        "url": f"https://127.0.0.1:{runner.addresses[0][1]}/convert",
        "caBundle": base64.b64encode(pki.ca_pem).decode(),
    }
    yield (
        converter,
        {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
        },
    )
    await runner.cleanup()


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as plane:
        yield plane


def selecting(name: str) -> dict[str, Any]:
    if not name:
        return {}
    spec = {"type": "object", "properties": {name: {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"schema": schema, "selectableFields": [{"jsonPath": f".spec.{name}"}]}


async def kinds(
    plane: ControlPlane, conversion: dict[str, Any], selectable: tuple[str, ...] = ("", "")
) -> tuple[type[Any], type[Any]]:
    """Return the types of both versions once they are served, each with a selectable text in its ``spec``."""
    versions = [
        {"name": "v1", "served": True, "storage": True, **selecting(selectable[0])},
        {"name": "v2", "served": True, "storage": False, **selecting(selectable[1])},
    ]
    made = await plane.client.create(definition(versions=versions, conversion=conversion))
    revision = made.metadata.resource_version or ""
    async for event in plane.client.watch(CustomResourceDefinition, resource_version=revision):
        if is_established(event.object):
            break
    second, first = (
        plane.server.catalogue.by_path("example.com", version, "widgets") for version in ("v2", "v1")
    )
    assert first is not None
    assert second is not None
    return first.type, second.type


async def test_each_version_shows_its_own_form(
    plane: ControlPlane, converter: tuple[Converter, dict[str, Any]]
) -> None:
    webhook, conversion = converter
    first, second = await kinds(plane, conversion)
    made = await plane.client.create(widget(second, "a", spec={"width": 3}))
    assert (made.api_version, made.content) == ("example.com/v2", {"spec": {"width": 3}})
    await plane.client.create(widget(first, "b", spec={"size": 4}))
    stored = await plane.client.get(first, "a", "default")
    assert (stored.api_version, stored.content) == ("example.com/v1", {"spec": {"size": 3}})
    webhook.reviews.clear()
    for _ in range(2):
        shown = (await plane.client.list(second)).items
        assert [each.content["spec"] for each in shown] == [{"width": 3}, {"width": 4}]
    assert [len(each["objects"]) for each in webhook.reviews] == [2], "once, and both together"
    await plane.client.patch(second, "b", {"spec": {"width": 5}}, "default")
    assert (await plane.client.get(first, "b", "default")).content == {"spec": {"size": 5}}


async def test_selectors_look_at_the_version_of_the_request(
    plane: ControlPlane, converter: tuple[Converter, dict[str, Any]]
) -> None:
    """Source: upstream's test/e2e/apimachinery/crd_selectable_fields.go."""
    _, conversion = converter
    first, second = await kinds(plane, conversion, ("size", "width"))
    now = (await plane.client.list(second)).resource_version
    narrow, small = (
        plane.client.watch(kind, "default", resource_version=now, field_selector=selector)
        for kind, selector in ((second, "spec.width=3"), (first, "spec.size=3"))
    )
    for name, width in (("a", "3"), ("b", "3"), ("c", "4")):
        await plane.client.create(widget(second, name, spec={"width": width}))

    async def names(kind: type[Any], selector: str, limit: int = 0) -> list[str]:
        pages = await plane.client.list(kind, "default", field_selector=selector, limit=limit)
        return [each.metadata.name for each in pages.items]

    assert await names(second, "spec.width=3") == ["a", "b"]
    assert await names(second, "spec.width=3", limit=5) == ["a", "b"]
    assert await names(first, "spec.size=4") == ["c"]
    await plane.client.patch(second, "b", {"spec": {"width": "4"}}, "default")
    await plane.client.delete(second, "a", "default")
    expected = [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "b"), ("DELETED", "a")]
    for watch in (narrow, small):
        seen = [await anext(watch) for _ in expected]
        assert [(each.type.value, each.object.metadata.name) for each in seen] == expected
    late = plane.client.watch(second, "default", resource_version="", field_selector="spec.width=4")
    assert {(await anext(late)).object.metadata.name for _ in range(2)} == {"b", "c"}
    with pytest.raises(ApiError, match=r"field label not supported: spec\.size"):
        await names(second, "spec.size=3")


async def test_a_failing_webhook_fails_the_request(
    plane: ControlPlane, converter: tuple[Converter, dict[str, Any]]
) -> None:
    webhook, conversion = converter
    first, second = await kinds(plane, conversion)
    await plane.client.create(widget(first, "a", spec={"size": 3}))
    webhook.failing = True
    with pytest.raises(ApiError) as failed:
        await plane.client.get(second, "a", "default")
    assert failed.value.code == 500
    assert "conversion webhook for example.com/v1, Kind=Widget failed: out of order" in str(failed.value)
    assert (await plane.client.get(first, "a", "default")).content == {"spec": {"size": 3}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"response": None}, "failed: no response provided"),
        ({"response": {"uid": "x"}}, 'failed: expected response.uid="'),
        (
            {"kind": "Pod"},
            "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, ",
        ),
        (
            {"apiVersion": "example.com/v3"},
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received "
            "example.com/v3)",
        ),
        ({"metadata": None}, "returned invalid metadata: missing metadata in converted object"),
        (
            {"metadata": {"name": "b"}},
            "returned invalid object: must have the same name: a != b",
        ),
    ],
)
async def test_malformed_conversion_response_fails_the_request(
    plane: ControlPlane, converter: tuple[Converter, dict[str, Any]], wrong: dict[str, Any], said: str
) -> None:
    webhook, conversion = converter
    first, second = await kinds(plane, conversion)
    await plane.client.create(widget(first, "a", spec={"size": 3}))
    webhook.wrong = wrong
    with pytest.raises(ApiError) as failed:
        await plane.client.get(second, "a", "default")
    assert f"conversion webhook for example.com/v1, Kind=Widget {said}" in str(failed.value)


async def test_policies_see_their_own_version(
    plane: ControlPlane, converter: tuple[Converter, dict[str, Any]]
) -> None:
    """An object is converted for a policy about another version, and what comes of it is converted back."""
    _, conversion = converter
    first, second = await kinds(plane, conversion)
    group = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["widgets"]}
    expression = "Object{spec: Object.spec{width: object.spec.width + 1}}"
    spec = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [{**group, "operations": ["CREATE"]}]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }
    head = {"metadata": {"name": "p"}}
    await plane.client.create(codec.convert({**head, "spec": spec}, MutatingAdmissionPolicy)[0])
    binding = {**head, "spec": {"policyName": "p"}}
    await plane.client.create(codec.convert(binding, MutatingAdmissionPolicyBinding)[0])
    made = await plane.client.create(widget(first, "a", spec={"size": 3}))
    assert (made.api_version, made.content) == ("example.com/v1", {"spec": {"size": 4}})
    assert (await plane.client.get(second, "a", "default")).content == {"spec": {"width": 4}}
