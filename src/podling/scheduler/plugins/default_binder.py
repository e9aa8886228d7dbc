"""DefaultBinder: a pod gets its node by the ``binding`` subresource."""

from __future__ import annotations

from podling.api.core_v1 import Binding, ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.scheduler.podfacts import PodFacts

NAME = "DefaultBinder"


def binding(pod: PodFacts, node_name: str) -> Binding:
    """Bind by UID, so that a recreated pod of the same name is not bound."""
    metadata = ObjectMeta(namespace=pod.namespace, name=pod.name, uid=pod.uid)
    return Binding(metadata=metadata, target=ObjectReference(kind="Node", name=node_name))
