"""The functions on texts, lists, optionals, URLs, addresses and quantities that CEL has in Kubernetes.

Names and meaning: ``google/cel-spec``, ``google/cel-go/ext`` (strings, sets) and
``k8s.io/apiserver/pkg/cel/library``. Loaded by ``functions``' users through ``compiler``.
"""

from __future__ import annotations

import functools
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import re2

from podling.apiserver.cel.functions import Function, Optional, add, inside, same, to_string
from podling.machinery import quantity as quantities

_VERB = re.compile(r"%(%|(?:\.(\d+))?([sdfexXob]))")


def _format(template: str, values: Iterable[Any]) -> str:
    """``'%d of %s'.format([1, 'a'])``."""
    left = iter(values)

    def shown(match: re.Match[str]) -> str:
        if match.group(1) == "%":
            return "%"
        value, digits, verb = next(left), match.group(2), match.group(3)
        if verb == "s":
            return to_string(value)
        if verb in "fe":
            return f"{float(value):.{digits or 6}{verb}}"
        return f"{int(value):{verb}}"

    return _VERB.sub(shown, template)


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not 0 <= start <= last <= len(text):
        raise IndexError(f"index out of range: {start}")
    return text[start:last]


def _char_at(text: str, index: int) -> str:
    return _substring(text, index, index + 1) if index < len(text) else _substring(text, index)


def _ascii(change: Callable[[str], str]) -> Function:
    return lambda text: "".join(change(each) if each.isascii() else each for each in text)


def _split(text: str, by: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    return text.split(by, limit - 1 if limit > 0 else -1) if by else list(text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group(0) for match in re2.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _find(text: str, pattern: str) -> str:
    found = re2.search(pattern, text)
    return found.group(0) if found else ""


def _strings() -> None:
    for target, arguments in (("string|bytes|list(A)|map(A,B)", ""), ("", "string"), ("", "bytes")):
        add("size", target, arguments, "int", len)
    add("size", "", "list(A)", "int", len)
    add("size", "", "map(A,B)", "int", len)
    for name, run in (
        ("contains", lambda a, b: b in a),
        ("startsWith", str.startswith),
        ("endsWith", str.endswith),
    ):
        add(name, "string", "string", "bool", run)
    matches: Function = lambda text, pattern: re2.search(pattern, text) is not None  # noqa: E731
    add("matches", "string", "string", "bool", matches)
    add("matches", "", "string string", "bool", matches)
    add("find", "string", "string", "string", _find)
    add("findAll", "string", "string", "list(string)", _find_all)
    add("findAll", "string", "string int", "list(string)", _find_all)
    add("charAt", "string", "int", "string", _char_at)
    add("indexOf", "string", "string", "int", str.find)
    add("indexOf", "string", "string int", "int", str.find)
    add("lastIndexOf", "string", "string", "int", str.rfind)
    add(
        "lastIndexOf",
        "string",
        "string int",
        "int",
        lambda text, what, at: text.rfind(what, 0, at + len(what)),
    )
    add("lowerAscii", "string", "", "string", _ascii(str.lower))
    add("upperAscii", "string", "", "string", _ascii(str.upper))
    add("replace", "string", "string string", "string", str.replace)
    add("replace", "string", "string string int", "string", str.replace)
    add("split", "string", "string", "list(string)", _split)
    add("split", "string", "string int", "list(string)", _split)
    add("substring", "string", "int", "string", _substring)
    add("substring", "string", "int int", "string", _substring)
    add("trim", "string", "", "string", str.strip)
    add("reverse", "string", "", "string", lambda text: text[::-1])
    add("join", "list(string)", "", "string", "".join)
    add("join", "list(string)", "string", "string", lambda items, by: by.join(items))
    add("format", "string", "list(dyn)", "string", _format)


def _index(items: list[Any], what: Any) -> int:
    return next((at for at, each in enumerate(items) if same(each, what)), -1)


def _last_index(items: list[Any], what: Any) -> int:
    return max((at for at, each in enumerate(items) if same(each, what)), default=-1)


def _sum(items: list[Any]) -> Any:
    return functools.reduce(lambda left, right: left + right, items) if items else 0


def _all_within(items: list[Any], where: list[Any]) -> bool:
    return all(inside(each, where) for each in items)


def _lists() -> None:
    add(
        "isSorted",
        "list(A)",
        "",
        "bool",
        lambda items: all(a <= b for a, b in itertools.pairwise(items)),
    )
    for name, run in (("sum", _sum), ("min", min), ("max", max)):
        add(name, "list(A)", "", "A", run)
    add("indexOf", "list(A)", "A", "int", _index)
    add("lastIndexOf", "list(A)", "A", "int", _last_index)
    add("sets.contains", "", "list(A) list(A)", "bool", lambda a, b: _all_within(b, a))
    add(
        "sets.equivalent", "", "list(A) list(A)", "bool", lambda a, b: _all_within(a, b) and _all_within(b, a)
    )
    add("sets.intersects", "", "list(A) list(A)", "bool", lambda a, b: any(inside(each, b) for each in a))


def _value(found: Optional) -> Any:
    if not found.present:
        raise ValueError("optional.none() dereference")
    return found.held


def _optionals() -> None:
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
    add(
        "optional.ofNonZeroValue",
        "",
        "A",
        "optional(A)",
        lambda value: Optional(value, True) if value else Optional(),
    )


def _works(read: Function) -> Function:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _url(text: str) -> SplitResult:
    found = urlsplit(text)
    if not found.scheme and not text.startswith("/"):
        raise ValueError(
            f"URL parse error during conversion from string: parse {text!r}: invalid URI for request"
        )
    return found


def _quantity(text: str) -> Decimal:
    return Decimal(quantities.parse(str(text)).milli_value) / 1000


def _library() -> None:
    add("url", "", "string", "url", _url)
    add("isURL", "", "string", "bool", _works(_url))
    for name, run in (
        ("getScheme", lambda url: url.scheme),
        ("getHost", lambda url: url.netloc.rpartition("@")[2]),
        ("getHostname", lambda url: url.hostname or ""),
        ("getPort", lambda url: str(url.port or "")),
        ("getEscapedPath", lambda url: url.path),
    ):
        add(name, "url", "", "string", run)
    add(
        "getQuery",
        "url",
        "",
        "map(string,list(string))",
        lambda url: parse_qs(url.query, keep_blank_values=True),
    )
    add("ip", "", "string", "ip", ipaddress.ip_address)
    add("isIP", "", "string", "bool", _works(ipaddress.ip_address))
    add("ip.isCanonical", "", "string", "bool", lambda text: str(ipaddress.ip_address(text)) == text)
    add("family", "ip", "", "int", lambda address: address.version)
    for name, attribute in (
        ("isUnspecified", "is_unspecified"),
        ("isLoopback", "is_loopback"),
        ("isGlobalUnicast", "is_global"),
        ("isLinkLocalUnicast", "is_link_local"),
        ("isLinkLocalMulticast", "is_multicast"),
    ):
        add(name, "ip", "", "bool", lambda address, attribute=attribute: getattr(address, attribute))
    network: Function = lambda text: ipaddress.ip_network(text, strict=False)  # noqa: E731
    add("cidr", "", "string", "cidr", network)
    add("isCIDR", "", "string", "bool", _works(lambda text: network(text) if "/" in text else int("no")))
    add("containsIP", "cidr", "string", "bool", lambda net, text: ipaddress.ip_address(text) in net)
    add("containsIP", "cidr", "ip", "bool", lambda net, address: address in net)
    add("containsCIDR", "cidr", "string", "bool", lambda net, text: network(text).subnet_of(net))
    add("containsCIDR", "cidr", "cidr", "bool", lambda net, other: other.subnet_of(net))
    add("prefixLength", "cidr", "", "int", lambda net: net.prefixlen)
    add("masked", "cidr", "", "cidr", lambda net: net)
    add("quantity", "", "string", "quantity", _quantity)
    add("isQuantity", "", "string", "bool", _works(_quantity))
    add("compareTo", "quantity", "quantity", "int", lambda left, right: (left > right) - (left < right))
    add("isGreaterThan", "quantity", "quantity", "bool", lambda left, right: left > right)
    add("isLessThan", "quantity", "quantity", "bool", lambda left, right: left < right)
    add("isInteger", "quantity", "", "bool", lambda value: value == int(value))
    add("asInteger", "quantity", "", "int", int)
    add("asApproximateFloat", "quantity", "", "double", float)
    add("sign", "quantity", "", "int", lambda value: (value > 0) - (value < 0))
    for other, read in (("quantity", lambda value: value), ("int", Decimal)):
        add("add", "quantity", other, "quantity", lambda left, right, read=read: left + read(right))
        add("sub", "quantity", other, "quantity", lambda left, right, read=read: left - read(right))


for _group in (_strings, _lists, _optionals, _library):
    _group()
