"""Tests of the rules of CustomResourceDefinitions."""

from __future__ import annotations

from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, created, merged, obj, rules

OWN = rules(CustomResourceDefinition)
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "gears.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gears", "kind": "Gear"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {}}}],
    },
}
MOVED = {"versions": [{"name": "v1", "served": True}, {"name": "v2", "served": True, "storage": True}]}


def definition(text: str = "{}") -> CustomResourceDefinition:
    made: CustomResourceDefinition = created(obj(CustomResourceDefinition, text, DEFINITION))
    return made


def test_names_and_conversion_get_defaults() -> None:
    made = definition()
    assert (made.spec.names.singular, made.spec.names.list_kind) == ("gear", "GearList")
    assert made.spec.conversion is not None
    assert made.spec.conversion.strategy == "None"


def test_webhook_service_of_conversion_gets_port() -> None:
    client = "{service: {namespace: a, name: b}}"
    made = definition(f"spec: {{conversion: {{strategy: Webhook, webhook: {{clientConfig: {client}}}}}}}")
    conversion = made.spec.conversion
    assert conversion is not None
    assert conversion.webhook is not None
    assert conversion.webhook.client_config is not None
    assert conversion.webhook.client_config.service is not None
    assert conversion.webhook.client_config.service.port == 443


def test_stored_versions_collect_every_storage_version() -> None:
    old = definition()
    assert old.status.stored_versions == ("v1",)
    new = OWN.default(obj(CustomResourceDefinition, "{}", merged(DEFINITION, {"spec": MOVED})))
    assert OWN.prepare_update(new, old, Context(NOW)).status.stored_versions == ("v1", "v2")


def test_first_deletion_request_adds_finalizer_and_condition() -> None:
    old = definition()
    assert OWN.has_other_finalizers(old)
    marked = OWN.mark_deleted(
        obj(CustomResourceDefinition, "metadata: {deletionTimestamp: '2026-01-01T12:00:00Z'}", DEFINITION)
    )
    assert marked.metadata.finalizers == ("customresourcecleanup.apiextensions.k8s.io",)
    assert [(each.type, each.status) for each in marked.status.conditions] == [("Terminating", "True")]
    assert not OWN.has_other_finalizers(marked)
