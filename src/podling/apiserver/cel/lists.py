"""CEL's functions on lists and optionals: Kubernetes' own, and the extensions ``lists``, ``sets`` and
``optional``.

Source: ``k8s.io/apiserver/pkg/cel/library/lists.go``; ``google/cel-go`` (``ext/lists.go``, ``ext/sets.go``,
``cel/library.go``).
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from podling.apiserver.cel.functions import add
from podling.apiserver.cel.values import Members, Optional, Unsigned, kind_of, same

COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS = {"int": 0, "uint": Unsigned(0), "double": 0.0, "duration": timedelta()}


def _is_sorted(items: list[Any]) -> bool:
    return not any(a > b for a, b in itertools.pairwise(items))


def _least(items: list[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return min(items)


def _greatest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return max(items)


def _index(items: list[Any], what: Any) -> int:
    return next((at for at, each in enumerate(items) if same(each, what)), -1)


def _last_index(items: list[Any], what: Any) -> int:
    return max((at for at, each in enumerate(items) if same(each, what)), default=-1)


def _add_lists() -> None:
    for target, arguments in (("string|bytes|list(A)|map(A,B)", ""), ("", "string"), ("", "bytes")):
        add("size", target, arguments, "int", len)
    add("size", "", "list(A)", "int", len)
    add("size", "", "map(A,B)", "int", len)
    for kind in COMPARABLE:
        add("isSorted", f"list({kind})", "", "bool", _is_sorted)
        add("min", f"list({kind})", "", kind, _least)
        add("max", f"list({kind})", "", kind, _greatest)
        add("sort", f"list({kind})", "", f"list({kind})", sorted)
    for kind, zero in _ZEROS.items():
        add("sum", f"list({kind})", "", kind, lambda items, zero=zero: sum(items, zero))
    add("indexOf", "list(A)", "A", "int", _index)
    add("lastIndexOf", "list(A)", "A", "int", _last_index)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    what = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise ValueError(what + "negative indexes not supported")
    if start > end:
        raise ValueError(what + "start index must be less than or equal to end index")
    if end > len(items):
        raise ValueError(what + f"list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    found: list[Any] = []
    for each in items:
        if isinstance(each, list) and depth:
            found += _flatten(each, depth - 1)
        else:
            found.append(each)
    return found


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    known = Members()
    for each in items:
        if each not in known:
            known.add(each)
            found.append(each)
    return found


def in_order(items: list[Any], keys: list[Any]) -> list[Any]:
    """``items`` in the order of their ``keys``. Raises ``ValueError``."""
    kinds = {kind_of(key) for key in keys}
    if len(kinds) > 1:
        raise ValueError("list elements must have the same type")
    if kinds - set(COMPARABLE):
        raise ValueError("list elements must be comparable")
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]


def _add_more_lists() -> None:
    add("slice", "list(A)", "int int", "list(A)", _slice)
    add("flatten", "list(list(A))", "", "list(A)", _flatten)
    add("flatten", "list(dyn)", "int", "list(dyn)", _flatten)
    add("distinct", "list(A)", "", "list(A)", _distinct)
    add("reverse", "list(A)", "", "list(A)", lambda items: items[::-1])
    add("lists.range", "", "int", "list(int)", lambda count: list(range(count)))
    add("sets.contains", "", "list(A) list(A)", "bool", lambda a, b: _all_within(b, a))
    add(
        "sets.equivalent", "", "list(A) list(A)", "bool", lambda a, b: _all_within(a, b) and _all_within(b, a)
    )
    add("sets.intersects", "", "list(A) list(A)", "bool", _any_within)


def _all_within(items: list[Any], where: list[Any]) -> bool:
    known = Members(where)
    return all(each in known for each in items)


def _any_within(items: list[Any], where: list[Any]) -> bool:
    known = Members(where)
    return any(each in known for each in items)


def _value(found: Optional) -> Any:
    if not found.present:
        raise ValueError("optional.none() dereference")
    return found.held


def _end(items: list[Any], at: int) -> Optional:
    return Optional(items[at], True) if items else Optional()


def _unwrapped(items: list[Optional]) -> list[Any]:
    return [each.held for each in items if each.present]


_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)


def _nonzero(value: Any) -> Optional:
    there = value.present if isinstance(value, Optional) else bool(value) and value != _FIRST_MOMENT
    return Optional(value, True) if there else Optional()


def _add_optionals() -> None:
    add("hasValue", "optional(A)", "", "bool", lambda found: found.present)
    add("value", "optional(A)", "", "A", _value)
    add("orValue", "optional(A)", "A", "A", lambda found, other: found.held if found.present else other)
    add(
        "or",
        "optional(A)",
        "optional(A)",
        "optional(A)",
        lambda found, other: found if found.present else other,
    )
    add("optional.of", "", "A", "optional(A)", lambda value: Optional(value, True))
    add("optional.none", "", "", "optional(dyn)", Optional)
    add("optional.ofNonZeroValue", "", "A", "optional(A)", _nonzero)
    add("optional.unwrap", "", "list(optional(A))", "list(A)", _unwrapped)
    add("unwrapOpt", "list(optional(A))", "", "list(A)", _unwrapped)
    add("first", "list(A)", "", "optional(A)", lambda items: _end(items, 0))
    add("last", "list(A)", "", "optional(A)", lambda items: _end(items, -1))


for _group in (_add_lists, _add_more_lists, _add_optionals):
    _group()
