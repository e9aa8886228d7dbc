"""Custom objects from one version to another: by name alone, or by asking the definition's webhook.

Requests work on objects in the version that they name; the store keeps the storage version. So what is read
is converted once on its way out (and remembered with the stored revision), and what is written once on
its way in. Without a webhook a version is nothing but a name.
Upstream: ``apiextensions-apiserver/pkg/apiserver/conversion``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import structs

from podling import ids
from podling.api.apiextensions_v1 import (
    CustomResourceConversion,
    CustomResourceDefinition,
)
from podling.apiserver.admission.base import Objects
from podling.apiserver.objects import Stored, stored
from podling.apiserver.webhook_calls import WebhookFailed, ask, locate
from podling.machinery import codec, errors
from podling.machinery.custom import CustomObject, CustomResource
from podling.machinery.scheme import Resource
from podling.store.base import Entry

TIMEOUT_SECONDS = 30.0
REVIEW_VERSIONS = ("v1", "v1beta1")

FindDefinition = Callable[[CustomResource], CustomResourceDefinition | None]


class Conversion:
    """Converts the objects of one server.

    Args:
        definition: the definition that a resource comes from, as it is now.
        objects: finds the services that webhooks are behind.
    """

    def __init__(self, definition: FindDefinition, objects: Objects) -> None:
        self._definition, self._objects = definition, objects

    async def prepare(self, resource: Resource, entries: Sequence[Entry]) -> None:
        """Have the forms ready in which ``resource`` shows these entries; all in one review."""
        webhook = self._webhook(resource)
        if webhook is None:
            return
        memos = [stored(entry, resource.storage_resource.type) for entry in entries]
        todo = [memo for memo in memos if _lacks(memo, resource.group_version)]
        if todo:
            made = await self._review(webhook, resource, [memo.object for memo in todo])
            for memo, form in zip(todo, made, strict=True):
                memo.forms[resource.group_version] = form

    async def converted(self, obj: Any, resource: Resource) -> Any:
        """``obj`` in the version of ``resource``; itself if it is no custom object."""
        if not isinstance(obj, CustomObject) or obj.api_version == resource.group_version:
            return obj
        webhook = self._webhook(resource)
        if webhook is None:
            return structs.replace(obj, api_version=resource.group_version)
        (made,) = await self._review(webhook, resource, [obj])
        return made

    def _webhook(self, resource: Resource) -> CustomResourceConversion | None:
        """How the versions of ``resource`` are converted, if that takes a webhook."""
        if not isinstance(resource, CustomResource):
            return None
        definition = self._definition(resource)
        found = definition.spec.conversion if definition is not None else None
        return found if found is not None and found.strategy == "Webhook" else None

    async def _review(
        self, conversion: CustomResourceConversion, resource: Resource, objects: Sequence[CustomObject]
    ) -> list[CustomObject]:
        group, version = resource.group, objects[0].api_version.rpartition("/")[2]
        try:
            return await self._asked(conversion, resource, objects)
        except (WebhookFailed, errors.ApiError, msgspec.DecodeError, msgspec.ValidationError) as error:
            what = f"{group}/{version}, Kind={objects[0].kind}"
            raise errors.internal(f"conversion webhook for {what} failed: {error}") from None

    async def _asked(
        self, conversion: CustomResourceConversion, resource: Resource, objects: Sequence[CustomObject]
    ) -> list[CustomObject]:
        webhook = conversion.webhook
        client = webhook.client_config if webhook is not None else None
        if webhook is None or client is None:
            raise WebhookFailed("no client configuration")
        version = next((each for each in webhook.conversion_review_versions if each in REVIEW_VERSIONS), "v1")
        uid = ids.uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{version}",
            "request": {
                "uid": uid,
                "desiredAPIVersion": resource.group_version,
                "objects": [codec.to_plain(each) for each in objects],
            },
        }
        address = await locate(client, self._objects)
        answer = await ask(
            address, client.ca_bundle or "", msgspec.json.encode(review), seconds=TIMEOUT_SECONDS
        )
        plain = _accepted(msgspec.json.decode(answer), uid, resource.group_version, len(objects))
        return [_checked(old, new, resource) for old, new in zip(objects, plain, strict=True)]


def _lacks(memo: Stored, version: str) -> bool:
    return memo.object.api_version != version and version not in memo.forms


def _accepted(review: Any, uid: str, version: str, number: int) -> list[dict[str, Any]]:
    """The objects in an answer. Raises ``WebhookFailed`` for one that is not what was asked for."""
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        raise WebhookFailed("no response provided")
    if response.get("uid") != uid:
        raise WebhookFailed(f'expected response.uid="{uid}", got "{response.get("uid")}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        raise WebhookFailed(result.get("message") or "response.result.status was not 'Success'")
    made = response.get("convertedObjects") or []
    if len(made) != number:
        raise WebhookFailed(f"webhook returned {len(made)} objects, expected {number}")
    for position, each in enumerate(made):
        if each.get("apiVersion") != version:
            where = f"returned invalid converted object at index {position}"
            got = each.get("apiVersion")
            raise WebhookFailed(f"{where}: invalid groupVersion (expected {version}, got {got})")
    return list(made)


def _checked(old: CustomObject, plain: dict[str, Any], resource: Resource) -> CustomObject:
    """A converted object with the metadata that it had: a webhook may change labels and annotations."""
    kind: type[CustomObject] = resource.type
    made: CustomObject = codec.from_plain(plain, kind)
    given, kept = made.metadata, old.metadata
    if (given.name, given.namespace, given.uid) != (kept.name, kept.namespace, kept.uid):
        raise WebhookFailed("must have the same name, namespace and uid")
    metadata = structs.replace(kept, labels=given.labels, annotations=given.annotations)
    return structs.replace(made, metadata=metadata)
