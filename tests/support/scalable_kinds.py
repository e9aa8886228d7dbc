"""A kind of its user's own with a scale subresource."""

from __future__ import annotations

from typing import Any

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import OwnerReference
from podling.client.local import LocalClient
from podling.controllers.owner_references import controller_reference
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import is_established, stored_resource

DEFINITION: dict[str, Any] = {
    "metadata": {"name": "herds.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "herds", "kind": "Herd"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
            }
        ],
    },
}


async def create_scalable(client: LocalClient, replicas: int) -> OwnerReference:
    """Create the kind and an object ``web`` of it; return the reference to that."""
    definition = await client.create(codec.from_plain(DEFINITION, CustomResourceDefinition))
    while not is_established(definition):
        await clock.sleep(1)
        definition = await client.get(CustomResourceDefinition, "herds.example.com")
    resource = stored_resource(definition)
    plain = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}}
    obj, _ = codec.convert({"apiVersion": "example.com/v1", "kind": "Herd", **plain}, resource.type)
    made: Any = await client.create(obj)
    return controller_reference(made)
