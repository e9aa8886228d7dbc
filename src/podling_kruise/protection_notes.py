"""Notes of ``podling why`` on objects that are protected from deletion.

An answer for a protected object ends with its protection, and with what refuses the deletion now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.api.apps_v1 import StatefulSet as BuiltInStatefulSet
from podling.api.core_v1 import Namespace, PersistentVolumeClaim, Pod, Service
from podling.api.networking_v1 import Ingress
from podling.controllers.pod_state import is_active
from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.deletion_protection import ALWAYS, CASCADING, replicas_of
from podling_kruise.names import CRD_CASCADING, DELETION_PROTECTION
from podling_kruise.statefulset.types import StatefulSet

Parts = Callable[[Question, Any], Awaitable[str]]


async def _replicas(question: Question, workload: Any) -> str:
    replicas = replicas_of(workload)
    return f"it has {replicas} replicas" if replicas else ""


async def _in_namespace(question: Question, namespace: Namespace) -> str:
    name = namespace.metadata.name
    pods = sum(is_active(pod) for pod in (await question.client.list(Pod, name)).items)
    if pods:
        return f"it has {pods} active pods"
    claims = (await question.client.list(PersistentVolumeClaim, name)).items
    bound = sum(each.status.phase == "Bound" for each in claims)
    return f"it has {bound} bound claims" if bound else ""


async def _custom_objects(question: Question, definition: CustomResourceDefinition) -> str:
    return "it may have custom objects"


async def gate_is_closed(question: Question, obj: Any) -> str:
    """Return why the deletion of any such definition is refused while its feature gate is closed."""
    return f"feature-gate {CRD_CASCADING} is not enabled"


async def _nothing(question: Question, obj: Any) -> str:
    return ""


DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
KINDS: Mapping[str, tuple[type[Any], Parts]] = {
    "deployments.apps": (Deployment, _replicas),
    "replicasets.apps": (ReplicaSet, _replicas),
    "statefulsets.apps": (BuiltInStatefulSet, _replicas),
    "clonesets.apps.kruise.io": (CloneSet, _replicas),
    "statefulsets.apps.kruise.io": (StatefulSet, _replicas),
    "services": (Service, _nothing),
    "ingresses.networking.k8s.io": (Ingress, _nothing),
    "namespaces": (Namespace, _in_namespace),
    DEFINITIONS: (CustomResourceDefinition, _custom_objects),
}
"""The protected kinds, and the function that says what a ``Cascading`` protection refuses deletion for."""


async def note(kind: type[Any], parts: Parts, question: Question) -> Explanation | None:
    """Return what protects an object from deletion; None if nothing does. Raises ``ApiError``."""
    place = question.namespace if question.namespace else None
    obj = await question.client.get(kind, question.name, place)
    protection = obj.metadata.labels.get(DELETION_PROTECTION, "")
    if protection == ALWAYS:
        text = "It is protected from deletion: the API server refuses each (Always)."
    elif protection == CASCADING:
        why = await parts(question, obj)
        held = f"refuses it now: {why}" if why else "allows it now"
        text = f"It is protected from deletion with its parts: the API server {held} (Cascading)."
    else:
        return None
    source = Source(kind="spec", name=f"label {DELETION_PROTECTION}", detail=protection)
    advice = f"To delete it, remove the label {DELETION_PROTECTION} first."
    return Explanation(
        healthy=True, area="deletion", reason=protection, text=text, advice=advice, evidence=(source,)
    )
