"""DefaultBinder: a pod gets its node by the ``binding`` subresource."""

from __future__ import annotations

from podling.api.core_v1 import Binding, ObjectReference, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.scheduler.framework import Plugin
from podling.scheduler.podfacts import PodFacts


class DefaultBinder(Plugin):
    name = "DefaultBinder"

    async def bind(self, pod: PodFacts, node: str, client: Client) -> bool:
        await client.create_subresource(Pod, pod.name, "binding", binding(pod, node), pod.namespace)
        return True


def binding(pod: PodFacts, node_name: str) -> Binding:
    """Bind by UID, so that a recreated pod of the same name is not bound."""
    metadata = ObjectMeta(namespace=pod.namespace, name=pod.name, uid=pod.uid)
    return Binding(metadata=metadata, target=ObjectReference(kind="Node", name=node_name))
