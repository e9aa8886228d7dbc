"""Requests made to be expensive: bodies of many values, patches that multiply, long answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from podling.machinery.encoding.body_limits import VALUES_MAX
from tests.support.request_costs import EDITOR, TENANT, Asked

CORE = f"/api/v1/namespaces/{TENANT}"
APPS = f"/apis/apps/v1/namespaces/{TENANT}"
NETWORKING = f"/apis/networking.k8s.io/v1/namespaces/{TENANT}"
NETWORK = "networking.k8s.io/v1"
BODY = 3 * 1024 * 1024 - 1024
MOST = VALUES_MAX - 100
"""The number of values that a body may have, with the JSON around them."""
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
STRATEGIC, PATCH = "application/strategic-merge-patch+json", "application/json-patch+json"
YAML, PROTOBUF = "application/yaml", "application/vnd.kubernetes.protobuf"


def _new(path: str, body: bytes | dict[str, Any], content_type: str = "application/json") -> Asked:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked("POST", path, data, content_type, EDITOR)


def _patch(path: str, body: bytes | Any, content_type: str, manager: str = "a") -> Asked:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked("PATCH", f"{path}?fieldManager={manager}&force=true", data, content_type, EDITOR)


def _get(path: str, **headers: str) -> Asked:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Asked("GET", path, user=EDITOR, headers=named)


def _config(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _with_list(version: str, kind: str, where: str, item: bytes, count: int) -> bytes:
    """An object with a list of the same item; ``where``: the JSON around it, with ``%s`` in its place."""
    items = b",".join([item] * count)
    head = f'{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"many"'.encode()
    return head + where.encode() % items + b"}"


LISTS = (
    (f"{CORE}/configmaps", "v1", "ConfigMap", '},"x":[%s]', b"{}"),
    (f"{CORE}/configmaps", "v1", "ConfigMap", '},"x":[%s]', b"[]"),
    (f"{CORE}/configmaps", "v1", "ConfigMap", ',"ownerReferences":[%s]}', b"{}"),
    (f"{CORE}/configmaps", "v1", "ConfigMap", ',"managedFields":[%s]}', b"{}"),
    (f"{CORE}/configmaps", "v1", "ConfigMap", ',"finalizers":[%s]}', b'""'),
    (f"{CORE}/pods", "v1", "Pod", '},"spec":{"containers":[%s]}', b"{}"),
    (f"{CORE}/services", "v1", "Service", '},"spec":{"ports":[%s]}', b"{}"),
    (f"{NETWORKING}/ingresses", NETWORK, "Ingress", '},"spec":{"rules":[%s]}', b"{}"),
    (f"{NETWORKING}/networkpolicies", NETWORK, "NetworkPolicy", '},"spec":{"egress":[%s]}', b"{}"),
)  # fmt: skip
"""Paths to create objects at, their kinds, and lists inside of them with the smallest items."""


def _lists() -> Iterator[Asked]:
    for path, version, kind, where, item in LISTS:
        for count in (BODY // (len(item) + 1), MOST // 2, MOST // 8):
            yield _new(path, _with_list(version, kind, where, item, count))


def _texts() -> Iterator[Asked]:
    """Bodies in YAML and protobuf, and numbers and texts of all kinds."""
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n"
    yield _new(f"{CORE}/configmaps", head + b"x: [" + b"{}," * (BODY // 3) + b"]", YAML)
    yield _new(f"{CORE}/configmaps", head + b"x: [" + b"&a ~," * (BODY // 5) + b"]", YAML)
    yield _new(f"{CORE}/configmaps", head + b"x: &x [1]\ny: [" + b"*x," * (MOST - 9) + b"]", YAML)
    envelope = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x80\x80\xa0\x01"
    yield _new(f"{CORE}/configmaps", envelope + b"\x12\x00" * (1280 * 1024), PROTOBUF)
    yield _new(f"{CORE}/configmaps", b"k8s\0" + b"\xff" * BODY, PROTOBUF)
    yield _new(f"{CORE}/configmaps", b'{"x":' + b"9" * (BODY - 9) + b"}")
    yield _new(f"{CORE}/configmaps", b'{"x":"' + b"\\u00e9" * (BODY // 6 - 9) + b'"}')
    yield _new(f"{CORE}/configmaps", b'{"x":"' + b'\\"{' * (BODY // 3 - 9))
    yield _new(f"{CORE}/configmaps", _config("a", {}) | {"metadata": {"name": "a", "labels": _keys(MOST)}})


def _keys(count: int, value: str = "") -> dict[str, str]:
    return {f"k{number}": value for number in range(count)}


def _patches() -> Iterator[Asked]:
    """Patches and applies of large objects, which are made first."""
    large, keys = f"{CORE}/configmaps/large", f"{CORE}/configmaps/keys"
    yield _new(f"{CORE}/configmaps", _config("large", {"x": "x" * 1_000_000}))
    copies = [{"op": "copy", "from": "/z", "path": f"/z/k{number}"} for number in range(24)]
    yield _patch(large, [{"op": "add", "path": "/z", "value": {}}, *copies], PATCH)
    yield _patch(large, [{"op": "copy", "from": "/data", "path": f"/d{n}"} for n in range(9)], PATCH)
    yield _patch(large, [{"op": "add", "path": f"/data/k{n}", "value": ""} for n in range(9_000)], PATCH)
    yield _patch(keys, _config("keys", _keys(MOST)), APPLY)
    yield _patch(keys, _config("keys", _keys(MOST, "a")), APPLY, "b")
    yield _patch(keys, {"data": dict.fromkeys(_keys(MOST))}, MERGE)
    for content_type in (MERGE, STRATEGIC):
        yield _patch(large, b'{"x":[' + b"{}," * (MOST // 2) + b"{}]}", content_type)
    ports = [{"port": n % 65_535 + 1, "name": f"p{n}"} for n in range(MOST // 3)]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}}
    yield _patch(f"{CORE}/services/s", service, APPLY)
    containers = [{"name": f"c{n}", "image": "i"} for n in range(MOST // 3)]
    yield _patch(f"{APPS}/deployments/d", _deployment(containers), APPLY)
    env = [{"name": f"E{n}", "value": "x"} for n in range(MOST // 3)]
    yield _new(f"{APPS}/deployments", _deployment([{"name": "c", "image": "i", "env": env}]))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": env[::-1]}]}}}}
    yield _patch(f"{APPS}/deployments/d", change, STRATEGIC)


def _deployment(containers: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def _reads() -> Iterator[Asked]:
    """Long lists in every form, and long selectors."""
    for number in range(60):
        yield _new(f"{CORE}/configmaps", _config(f"many-{number}", {"x": "x" * 1_000_000}))
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    yield _get(f"{CORE}/configmaps")
    yield _get(f"{CORE}/configmaps", Accept_Encoding="gzip")
    yield _get(f"{CORE}/configmaps?pretty=true")
    yield _get(f"{CORE}/configmaps", Accept=YAML)
    yield _get(f"{CORE}/configmaps?includeObject=Object", Accept=table)
    yield _get(f"{CORE}/configmaps?labelSelector=" + ",".join(f"a{n}" for n in range(9_000)))
    yield _get(f"{CORE}/configmaps?labelSelector=a+in+(" + ",".join(f"a{n}" for n in range(9_000)) + ")")
    yield _get(f"{CORE}/configmaps?fieldSelector=" + ",".join(f"metadata.name!=a{n}" for n in range(2_500)))
    yield _get("/openapi/v2")
    yield _get("/openapi/v3/api/v1")
    access = {"verb": "v" * (BODY - 999)}
    for kind in ("SelfSubjectAccessReview", "SelfSubjectRulesReview"):
        review = {"kind": kind, "apiVersion": "authorization.k8s.io/v1"}
        spec = {"resourceAttributes": access} if "Access" in kind else {"namespace": TENANT}
        yield _new(f"/apis/authorization.k8s.io/v1/{kind.lower()}s", {**review, "spec": spec})
    yield Asked("DELETE", f"{CORE}/configmaps", user=EDITOR)


def hostile_requests() -> Iterator[Asked]:
    """Return all hostile requests; objects are created before requests change them."""
    yield from _lists()
    yield from _texts()
    yield from _patches()
    yield from _reads()


def anonymous_requests() -> Iterator[Asked]:
    """Return the same without a credential, and heads and paths that only an attacker sends."""
    for each in hostile_requests():
        yield Asked(each.method, each.path, each.body, each.content_type, "", each.headers)
    long = "x" * 60_000
    for name, value in (
        ("Authorization", f"Bearer {long}"),
        ("Authorization", "Bearer " + ".".join(("e30", "e30", "e30"))),
        ("Authorization", "Basic " + long),
        ("Accept", ",".join(["application/json;q=0.1"] * 2_500)),
        ("Impersonate-User", long),
        ("Cookie", ";".join(["a=b"] * 15_000)),
        ("Accept-Encoding", "gzip," * 10_000),
    ):
        for path in ("/", "/version", "/api/v1/pods", "/openapi/v2", "/apis", "/metrics", "/readyz?verbose"):
            yield Asked("GET", path, headers=((name, value),))
    for path in (
        "/" + long,
        "/a" * 30_000,
        "/%2f" * 15_000,
        f"/api/v1/pods?{'a=b&' * 15_000}",
        f"/api/v1/pods?labelSelector={'a,' * 30_000}",
        f"/api/v1/namespaces/{long}/pods/{'y' * 4_000}",
        "/apis/" + "/".join(["a"] * 30_000),
    ):
        yield Asked("GET", path)
