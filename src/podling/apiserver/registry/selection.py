"""Selection of objects by a list, a watch or a deletion of a collection: selectors, parsed once.

Every kind supports ``metadata.name`` and ``metadata.namespace``; a kind's rules name further fields.
A selector over a field that the kind does not support is refused, never ignored. A kind's rules are loaded
only where a selector names such a field: kinds that are only listed and watched never need theirs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from podling import turns
from podling.apiserver.kinds.common.base import KindRules
from podling.client.requests import ListOptions
from podling.machinery import errors, selectors
from podling.machinery.selectors import FieldSelector, LabelSelector, SelectorError
from podling.store.base import Entry

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"

_NO_FIELDS = KindRules[Any]()

SHORT_SELECTOR = 1024
"""To parse selectors of this length takes 2 ms."""


class VersionView(Struct, frozen=True):
    """Stored custom objects in the version of a request, which has another content than the stored one."""

    prepare: Callable[[Sequence[Entry]], Awaitable[None]]
    """Converts entries; without it ``of`` does not know their forms."""
    of: Callable[[Entry], Any]


class Selection(Struct, frozen=True):
    """Parsed selectors. ``everything`` is true when all objects match."""

    labels: LabelSelector
    fields: FieldSelector
    rules: KindRules[Any]
    everything: bool
    view: VersionView | None = None
    """Holder of the version that selectors look at, if not of the stored objects."""

    def matches(self, obj: Any) -> bool:
        if self.everything:
            return True
        return self.labels.matches(obj.metadata.labels) and (
            self.fields.empty or self.fields.matches(self.values(obj))
        )

    def values(self, obj: Any) -> dict[str, str]:
        """Return the selectable fields of ``obj``."""
        metadata = obj.metadata
        return {
            NAME: metadata.name or "",
            NAMESPACE: metadata.namespace or "",
            **self.rules.selectable_fields(obj),
        }

    def exactly(self, field: str) -> str:
        """Return the one value that ``field`` must have, or nothing if there is no such requirement."""
        return self.fields.required_value(field) or ""


def selection(options: ListOptions, rules_of_kind: Callable[[], KindRules[Any]]) -> Selection:
    """Return the selection of ``options``. Raises 400 for malformed selectors."""
    try:
        labels = selectors.parse_label_selector(options.label_selector)
        fields = selectors.parse_field_selector(options.field_selector)
    except SelectorError as error:
        raise errors.bad_request(str(error)) from None
    own = [name for name in fields.fields if name not in (NAME, NAMESPACE)]
    rules = rules_of_kind() if own else _NO_FIELDS
    for name in own:
        if name not in rules.field_labels:
            raise _unknown_field(rules, name)
    everything = labels.empty and fields.empty
    return Selection(labels, fields, rules, everything)


async def long_selection(options: ListOptions, rules_of_kind: Callable[[], KindRules[Any]]) -> Selection:
    """Return the selection of ``options``; long selectors are parsed beside the loop. Raises 400."""
    if len(options.label_selector) + len(options.field_selector) <= SHORT_SELECTOR:
        return selection(options, rules_of_kind)
    return await turns.in_thread(selection, options, rules_of_kind)


def _unknown_field(rules: KindRules[Any], name: str) -> errors.ApiError:
    """400; clients themselves say which list it was."""
    if rules.field_labels:
        return errors.bad_request(f"field label not supported: {name}")
    return errors.bad_request(f'"{name}" is not a known field selector: only "{NAME}", "{NAMESPACE}"')
