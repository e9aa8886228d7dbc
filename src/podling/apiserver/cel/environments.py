"""The variables of expressions in admission, with their types.

``object`` and ``oldObject`` have any type; variables that a request lacks are null.
Upstream: ``BuildRequestType`` and ``BuildNamespaceType`` in ``apiserver/pkg/admission/plugin/cel``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.apiserver.cel.authorization import AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE
from podling.apiserver.cel.mutations import CONSTRUCTORS
from podling.apiserver.cel.types import BOOL, DYN, INT, STRING, Field, Type, list_of, map_of

TIMESTAMP = Type("timestamp")
REQUEST_RESOURCE = "authorizer.requestResource"


def object_of(name: str, fields: Mapping[str, Type]) -> Type:
    """Return a type of objects, by the name that messages have for it."""
    found = {key: Field(key, type_) for key, type_ in fields.items()}
    return Type("object", label=f"kubernetes.{name}", fields=found)


_TEXTS = map_of(STRING, STRING)
_KIND = object_of("GroupVersionKind", {"group": STRING, "version": STRING, "kind": STRING})
_RESOURCE = object_of("GroupVersionResource", {"group": STRING, "version": STRING, "resource": STRING})
_USER = object_of(
    "UserInfo",
    {
        "username": STRING,
        "uid": STRING,
        "groups": list_of(STRING),
        "extra": map_of(STRING, list_of(STRING)),
    },
)
REQUEST = object_of(
    "AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
NAMESPACE_METADATA = {
    "name": STRING,
    "generateName": STRING,
    "namespace": STRING,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "uid": STRING,
    "creationTimestamp": TIMESTAMP,
    "deletionGracePeriodSeconds": INT,
    "deletionTimestamp": TIMESTAMP,
    "generation": INT,
    "resourceVersion": STRING,
    "finalizers": list_of(STRING),
}
_CONDITION = object_of(
    "NamespaceCondition",
    {
        "type": STRING,
        "status": STRING,
        "reason": STRING,
        "message": STRING,
        "lastTransitionTime": TIMESTAMP,
    },
)
NAMESPACE = object_of(
    "Namespace",
    {
        "metadata": object_of("NamespaceMetadata", NAMESPACE_METADATA),
        "spec": object_of("NamespaceSpec", {"finalizers": list_of(STRING)}),
        "status": object_of("NamespaceStatus", {"phase": STRING, "conditions": list_of(_CONDITION)}),
    },
)


def environment(
    *,
    params: Type | None = None,
    authorizer: bool = True,
    variables: Mapping[str, Type] | None = None,
    objects: Type = DYN,
    mutations: bool = False,
) -> dict[str, Type]:
    """Return the names of an environment.

    Args:
        params: the type of ``params``; None if there are none.
        variables: the types of the policy's variables; None where they cannot be used.
        objects: the type of ``object`` and ``oldObject``.
        mutations: whether objects and patches can be made.
    """
    found = {"object": objects, "oldObject": objects, "request": REQUEST, "namespaceObject": NAMESPACE}
    if params is not None:
        found["params"] = params
    if authorizer:
        found |= {"authorizer": AUTHORIZER_TYPE, REQUEST_RESOURCE: RESOURCE_CHECK_TYPE}
    if variables is not None:
        found["variables"] = object_of("variables", variables)
    if mutations:
        found |= CONSTRUCTORS
    return found
