"""Selectors in questions about access: what they say, and what of them cannot be read.

What cannot be read narrows nothing, and the answer tells so: a question about less is answered like one about
all. Pure.

Upstream: ``pkg/registry/authorization/util/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.authorization_v1 import (
    FieldSelectorAttributes,
    LabelSelectorAttributes,
    ResourceAttributes,
)
from podling.api.meta_v1 import LabelSelector
from podling.machinery.selectors import (
    SelectorError,
    from_label_selector,
    parse_field_selector,
    parse_label_selector,
)

_PATH = "spec.resourceAttributes"


def wanted_fields(selector: FieldSelectorAttributes | None) -> tuple[Mapping[str, str], str]:
    """The fields that must have one value, and what is to be told of terms that cannot be read."""
    if selector is None:
        return {}, ""
    if selector.raw_selector:
        try:
            terms = parse_field_selector(selector.raw_selector).terms
        except SelectorError:
            return {}, _ignored("fieldSelector", some=False)
        return {term.field: term.value for term in terms if term.equal}, ""
    known = [
        each for each in selector.requirements if each.operator in ("In", "NotIn") and len(each.values) == 1
    ]
    found = {each.key: each.values[0] for each in known if each.operator == "In"}
    if len(known) == len(selector.requirements):
        return found, ""
    return found, _ignored("fieldSelector", some=bool(known))


def unread_labels(selector: LabelSelectorAttributes | None) -> str:
    """What is to be told of terms of a label selector that cannot be read; nobody decides by the others."""
    if selector is None:
        return ""
    if selector.raw_selector:
        try:
            parse_label_selector(selector.raw_selector)
        except SelectorError:
            return _ignored("labelSelector", some=False)
        return ""
    known = 0
    for each in selector.requirements:
        try:
            from_label_selector(LabelSelector(match_expressions=(each,)))
        except SelectorError:
            continue
        known += 1
    return "" if known == len(selector.requirements) else _ignored("labelSelector", some=known > 0)


def on_node(resource: ResourceAttributes, fields: Mapping[str, str]) -> str:
    """The node whose pods alone are asked about."""
    pods = (resource.group or "", resource.resource) == ("", "pods")
    return fields.get("spec.nodeName", "") if pods else ""


def _ignored(name: str, *, some: bool) -> str:
    return f"{_PATH}.{name} {'partially ' if some else ''}ignored due to parse error"
