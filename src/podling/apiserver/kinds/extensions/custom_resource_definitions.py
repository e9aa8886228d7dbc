"""CustomResourceDefinitions: names, versions and schemas that users add to the API.

Upstream: ``staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions`` (defaults and validation),
``pkg/registry/customresourcedefinition/strategy.go`` there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.apiextensions_v1 import (
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceDefinitionStatus,
)
from podling.apiserver.customresources.definition_names import CLEANUP_FINALIZER, TERMINATING, with_condition
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import NAME, UNKNOWN
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.machinery.tables import Column

PENDING = (
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


def _with_port(conversion: CustomResourceConversion | None) -> CustomResourceConversion | None:
    """Return a conversion whose webhook Service has a port, by default 443."""
    webhook = conversion.webhook if conversion is not None else None
    client = webhook.client_config if webhook is not None else None
    if client is None or client.service is None or client.service.port is not None:
        return conversion
    client = change(client, service=change(client.service, port=443))
    return change(conversion, webhook=change(webhook, client_config=client))


class DefinitionRules(KindRules[CustomResourceDefinition]):
    status_subresource = True
    generation = True
    unconditional_update = False
    bare_finalizers = True
    columns = (NAME, Column("Created At", type="date", description="When the object was created"))

    def default(self, obj: CustomResourceDefinition) -> CustomResourceDefinition:
        own = obj.spec.names
        own = fill_empty(own, singular=own.kind.lower(), list_kind=f"{own.kind}List" if own.kind else "")
        spec = fill_absent(change(obj.spec, names=own), conversion=CustomResourceConversion(strategy="None"))
        return change(obj, spec=change(spec, conversion=_with_port(spec.conversion)))

    def prepare_create(self, obj: CustomResourceDefinition, context: Context) -> CustomResourceDefinition:
        stored = tuple(version.name for version in obj.spec.versions if version.storage)
        return change(obj, status=CustomResourceDefinitionStatus(stored_versions=stored))

    def prepare_update(
        self, new: CustomResourceDefinition, old: CustomResourceDefinition, context: Context
    ) -> CustomResourceDefinition:
        prepared = super().prepare_update(new, old, context)
        if context.subresource:
            return prepared
        stored = prepared.status.stored_versions
        added = tuple(v.name for v in prepared.spec.versions if v.storage and v.name not in stored)
        if not added:
            return prepared
        return change(prepared, status=change(prepared.status, stored_versions=(*stored, *added)))

    def has_other_finalizers(self, obj: CustomResourceDefinition) -> bool:
        """Return True on the first deletion request: the custom resources are deleted first."""
        return obj.metadata.deletion_timestamp is None

    def mark_deleted(self, obj: CustomResourceDefinition) -> CustomResourceDefinition:
        own = tuple(each for each in obj.metadata.finalizers if each != CLEANUP_FINALIZER)
        metadata = change(obj.metadata, finalizers=(*own, CLEANUP_FINALIZER))
        moment = obj.metadata.deletion_timestamp
        assert moment is not None, "a marked object has a deletion timestamp"
        status = with_condition(obj.status, TERMINATING, PENDING, moment)
        return change(obj, metadata=metadata, status=status)

    def validate(self, obj: CustomResourceDefinition, context: Context) -> Errors:
        from podling.apiserver.customresources.definition_validation import validate_definition

        return validate_definition(obj)

    def validate_update(
        self, new: CustomResourceDefinition, old: CustomResourceDefinition, context: Context
    ) -> Errors:
        from podling.apiserver.customresources.definition_validation import (
            accepted_name_errors,
            validate_change,
        )

        if context.subresource == "status":
            return accepted_name_errors(new)
        return validate_change(new, old)

    def warnings(
        self, obj: CustomResourceDefinition, old: CustomResourceDefinition | None, context: Context
    ) -> list[str]:
        from podling.apiserver.customresources.named_formats import unknown_formats

        known = unknown_formats(old) if old is not None else []
        new = [] if context.subresource else [each for each in unknown_formats(obj) if each not in known]
        return [f"unrecognized format {json.dumps(each)}" for each in new]

    def row(self, obj: CustomResourceDefinition, now: datetime) -> Sequence[Any]:
        created = obj.metadata.creation_timestamp
        return obj.metadata.name, UNKNOWN if created is None else created.strftime("%Y-%m-%dT%H:%M:%SZ")
