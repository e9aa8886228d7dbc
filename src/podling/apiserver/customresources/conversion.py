"""Conversion of custom objects between versions: by name alone, by a function, or by a webhook.

Requests work on objects in the version that they name; the store keeps the storage version. So an object is
converted once when it is read (and cached with the stored revision), and once when it is written. Without a
webhook versions differ in name and schema alone.
Upstream: ``apiextensions-apiserver/pkg/apiserver/conversion``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from podling import ids, turns
from podling.api.apiextensions_v1 import (
    CustomResourceConversion,
    CustomResourceDefinition,
)
from podling.apiserver.admission.base import Objects
from podling.apiserver.backends.local_servers import LocalServers
from podling.apiserver.backends.webhook_calls import WebhookFailed, call
from podling.apiserver.kinds.common.views import prune_for, shown_form
from podling.apiserver.registry.decoding import blocks, decode
from podling.apiserver.registry.objects import Stored, stored
from podling.machinery import errors, label_checks
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.fields import Path, aggregate
from podling.machinery.scheme import Resource
from podling.store.base import Entry

GROUP = "apiextensions.k8s.io"
TIMEOUT_SECONDS = 30.0
REVIEW_VERSIONS = ("v1", "v1beta1")
REVIEW_WEIGHT = 4
"""An object is encoded for a review, decoded from the response, and pruned."""

FindDefinition = Callable[[CustomResource], CustomResourceDefinition | None]
Converter = Callable[[CustomObject, str], CustomObject]
"""Returns an object with the content that it has in another ``apiVersion``. Of its metadata it may change
labels and annotations."""


class Conversion:
    """Converts the objects of one server.

    Args:
        definition: the definition that a resource comes from, as it is now.
        objects: finds the services that webhooks are behind.
        converters: functions in this process that convert, by the names of definitions.
        local_servers: webhooks in this process.
    """

    def __init__(
        self,
        definition: FindDefinition,
        objects: Objects,
        converters: Mapping[str, Converter] | None = None,
        local_servers: LocalServers | None = None,
    ) -> None:
        self._definition, self._objects = definition, objects
        self._local_servers = local_servers
        self._converters = converters or {}

    async def prepare(self, resource: Resource, entries: Sequence[Entry]) -> None:
        """Have the forms ready in which ``resource`` shows these entries; many in one review."""
        kind, version = resource.storage_resource.type, resource.group_version
        converter = self._converter(resource)
        if converter is not None:
            await decode(entries, kind)
            for entry in entries:
                memo = stored(entry, kind)
                if _lacks(memo, version):
                    memo.forms[version] = _converted_here(converter, memo.object, resource)
            return
        webhook = self._webhook(resource)
        if webhook is None:
            return
        await decode(entries, kind)
        todo = [entry for entry in entries if _lacks(stored(entry, kind), version)]
        for block, size in blocks(todo, REVIEW_WEIGHT):
            await turns.take(size)
            memos = [stored(entry, kind) for entry in block]
            made = await self._review(webhook, resource, [memo.object for memo in memos])
            for memo, form in zip(memos, made, strict=True):
                memo.forms[version] = form

    async def converted(self, obj: Any, resource: Resource) -> Any:
        """``obj`` in the version of ``resource``; itself if it is no custom object."""
        if not isinstance(obj, CustomObject) or obj.api_version == resource.group_version:
            return obj
        converter = self._converter(resource)
        if converter is not None:
            return _converted_here(converter, obj, resource)
        webhook = self._webhook(resource)
        if webhook is None:
            return shown_form(resource, obj)
        (made,) = await self._review(webhook, resource, [obj])
        return made

    def changes_content(self, resource: Resource) -> bool:
        """Return true if versions of ``resource`` differ in more than their names."""
        return self._converter(resource) is not None or self._webhook(resource) is not None

    def _converter(self, resource: Resource) -> Converter | None:
        return self._converters.get(resource.group_resource) if self._converters else None

    def _webhook(self, resource: Resource) -> CustomResourceConversion | None:
        """Return the conversion of ``resource``, if it uses a webhook."""
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
        except WrongAnswer as error:
            what = f"{group}/{version}, Kind={objects[0].kind}"
            raise errors.internal(f"conversion webhook for {what} {error}") from None
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
        review: dict[str, Any] = {
            "kind": "ConversionReview",
            "apiVersion": f"{GROUP}/{version}",
            "request": {
                "uid": ids.uid(),
                "desiredAPIVersion": resource.group_version,
                "objects": [codec.to_plain(each) for each in objects],
            },
        }
        body, local = msgspec.json.encode(review), self._local_servers
        answer = await call(client, self._objects, body, seconds=TIMEOUT_SECONDS, local=local)
        plain = _accepted(msgspec.json.decode(answer), review, len(objects))
        made = [_checked(old, plain[at], resource, at) for at, old in enumerate(objects)]
        return [prune_for(resource, each) for each in made]


def _converted_here(converter: Converter, obj: CustomObject, resource: Resource) -> CustomObject:
    """Return an object that a function of this process converts, pruned by the schema of its new version."""
    made = converter(obj, resource.group_version)
    kept = structs.replace(obj.metadata, labels=made.metadata.labels, annotations=made.metadata.annotations)
    kind: type[CustomObject] = resource.type
    shown = kind(api_version=resource.group_version, kind=obj.kind, metadata=kept, content=made.content)
    return prune_for(resource, shown)


def _lacks(memo: Stored, version: str) -> bool:
    return memo.object.api_version != version and version not in memo.forms


class WrongAnswer(Exception):
    """A response with other objects than requested; the text follows the webhook's name."""


def _accepted(review: Any, asked: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The objects in an answer. ``WebhookFailed`` for one without, ``WrongAnswer`` for a wrong number."""
    if asked["apiVersion"] == f"{GROUP}/v1":  # upstream checks no more of older responses
        got = _kind_of(review)
        wanted = _kind_of(asked)
        if got != wanted:
            raise WebhookFailed(f"expected webhook response of {wanted}, got {got}")
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        raise WebhookFailed("no response provided")
    uid = asked["request"]["uid"]
    if asked["apiVersion"] == f"{GROUP}/v1" and response.get("uid") != uid:
        raise WebhookFailed(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        said = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise WebhookFailed(result.get("message") or said)
    made = response.get("convertedObjects") or []
    if len(made) != number:
        raise WrongAnswer(f"returned {len(made)} objects, expected {number}")
    return list(made)


def _kind_of(review: Any) -> str:
    plain = review if isinstance(review, dict) else {}
    return f"{plain.get('apiVersion') or ''}, Kind={plain.get('kind') or ''}"


def _checked(old: CustomObject, plain: dict[str, Any], resource: Resource, position: int) -> CustomObject:
    """A converted object with the metadata that it had: a webhook may change labels and annotations."""
    where = f"returned invalid object at index {position}"
    for name, expected in (("apiVersion", resource.group_version), ("kind", old.kind)):
        if plain.get(name) != expected:
            what = "groupVersion" if name == "apiVersion" else name
            received = plain.get(name) or ""
            raise WrongAnswer(f"{where}: invalid {what} (expected {expected}, received {received})")
    metadata = plain.get("metadata")
    if not isinstance(metadata, dict):
        raise WrongAnswer("returned invalid metadata: missing metadata in converted object")
    for name in ("name", "namespace", "uid"):
        before, after = getattr(old.metadata, name) or "", metadata.get(name) or ""
        if before != after:
            shown = "UID" if name == "uid" else name
            raise WrongAnswer(f"returned invalid object: must have the same {shown}: {before} != {after}")
    kind: type[CustomObject] = resource.type
    made: CustomObject = codec.from_plain(plain, kind)
    given = made.metadata
    labels = label_checks.labels(Path("metadata.labels"), given.labels)
    problems = labels or label_checks.annotation_map(Path("metadata.annotation"), given.annotations)
    if problems:
        raise WrongAnswer(f"returned invalid metadata: {aggregate(problems)}")
    kept = structs.replace(old.metadata, labels=given.labels, annotations=given.annotations)
    return structs.replace(made, metadata=kept)
