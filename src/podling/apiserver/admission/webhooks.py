"""Admission by other servers: ``MutatingAdmissionWebhook`` and ``ValidatingAdmissionWebhook``.

Mutating webhooks are called one after the other, in the order of their configurations' names, each with the
result of the one before. After a change all plugins are called again. Of the webhooks, only those with a
reinvocation policy of ``IfNeeded`` that were called before the change are called again. Validating webhooks
are called in parallel. When a call fails, the ``failurePolicy`` decides whether the request is refused. There
is no audit log: audit annotations are written to the server's log.

Upstream: ``apiserver/pkg/admission/plugin/webhook``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import structs

from podling import clock, ids
from podling.api.admissionregistration_v1 import (
    MutatingWebhook,
    MutatingWebhookConfiguration,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.admission.expression_turns import all_hold
from podling.apiserver.admission.forms import Form, Forms
from podling.apiserver.admission.reinvocation import ReinvocationContext
from podling.apiserver.admission.webhook_metrics import CALL_FAILED, NO_ERROR, OK, WebhookMetrics
from podling.apiserver.admission.webhook_reviews import (
    Verdict,
    call_failed,
    denial,
    no_dry_run,
    nothing_to_change,
    review,
    verdict,
)
from podling.apiserver.backends.webhook_calls import WebhookFailed, call
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource

log = logging.getLogger(__name__)

Webhook = MutatingWebhook | ValidatingWebhook

DEFAULT_SECONDS = 10
_GROUP = "admissionregistration.k8s.io"
_HARMLESS = ("None", "NoneOnDryRun")


Key = tuple[str, int]
"""A webhook by its configuration's name and its place there."""


class _Webhooks(Plugin):
    """Base of both plugins. The objects that configure admission are never reviewed."""

    _server: Server
    _step: ClassVar[str]

    def __init__(self) -> None:
        self._metrics = WebhookMetrics(self._step)
        self.collect = self._metrics.collect

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return resource.group != _GROUP

    async def _form(
        self, webhook: Webhook, request: AdmissionRequest, objects: Objects, forms: Forms
    ) -> Form | None:
        """Return the form of the request for a webhook; None if it does not match.

        Raises 403 when the match conditions fail.
        """
        if not matching.selected(webhook.namespace_selector, webhook.object_selector, request, objects):
            return None
        resource = matching.matched(webhook.rules, webhook.match_policy, request, self._server)
        if resource is None:
            return None
        form = await forms.of(resource)
        if not webhook.match_conditions:
            return form
        try:
            values = matching.seen(request, form, self._server)
            holds = await all_hold(webhook.match_conditions, matching.program, values)
        except matching.ConditionFailed as error:
            if webhook.failure_policy == "Ignore":
                return None
            raise request.forbidden(str(error)) from None
        return form if holds else None

    async def _verdict(
        self, webhook: Webhook, request: AdmissionRequest, form: Form, objects: Objects, *, mutating: bool
    ) -> Verdict | None:
        """Return a webhook's decision; None when its failure is ignored. Raises the error of a refusal."""
        if request.dry_run and webhook.side_effects not in _HARMLESS:
            raise no_dry_run(webhook.name)
        operation, started = request.operation.value, clock.monotonic()
        code, rejected = 0, True
        try:
            found = await self._review(webhook, request, form, objects, mutating=mutating)
            refused = None if found.allowed else denial(webhook.name, found.status)
            code, rejected = refused.code if refused else OK, not found.allowed
        except WebhookFailed as error:
            code, rejected = error.code, webhook.failure_policy != "Ignore"
            if not rejected:
                self._metrics.failed_open(webhook.name)
                log.warning("Failed calling webhook, failing open %s: %s", webhook.name, error)
                return None
            self._metrics.rejected(webhook.name, operation, CALL_FAILED, 0)
            raise call_failed(webhook.name, error) from None
        finally:
            took = clock.monotonic() - started
            self._metrics.called(webhook.name, operation, took, code, rejected=rejected)
        request.warnings.extend(found.warnings)
        for key, text in found.annotations.items():
            log.info("%s/%s: %s", webhook.name, key, text)
        if refused is not None:
            self._metrics.rejected(webhook.name, operation, NO_ERROR, refused.code)
            raise refused
        return found

    async def _review(
        self, webhook: Webhook, request: AdmissionRequest, form: Form, objects: Objects, *, mutating: bool
    ) -> Verdict:
        """Call a webhook once. Raises ``WebhookFailed``."""
        uid, seconds = ids.uid(), webhook.timeout_seconds or DEFAULT_SECONDS
        api_version, body = review(request, form, uid, webhook.admission_review_versions)
        client, local = webhook.client_config, self._server.local_servers
        try:
            query = f"?timeout={seconds}s"
            answer = await call(client, objects, body, seconds=seconds, query=query, local=local)
        except WebhookFailed as error:
            raise WebhookFailed(f"failed to call webhook: {error}", error.code) from None
        return verdict(answer, uid, api_version, mutating=mutating)


class MutatingAdmissionWebhook(_Webhooks):
    name = "MutatingAdmissionWebhook"
    acts_on = MutatingWebhookConfiguration
    _step = "admit"

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        found = await objects.list(MutatingWebhookConfiguration)
        if not found:
            return request.object
        context = ReinvocationContext.of(request, self.name)
        forms = Forms(request, self._server)
        for key, webhook in _numbered(found):
            form = await self._form(webhook, request, objects, forms)
            if form is None or not context.should_invoke(key):
                continue
            changed = await self._changed(webhook, request, form, objects, forms)
            if changed is not request.object:
                request = structs.replace(request, object=changed)
                forms = Forms(request, self._server)
                context.record_change()
            if webhook.reinvocation_policy == "IfNeeded":
                context.record_invocation(key)
        context.record_output(request.object)
        return request.object

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """A deletion has nothing to change, but may be refused."""
        if request.operation is Operation.DELETE:
            await self.admit(request, objects)

    async def _changed(
        self, webhook: Webhook, request: AdmissionRequest, form: Form, objects: Objects, forms: Forms
    ) -> Any:
        """Return the request's object as a webhook wants it; itself when it wants no change."""
        found = await self._verdict(webhook, request, form, objects, mutating=True)
        if found is None or not found.patch:
            return request.object
        if form.object is None:
            raise nothing_to_change(webhook.name)
        from podling.machinery.patches import patch

        try:
            plain = patch.json_patch(form.object, found.patch)
            if plain == form.object:
                return request.object
            return await forms.taken_back(plain, form.resource)
        except ApiError as error:
            notes = getattr(error, "__notes__", None) or [str(error)]
            raise errors.internal(notes[0]) from None


def _numbered(found: Sequence[Any]) -> Iterator[tuple[Key, Any]]:
    """Yield every webhook of the configurations, in order."""
    for config in found:
        for position, webhook in enumerate(config.webhooks):
            yield (config.metadata.name or "", position), webhook


class ValidatingAdmissionWebhook(_Webhooks):
    name = "ValidatingAdmissionWebhook"
    acts_on = ValidatingWebhookConfiguration
    _step = "validating"

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        found = await objects.list(ValidatingWebhookConfiguration)
        if not found:
            return
        forms = Forms(request, self._server)
        concerned = [
            (webhook, form)
            for _, webhook in _numbered(found)
            if (form := await self._form(webhook, request, objects, forms)) is not None
        ]
        calls = (
            self._verdict(webhook, request, form, objects, mutating=False) for webhook, form in concerned
        )
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
