"""Selectors in access reviews: their requirements, and the errors of malformed ones.

A malformed selector narrows nothing and is reported in the answer: the review is then decided like one
without a selector. Pure.

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
    """Return the fields that must have one value, and the message about malformed requirements."""
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
    """Return the message about malformed label requirements; no authoriser decides by the others."""
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
    """Return the node to which the review of pods is limited."""
    pods = (resource.group or "", resource.resource) == ("", "pods")
    return fields.get("spec.nodeName", "") if pods else ""


def _ignored(name: str, *, some: bool) -> str:
    return f"{_PATH}.{name} {'partially ' if some else ''}ignored due to parse error"
