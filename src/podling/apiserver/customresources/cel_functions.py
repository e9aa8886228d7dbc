"""The functions that Kubernetes adds to CEL: lists, strings, patterns, URLs, addresses, quantities.

Names and meaning: ``k8s.io/apiserver/pkg/cel/library`` and ``google/cel-go/ext`` (strings). A method is a
function whose first argument is what stands before the dot.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import re2
from celpy import celtypes
from celpy.evaluation import CELEvalError

from podling.machinery import quantity as quantities

Function = Callable[..., Any]


class Optional:
    """``oldSelf`` of a rule that asked for it to be optional."""

    def __init__(self, value: Any) -> None:
        self.held = value


class _Sets:
    """What ``sets`` stands for in ``sets.contains(a, b)``: calls of its own name."""


SETS = _Sets()


def _contains(where: Any, *what: Any) -> Any:
    if where is SETS:
        whole, part = what
        return celtypes.BoolType(all(each in whole for each in part))
    return celtypes.BoolType(what[0] in where)


def _equivalent(_sets: Any, left: Any, right: Any) -> Any:
    return celtypes.BoolType(all(each in right for each in left) and all(each in left for each in right))


def _intersects(_sets: Any, left: Any, right: Any) -> Any:
    return celtypes.BoolType(any(each in right for each in left))


_VERB = re.compile(r"%(%|(?:\.(\d+))?([sdfexXob]))")


def _format(template: str, values: Any) -> str:
    """``'%d of %s'.format([1, 'a'])``."""
    left = iter(values)

    def shown(match: re.Match[str]) -> str:
        if match.group(1) == "%":
            return "%"
        value, digits, verb = next(left), match.group(2), match.group(3)
        if verb == "s":
            return ("true" if value else "false") if isinstance(value, celtypes.BoolType) else str(value)
        if verb in "fe":
            return f"{float(value):.{digits or 6}{verb}}"
        return f"{int(value):{verb}}"

    return _VERB.sub(shown, template)


def _failing(function: Function) -> Function:
    """Errors of Python as errors of the expression."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (ValueError, TypeError, IndexError, ArithmeticError, AttributeError, StopIteration) as error:
            raise CELEvalError(str(error), type(error), error.args) from None

    return call


def _has_value(found: Optional) -> Any:
    return celtypes.BoolType(found.held is not None)


def _value(found: Optional) -> Any:
    if found.held is None:
        raise ValueError("optional.none() dereference")
    return found.held


def _or_value(found: Optional, other: Any) -> Any:
    return other if found.held is None else found.held


def _is_sorted(items: Any) -> Any:
    return celtypes.BoolType(all(items[at] <= items[at + 1] for at in range(len(items) - 1)))


def _sum(items: Any) -> Any:
    return functools.reduce(lambda left, right: left + right, items) if items else celtypes.IntType(0)


def _index_of(where: Any, what: Any, start: int = 0) -> Any:
    if isinstance(where, str):
        return celtypes.IntType(where.find(what, start))
    return celtypes.IntType(next((at for at, each in enumerate(where) if each == what), -1))


def _last_index_of(where: Any, what: Any) -> Any:
    if isinstance(where, str):
        return celtypes.IntType(where.rfind(what))
    found = [at for at, each in enumerate(where) if each == what]
    return celtypes.IntType(found[-1] if found else -1)


def _text(function: Callable[..., str]) -> Function:
    return lambda *arguments: celtypes.StringType(function(*arguments))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not 0 <= start <= last <= len(text):
        raise IndexError(f"index out of range: {start}")
    return text[start:last]


def _char_at(text: str, index: int) -> str:
    return _substring(text, index, index + 1) if index < len(text) else ""


def _ascii(change: Callable[[str], str]) -> Function:
    return _text(lambda text: "".join(change(each) if each.isascii() else each for each in text))


def _split(text: str, by: str, limit: int = -1) -> Any:
    if limit == 0:
        return celtypes.ListType([])
    parts = text.split(by, limit - 1 if limit > 0 else -1) if by else list(text)
    return celtypes.ListType([celtypes.StringType(each) for each in parts])


def _join(items: Any, by: str = "") -> str:
    return by.join(str(each) for each in items)


def _find(text: str, pattern: str) -> str:
    found = re2.search(pattern, text)
    return found.group(0) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> Any:
    found = [match.group(0) for match in re2.finditer(pattern, text)]
    wanted = found if limit < 0 else found[:limit]
    return celtypes.ListType([celtypes.StringType(each) for each in wanted])


def _works(read: Function) -> Function:
    def check(text: str) -> Any:
        try:
            read(text)
        except ValueError:
            return celtypes.BoolType(False)
        return celtypes.BoolType(True)

    return check


def _url(text: str) -> SplitResult:
    found = urlsplit(text)
    if not found.scheme and not text.startswith("/"):
        raise ValueError(
            f"URL parse error during conversion from string: parse {text!r}: invalid URI for request"
        )
    return found


def _host(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _query(url: SplitResult) -> Any:
    made = celtypes.MapType()
    for name, items in parse_qs(url.query, keep_blank_values=True).items():
        made[celtypes.StringType(name)] = celtypes.ListType([celtypes.StringType(each) for each in items])
    return made


def _contains_ip(network: Any, address: Any) -> Any:
    return celtypes.BoolType(ipaddress.ip_address(str(address)) in network)


def _quantity(text: str) -> Decimal:
    return Decimal(quantities.parse(str(text)).milli_value) / 1000


def _compare(left: Decimal, right: Decimal) -> Any:
    return celtypes.IntType((left > right) - (left < right))


def _truth(function: Function) -> Function:
    return lambda *arguments: celtypes.BoolType(function(*arguments))


def _whole(function: Function) -> Function:
    return lambda *arguments: celtypes.IntType(function(*arguments))


_FUNCTIONS: dict[str, Function] = {
    # optional values
    "hasValue": _has_value, "value": _value, "orValue": _or_value,
    # sets and strings
    "contains": _contains, "equivalent": _equivalent, "intersects": _intersects, "format": _text(_format),
    # lists
    "isSorted": _is_sorted, "sum": _sum, "min": min, "max": max,
    "indexOf": _index_of, "lastIndexOf": _last_index_of,
    # strings
    "charAt": _text(_char_at), "lowerAscii": _ascii(str.lower), "upperAscii": _ascii(str.upper),
    "replace": _text(_replace), "split": _split, "substring": _text(_substring), "trim": _text(str.strip),
    "join": _text(_join),
    # regular expressions
    "find": _text(_find), "findAll": _find_all,
    # URLs
    "url": _url, "isURL": _works(_url), "getScheme": _text(lambda url: url.scheme), "getHost": _text(_host),
    "getHostname": _text(lambda url: url.hostname or ""),
    "getPort": _text(lambda url: str(url.port or "")), "getEscapedPath": _text(lambda url: url.path),
    "getQuery": _query,
    # addresses
    "ip": ipaddress.ip_address, "isIP": _works(ipaddress.ip_address),
    "family": _whole(lambda address: address.version),
    "cidr": ipaddress.ip_network, "isCIDR": _works(ipaddress.ip_network), "containsIP": _contains_ip,
    "prefixLength": _whole(lambda network: network.prefixlen),
    # quantities
    "quantity": _quantity, "isQuantity": _works(_quantity), "compareTo": _compare,
    "isGreaterThan": _truth(lambda left, right: left > right),
    "isLessThan": _truth(lambda left, right: left < right),
    "isInteger": _truth(lambda value: value == int(value)), "asInteger": _whole(int),
    "asApproximateFloat": lambda value: celtypes.DoubleType(float(value)),
    "sign": _whole(lambda value: (value > 0) - (value < 0)),
    "add": lambda left, right: left + right, "sub": lambda left, right: left - right,
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {name: _failing(each) for name, each in _FUNCTIONS.items()}
"""By name."""
