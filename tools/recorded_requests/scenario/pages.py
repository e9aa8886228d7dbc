"""Pages that are no resources: health, version, metrics, discovery, OpenAPI; and paths that do not exist."""

from __future__ import annotations

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.accepts import ACCEPTS

DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer",
    "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList",
    "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
    *ACCEPTS.values(),
)
OPENAPI = (
    "application/json",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    "application/x-unknown",
    "*/*",
)
HEALTH = ("/healthz", "/readyz", "/livez")
UNKNOWN = (
    "/missing", "/api/", "/api/v2", "/api/v1/", "/api/v1/missing", "/api/v1/namespaces/default/missing/x",
    "/apis/missing.example.com", "/apis/apps/v9", "/apis/apps/v1/missing", "/apis/apps/v1/namespaces",
    "/api/v1/namespaces/default", "/api/v1/namespaces/default/pods/", "/api/v1/pods/x", "/api/v1//pods",
    "/api/v1/watch/pods?timeoutSeconds=1",
    "/api/v1/watch/namespaces/default/pods/x?timeoutSeconds=1", "/api/v1/proxy/x", "/apis/", "//", "/%00",
    "/api/v1/namespaces/a%2Fb/pods", "/api/v1/namespaces/default/pods/..", "/logs/", "/debug/pprof/", "/ui",
    "/configz", "/flagz", "/statusz", "/swagger.json", "/openapi/v9", "/openapi/v3/missing", "/favicon.ico",
)  # fmt: skip


def send_pages(recorder: Recorder) -> None:
    """Read every page in every form."""
    recorder.group("pages")
    send = recorder.send
    for path in HEALTH:
        for query in ("", "?verbose", "?verbose=true&exclude=ping", "?exclude=missing&verbose"):
            send(f"{path}{query}", "GET", path + query)
        for name in ("ping", "etcd", "missing", "poststarthook/missing"):
            send(f"{path}/{name}", "GET", f"{path}/{name}")
    for path in (
        "/",
        "/version",
        "/version/",
        "/metrics",
        "/metrics/slis",
        "/.well-known/openid-configuration",
        "/openid/v1/jwks",
    ):
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            send(f"{method} {path}", method, path)
        send(f"{path} as table", "GET", path, headers={"Accept": ACCEPTS["table"]})
    for path in UNKNOWN:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            send(f"{method} {path}", method, path)
    recorder.group("discovery")
    for path in ("/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"):
        for accept in DISCOVERY:
            send(f"{path} as {accept}", "GET", path, headers={"Accept": accept})
        tag = send(f"{path} aggregated", "GET", path, headers={"Accept": DISCOVERY[0]}).header("etag")
        headers = {"Accept": DISCOVERY[0], "If-None-Match": tag or "x"}
        send(f"{path} unchanged", "GET", path, headers=headers)


def send_openapi(recorder: Recorder) -> dict[str, Json]:
    """Read the OpenAPI documents and return the schemas of all groups, by group and version."""
    recorder.group("openapi")
    for accept in OPENAPI:
        recorder.send(f"v2 as {accept}", "GET", "/openapi/v2", headers={"Accept": accept})
        recorder.send(f"index as {accept}", "GET", "/openapi/v3", headers={"Accept": accept})
    found: dict[str, Json] = {}
    for name, about in recorder.send("index", "GET", "/openapi/v3").json()["paths"].items():
        document = recorder.send(f"v3 {name}", "GET", f"/openapi/v3/{name}")
        headers = {"If-None-Match": document.header("etag")}
        recorder.send(f"v3 {name} unchanged", "GET", f"/openapi/v3/{name}", headers=headers)
        recorder.send(f"v3 {name} by hash", "GET", about["serverRelativeURL"])
        recorder.send(f"v3 {name} as protobuf", "GET", f"/openapi/v3/{name}", headers={"Accept": OPENAPI[2]})
        found[name.split("/", 1)[-1]] = document.json().get("components", {}).get("schemas", {})
    return found
