"""Admission by other servers: ``MutatingAdmissionWebhook`` and ``ValidatingAdmissionWebhook``.

Mutating webhooks are asked one after the other, in the order of their configurations' names, each seeing what
the one before made; who wishes is asked again when something changed after it. Validating webhooks are asked
all at once. A webhook that cannot be asked refuses or is passed over, as its ``failurePolicy`` says.

Not as upstream: a rule that names another version of a resource than the request does not match
(``matchPolicy: Equivalent`` is read as ``Exact``), and connections (``exec`` ...) are not reviewed.
Upstream: ``apiserver/pkg/admission/plugin/webhook``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from podling import ids
from podling.api.admissionregistration_v1 import (
    MutatingWebhook,
    MutatingWebhookConfiguration,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request
from podling.apiserver.admission.webhook_reviews import (
    Verdict,
    call_failed,
    denial,
    no_dry_run,
    review,
    verdict,
)
from podling.apiserver.views import stored_form
from podling.apiserver.webhook_calls import WebhookFailed, ask, locate
from podling.machinery import codec
from podling.machinery.scheme import Resource

log = logging.getLogger(__name__)

Webhook = MutatingWebhook | ValidatingWebhook

DEFAULT_SECONDS = 10
_GROUP = "admissionregistration.k8s.io"
_HARMLESS = ("None", "NoneOnDryRun")


class _Webhooks(Plugin):
    """What both plugins share. The objects that configure admission are never reviewed."""

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return resource.group != _GROUP

    async def _concerned(self, found: Sequence[Any], request: Request, objects: Objects) -> list[Webhook]:
        every: Iterator[Webhook] = (each for config in found for each in config.webhooks)
        return [each for each in every if _concerns(each, request, objects)]

    async def _verdict(
        self, webhook: Webhook, request: Request, objects: Objects, *, mutating: bool
    ) -> Verdict | None:
        """What a webhook says; None when it is passed over. Raises the error of a refusal."""
        if request.dry_run and webhook.side_effects not in _HARMLESS:
            raise no_dry_run(webhook.name)
        try:
            if webhook.match_conditions:
                values = matching.seen(request)
                if not matching.conditions_hold(webhook.match_conditions, values):
                    return None
            found = await _asked(webhook, request, objects, mutating=mutating)
        except (WebhookFailed, matching.ConditionFailed) as error:
            if webhook.failure_policy == "Ignore":
                log.warning("Failed calling webhook, failing open %s: %s", webhook.name, error)
                return None
            raise call_failed(webhook.name, error) from None
        request.warnings.extend(found.warnings)
        if not found.allowed:
            raise denial(webhook.name, found.status)
        return found


def _concerns(webhook: Webhook, request: Request, objects: Objects) -> bool:
    return matching.in_rules(webhook.rules, request) and matching.selected(
        webhook.namespace_selector, webhook.object_selector, request, objects
    )


async def _asked(webhook: Webhook, request: Request, objects: Objects, *, mutating: bool) -> Verdict:
    """One call. Raises ``WebhookFailed``."""
    uid, seconds = ids.uid(), webhook.timeout_seconds or DEFAULT_SECONDS
    api_version, body = review(request, uid, webhook.admission_review_versions)
    client = webhook.client_config
    try:
        address = await locate(client, objects, f"?timeout={seconds}s")
        answer = await ask(address, client.ca_bundle or "", body, seconds=seconds)
    except WebhookFailed as error:
        raise WebhookFailed(f"failed to call webhook: {error}") from None
    return verdict(answer, uid, api_version, mutating=mutating)


class MutatingAdmissionWebhook(_Webhooks):
    name = "MutatingAdmissionWebhook"

    async def admit(self, request: Request, objects: Objects) -> Any:
        found = await objects.list(MutatingWebhookConfiguration)
        if not found:
            return request.object
        changed_after: set[str] = set()
        asked: list[MutatingWebhook] = []
        for webhook in await self._concerned(found, request, objects):
            assert isinstance(webhook, MutatingWebhook)
            before = request.object
            request = await self._changed(webhook, request, objects)
            if request.object is not before:
                changed_after.update(each.name for each in asked)
            asked.append(webhook)
        for webhook in asked:
            if webhook.name in changed_after and webhook.reinvocation_policy == "IfNeeded":
                request = await self._changed(webhook, request, objects)
        return request.object

    async def validate(self, request: Request, objects: Objects) -> None:
        """A deletion has nothing to change, but may be refused."""
        if request.operation is not Operation.DELETE:
            return
        found = await objects.list(MutatingWebhookConfiguration)
        for webhook in await self._concerned(found, request, objects):
            await self._verdict(webhook, request, objects, mutating=True)

    async def _changed(self, webhook: MutatingWebhook, request: Request, objects: Objects) -> Request:
        found = await self._verdict(webhook, request, objects, mutating=True)
        if found is None or not found.patch:
            return request
        from podling.machinery import patch

        shown = matching.plain_of(request.object, request)
        plain = patch.json_patch(shown, found.patch)
        if plain == shown:
            return request
        kind = request.resource.type if not request.subresource else type(request.object)
        obj = codec.convert(plain, kind, "Ignore")[0]
        return structs.replace(request, object=stored_form(request.resource, obj))


class ValidatingAdmissionWebhook(_Webhooks):
    name = "ValidatingAdmissionWebhook"

    async def validate(self, request: Request, objects: Objects) -> None:
        found = await objects.list(ValidatingWebhookConfiguration)
        concerned = await self._concerned(found, request, objects) if found else []
        if not concerned:
            return
        calls = (self._verdict(each, request, objects, mutating=False) for each in concerned)
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
