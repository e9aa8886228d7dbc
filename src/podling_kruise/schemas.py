"""Pieces of the schemas of definitions. Pure.

A schema says what the API server checks and what ``kubectl explain`` shows. Pod templates are left open, as
OpenKruise leaves them: admission checks them as pods are checked.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

INT_OR_STRING: Schema = {"x-kubernetes-int-or-string": True}
MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def number(bits: int = 32, **limits: int) -> Schema:
    return {"type": "integer", "format": f"int{bits}", **limits}


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def record(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Return the schema of a map with these fields."""
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def items(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


SELECTOR = record(
    matchLabels=described(MAP, "Labels that all selected pods have."),
    matchExpressions=items(record(("key", "operator"), key=TEXT, operator=TEXT, values=TEXTS)),
)

HOOK = record(
    labelsHandler=described(MAP, "Labels that hold a pod back while it has one of them."),
    finalizersHandler=described(TEXTS, "Finalizers that hold a pod back while it has one of them."),
    markPodNotReady=described(FLAG, "Make the pod not ready while it is held back."),
)
LIFECYCLE = record(
    preDelete=described(HOOK, "Holds a pod before it is deleted."),
    inPlaceUpdate=described(HOOK, "Holds a pod before and after it is updated in place."),
    preNormal=described(HOOK, "Holds a new pod until it has all of the hook."),
)
PRIORITY = record(
    orderPriority=items(record(("orderedKey",), orderedKey=TEXT)),
    weightPriority=items(record(("weight", "matchSelector"), weight=number(), matchSelector=SELECTOR)),
)
SCATTER = items(record(("key", "value"), key=TEXT, value=TEXT))

CONDITIONS = items(
    record(
        ("type", "status"),
        type=TEXT,
        status=TEXT,
        lastUpdateTime=TIME,
        lastTransitionTime=TIME,
        reason=TEXT,
        message=TEXT,
    )
)


def column(name: str, path: str, text: str = "", kind: str = "integer", priority: int = 0) -> dict[str, Any]:
    """Return a column of ``kubectl get``."""
    found = {"name": name, "type": kind, "jsonPath": path, "description": text, "priority": priority}
    return {key: value for key, value in found.items() if value}
