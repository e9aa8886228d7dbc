"""Objects from fragments of manifests, prepared and validated by the rules of their kind."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from msgspec import structs

from podling.api.core_v1 import Pod, Service
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.registry import rules_for
from podling.machinery.encoding import intake
from podling.machinery.scheme import Resource, resource_of
from tests.support.causes import Cause, causes

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

PLAIN_POD: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}], "serviceAccountName": "default"},
}


def valid_objects() -> list[dict[str, Any]]:
    """Return one object of every stored kind, with as many compatible fields as possible."""
    found: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("valid_objects.yaml").read_text())
    return found


def sent(resource: Resource, document: dict[str, Any]) -> Any:
    """The object as written, but for what has to be there before it, and with what else chance chooses."""
    made, _ = intake.convert(document, resource.type, "Strict")
    if isinstance(made, Pod):
        return structs.replace(made, spec=structs.replace(made.spec, priority_class_name="", priority=None))
    if isinstance(made, Service):
        ports = tuple(structs.replace(each, node_port=30_100 + at) for at, each in enumerate(made.spec.ports))
        spec = structs.replace(made.spec, ports=ports, health_check_node_port=30_200)
        return structs.replace(made, spec=spec)
    return made


PLAIN_JOB: dict[str, Any] = {
    "metadata": {"name": "sum", "namespace": "default", "uid": "u1"},
    "spec": {
        "template": {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}}
    },
}
INDEXED = "completionMode: Indexed, completions: 3, parallelism: 3"
"""For the spec of a Job."""


def merged(base: Any, fragment: Any) -> Any:
    """Merge maps; null removes. Replace scalars and lists, except for lists of one map."""
    if isinstance(base, dict) and isinstance(fragment, dict):
        found = {key: merged(base.get(key), value) for key, value in fragment.items()}
        return {key: value for key, value in {**base, **found}.items() if value is not None}
    return fragment


def obj(kind: type[Any], text: str, base: Any = None) -> Any:
    """Return an object of ``kind`` from YAML, on top of ``base``; neither defaulted nor prepared."""
    resource = resource_of(kind)
    plain = merged(base or {}, yaml.safe_load(text) or {})
    named = {"apiVersion": resource.group_version, "kind": resource.kind, **plain}
    made, _ = intake.convert(named, kind, "Strict")
    return made


def rules(kind: type[Any]) -> KindRules[Any]:
    return rules_for(resource_of(kind))


def created(thing: Any, *, user: str = "") -> Any:
    """Return ``thing`` defaulted and prepared as for its creation."""
    own = rules(type(thing))
    return own.prepare_create(own.default(thing), Context(NOW, user))


def pod(text: str) -> Pod:
    """Return a pod with one plain container, changed by a fragment, ready to be validated."""
    made: Pod = created(obj(Pod, text, PLAIN_POD))
    return made


def creation_causes(thing: Any) -> list[Cause]:
    """Return the API's causes for the creation of ``thing``, which was defaulted and prepared."""
    return causes(rules(type(thing)).validate(thing, Context(NOW)))


def change_causes(new: Any, old: Any, subresource: str = "") -> list[Cause]:
    """Return the API's causes for an update, after the rules have restored read-only fields."""
    own, context = rules(type(old)), Context(NOW, subresource=subresource)
    prepared = own.prepare_update(own.default(new), old, context)
    return causes(own.validate_update(prepared, old, context))


def container(text: str) -> str:
    """Return a manifest whose only container has these fields, too."""
    return f"spec: {{containers: [{{name: main, image: nginx, {text}}}]}}"
