"""Options objects of connect requests, in the form that admission sees. Pure.

The objects have no other use, so they are plain data; empty fields are left out, as in Go.
Upstream: ``PodExecOptions`` and its neighbours in ``k8s.io/api/core/v1``; ``getRequestOptions`` in
``apiserver/pkg/endpoints/handlers/rest.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from multidict import MultiDict, MultiMapping

from podling.apiserver.http.options import flag
from podling.apiserver.http.resource_paths import Parsed
from podling.machinery import errors
from podling.machinery.numbers import parse_uint

STREAMS = ("stdin", "stdout", "stderr", "tty")


def connect_options(parsed: Parsed, query: MultiMapping[str], path: str) -> dict[str, Any]:
    """Return the options of a connection; ``path`` is the request's whole path. Raises 400."""
    target = parsed.target
    part = target.resource.subresources[target.subresource]
    options: dict[str, Any] = {"kind": part.kind, "apiVersion": part.version}
    if target.subresource == "proxy":
        options |= {"path": where} if (where := proxied_path(parsed.tail, path)) else {}
    elif target.subresource == "portforward":
        options |= {"ports": ports} if (ports := _ports(query.getall("ports", ()))) else {}
    else:
        options |= {name: True for name in STREAMS if flag(query, name)}
        options |= {"container": query["container"]} if query.get("container") else {}
        options |= {"command": list(query.getall("command", ()))} if target.subresource == "exec" else {}
    return options


def proxied_path(tail: str, path: str) -> str:
    """Return the path of a proxied request; empty for the root that a client names without a slash."""
    where = f"/{tail}" if tail else ""
    return where if where.endswith("/") or not path.endswith("/") else f"{where}/"


def _ports(texts: Sequence[str]) -> list[int]:
    """Return the ports of repeated parameters, of lists with commas, or of both. Raises 400.

    Source: ``Convert_Slice_string_To_Slice_int32`` in ``apimachinery/pkg/apis/meta/v1/conversion.go``.
    """
    try:
        return [parse_uint(each, 16) for text in texts for each in text.split(",")]
    except ValueError as error:
        raise errors.bad_request(f"cannot convert to []int32: {error}") from None


def query_of(options: Mapping[str, Any]) -> MultiDict[str]:
    """Options of a stream as the query that the kubelet reads (upstream: ``streamParams``)."""
    query: MultiDict[str] = MultiDict()
    for name, value in options.items():
        if name in STREAMS and value is True:
            query.add(name, "true")
        elif name == "container":
            query.add(name, str(value))
        elif name == "command":
            query.extend((name, str(each)) for each in value)
        elif name == "ports":
            query.add("port", ",".join(map(str, value)))
    return query


def encoded(query: MultiMapping[str]) -> str:
    return urlencode(list(query.items()))
