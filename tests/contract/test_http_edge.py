"""HTTP details of the API server: media types, status codes, headers, and non-resource paths.

Each test uses a real server over TLS; other tests cover the layers behind HTTP in process.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import msgspec
import pytest

from podling.machinery.encoding import codec
from tests.support.custom_resources import definition
from tests.support.served import ServedCluster

MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def config_map(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
def test_discovery_documents_are_served(served: ServedCluster, path: str, kind: str) -> None:
    answer = served.request("GET", path)
    assert (answer.code, answer.json["kind"]) == (200, kind)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["audit-id"]


def test_aggregated_discovery_is_revalidated_by_etag(served: ServedCluster) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    first = served.request("GET", "/apis", accept=accept)
    assert first.json["kind"] == "APIGroupDiscoveryList"
    assert first.headers["content-type"].startswith("application/json;g=apidiscovery.k8s.io;v=v2")
    again = served.request("GET", "/apis", accept=accept, if_none_match=first.headers["etag"])
    assert (again.code, again.body) == (304, b"")


def test_openapi_v2_comes_in_two_forms(served: ServedCluster) -> None:
    plain = served.request("GET", "/openapi/v2")
    assert plain.json["swagger"] == "2.0"
    for accept in (PROTOBUF, f"text/plain, {PROTOBUF};q=0.9", f"{PROTOBUF}, application/json"):
        answer = served.request("GET", "/openapi/v2", accept=accept)
        assert answer.code == 200
        assert answer.headers["content-type"] == PROTOBUF.replace("@", "."), "'@' is in no valid media type"
        assert answer.body.startswith(b"\x0a\x032.0"), "the first field says the version"
        assert answer.headers["vary"] == "Accept"
    tagged = served.request("GET", "/openapi/v2", accept=PROTOBUF, if_none_match=answer.headers["etag"])
    assert tagged.code == 304
    assert answer.headers["etag"] != plain.headers["etag"]
    refused = served.request("GET", "/openapi/v2", accept="text/plain")
    assert (refused.code, refused.body, refused.headers["vary"]) == (406, b"", "Accept")


def test_large_answers_are_compressed_when_accepted(served: ServedCluster) -> None:
    answer = served.request("GET", "/openapi/v2", accept=PROTOBUF, accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert gzip.decompress(answer.body).startswith(b"\x0a\x032.0")


def test_openapi_v3_is_found_through_its_index(served: ServedCluster) -> None:
    index = served.request("GET", "/openapi/v3").json["paths"]
    document = served.request("GET", index["apis/apps/v1"]["serverRelativeURL"])
    assert document.json["openapi"].startswith("3.")
    assert "/apis/apps/v1/namespaces/{namespace}/deployments" in document.json["paths"]
    assert served.request("GET", "/openapi/v3/apis/none/v1").code == 404


@pytest.mark.parametrize("at", ["@", "."])
def test_openapi_v3_comes_in_two_forms(served: ServedCluster, at: str) -> None:
    path, name = "/openapi/v3/apis/apps/v1", "application/com.github.proto-openapi.spec.v3{}v1.0+protobuf"
    url = served.request("GET", "/openapi/v3").json["paths"][path.removeprefix("/openapi/v3/")]
    answer = served.request("GET", url["serverRelativeURL"], accept=f"{name.format(at)},application/json")
    assert answer.headers["content-type"] == name.format(".")
    assert answer.body.startswith(b"\x0a\x053.0.0"), "the first field says the version"
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("Accept", "public, immutable")
    plain = served.request("GET", path, accept=f"text/plain, application/json, {name.format(at)}")
    assert plain.json["openapi"] == "3.0.0"
    assert plain.headers["etag"] != answer.headers["etag"]
    refused = served.request("GET", path, accept="text/plain")
    assert (refused.code, refused.body) == (406, b"")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{MAPS}/none"),
        ("GET", MAPS),
        ("GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0"),
        ("GET", "/openapi/v3/apis/apps/v1?hash=old"),
        ("GET", "/healthz"),
        ("GET", "/nowhere"),
        ("POST", "/version"),
    ],
)
def test_every_answer_carries_common_headers(served: ServedCluster, method: str, path: str) -> None:
    answer = served.request(method, path, audit_id="mine")
    assert answer.headers["audit-id"] == "mine"
    assert answer.headers["cache-control"] == "no-cache, private"
    assert "server" not in answer.headers, "what it is made of is nobody's business"


@pytest.mark.parametrize("path", [MAPS, f"{MAPS}/none", "/healthz", "/version"])
@pytest.mark.parametrize(
    "line", ["GET {} HTTP/1.1", "GET {} HTTP/1.1\r\nConnection: close", "GET {} HTTP/1.0", "POST {} HTTP/1.1"]
)
def test_short_and_long_answer_paths_agree(served: ServedCluster, path: str, line: str) -> None:
    """Most answers are written by a short path; a request with an audit id takes the long one."""
    (answer,) = served.ask(line.format(path), "Host: here")
    (expected,) = served.ask(line.format(path), "Host: here", "Audit-Id: mine")
    assert (answer.code, answer.body) == (expected.code, expected.body)
    changing = {"date": "", "audit-id": ""}
    assert {**answer.headers, **changing} == {**expected.headers, **changing}
    assert answer.headers["content-length"] == str(len(answer.body))


def test_a_head_has_no_body(served: ServedCluster) -> None:
    (answer,) = served.ask("HEAD /healthz HTTP/1.1", "Host: here")
    assert (answer.code, answer.body, answer.headers["content-length"]) == (200, b"", "2")


@pytest.mark.parametrize(
    ("line", "said", "answers"),
    [
        ("GET /version HTTP/1.1", None, 2),
        ("GET /version HTTP/1.1\r\nConnection: close", "close", 1),
        ("GET /version HTTP/1.0", None, 1),
        ("GET /version HTTP/1.0\r\nConnection: keep-alive", "keep-alive", 2),
    ],
)
def test_client_decides_whether_connection_is_kept(
    served: ServedCluster, line: str, said: str | None, answers: int
) -> None:
    found = served.ask(line, "Host: here", times=2)
    assert len(found) == answers
    assert found[0].headers.get("connection") == said


def test_health_version_and_metrics(served: ServedCluster) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert served.request("GET", path).body == b"ok"
    assert b"[+]ping ok" in served.request("GET", "/readyz?verbose").body
    assert served.request("GET", "/version").json["minor"] == "36"
    assert b"apiserver_request" in served.request("GET", "/metrics").body


NO_RESOURCE = "the server could not find the requested resource"
NO_METHOD = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    "path", ["/nowhere", "/healthz/", "/livez/none", "/apis/no.group/v1/things", "/apis/x"]
)
def test_unknown_path_gets_plain_text_not_found(served: ServedCluster, path: str) -> None:
    lost = served.request("GET", path)
    assert (lost.code, lost.body) == (404, b"404 page not found\n")
    assert lost.headers["content-type"] == "text/plain; charset=utf-8"
    assert lost.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/api/v1/things", "/api/v9", "/apis/apps/v1/things", "/apis/apps/v9/deployments", f"{MAPS}/a/b"]
)
def test_unknown_resource_of_served_group_gets_a_status(served: ServedCluster, path: str) -> None:
    lost = served.request("GET", path)
    assert (lost.code, lost.json["reason"], lost.json["message"]) == (404, "NotFound", NO_RESOURCE)
    assert lost.json["details"] == {}


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/version"), ("HEAD", "/api/v1"), ("PUT", MAPS), ("HEAD", f"{MAPS}/a")]
)
def test_unsupported_methods_are_refused(served: ServedCluster, method: str, path: str) -> None:
    answer = served.request(method, path)
    assert answer.code == 405
    if method != "HEAD":
        assert (answer.json["reason"], answer.json["message"]) == ("MethodNotAllowed", NO_METHOD)


def test_documents_without_routes_answer_any_method(served: ServedCluster) -> None:
    assert served.request("POST", "/healthz").body == b"ok"
    assert served.request("POST", "/apis").json["kind"] == "APIGroupList"


@pytest.mark.parametrize(
    ("method", "path", "why"),
    [
        ("GET", "/nowhere", 'forbidden: User "system:anonymous" cannot get path "/nowhere"'),
        ("POST", "/version", 'forbidden: User "system:anonymous" cannot post path "/version"'),
        (
            "GET",
            "/apis/no.group/v1/things",
            'things.no.group is forbidden: User "system:anonymous" cannot list resource "things" in API '
            'group "no.group" at the cluster scope',
        ),
        (
            "PUT",
            MAPS,
            'configmaps is forbidden: User "system:anonymous" cannot update resource "configmaps" in API '
            'group "" in the namespace "default"',
        ),
    ],
)
def test_forbidden_client_does_not_learn_what_exists(
    served: ServedCluster, method: str, path: str, why: str
) -> None:
    refused = served.request(method, path, known=False)
    assert (refused.code, refused.json["message"]) == (403, why)
    assert served.request(method, path, known=False, authorization="Bearer made-up").code == 401


def test_client_without_credentials_is_anonymous(served: ServedCluster) -> None:
    refused = served.request("GET", MAPS, known=False)
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "configmaps"' in refused.json["message"]
    wrong = served.request("GET", MAPS, known=False, authorization="Bearer made-up")
    assert (wrong.code, wrong.json["reason"]) == (401, "Unauthorized")
    assert served.request("GET", "/healthz", known=False).code == 200


def test_creating_is_201_and_changing_200_by_every_way(served: ServedCluster) -> None:
    path = f"{MAPS}/coded?fieldManager=me"
    codes = [
        served.request("PATCH", path, config_map("coded", a="1"), content_type=APPLY).code for _ in range(2)
    ]
    assert codes == [201, 200]
    assert served.request("PUT", f"{MAPS}/coded", config_map("coded")).code == 200
    assert served.request("POST", MAPS, config_map("coded")).code == 409
    assert served.request("DELETE", f"{MAPS}/coded").code == 200
    assert served.request("POST", MAPS, config_map("coded")).code == 201


@pytest.mark.parametrize("agent", ["kubectl/v1.36.0 (linux/amd64)", "tool"])
def test_the_user_agent_names_a_writer_that_does_not(served: ServedCluster, agent: str) -> None:
    name = f"by-{agent.partition('/')[0]}"
    made = served.request("POST", MAPS, config_map(name, a="1"), user_agent=agent).json
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == (agent.partition("/")[0], "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}
    named = served.request(
        "PUT", f"{MAPS}/{name}?fieldManager=said", config_map(name, b="1"), user_agent=agent
    ).json
    managers = [each["manager"] for each in named["metadata"]["managedFields"]]
    assert sorted(managers) == sorted([agent.partition("/")[0], "said"])


def test_client_without_user_agent_is_recorded_as_unknown(served: ServedCluster) -> None:
    made = served.request("POST", MAPS, config_map("by-nobody", a="1"), user_agent="").json
    assert [each["manager"] for each in made["metadata"]["managedFields"]] == ["unknown"]


def test_errors_and_discovery_follow_the_accept_header(served: ServedCluster) -> None:
    lost = served.request("GET", f"{MAPS}/none", accept=YAML)
    assert (lost.code, lost.headers["content-type"]) == (404, YAML)
    assert msgspec.yaml.decode(lost.body)["reason"] == "NotFound"
    assert served.request("GET", f"{MAPS}/none", accept="text/plain").json["reason"] == "NotAcceptable"
    for path, kind in (("/api", "APIVersions"), ("/apis/apps", "APIGroup"), ("/api/v1", "APIResourceList")):
        shown = served.request("GET", path, accept=YAML)
        assert msgspec.yaml.decode(shown.body)["kind"] == kind
        refused = served.request("GET", path, accept="text/plain")
        assert (refused.code, refused.json["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "message"),
    [
        (
            "GET",
            f"{MAPS}?timeout=soon",
            None,
            400,
            'invalid timeout specified in the request URL - time: invalid duration "soon"',
        ),
        (
            "GET",
            f"{MAPS}?timeout=5",
            None,
            400,
            'invalid timeout specified in the request URL - time: missing unit in duration "5"',
        ),
        (
            "POST",
            f"{MAPS}?dryRun=",
            "{}",
            422,
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: '
            'supported values: "All"',
        ),
        (
            "GET",
            "/version?timeout=invalid",
            None,
            400,
            'invalid timeout specified in the request URL - time: invalid duration "invalid"',
        ),
        ("GET", f"{MAPS}?limit=", None, 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        (
            "GET",
            "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db",
            None,
            400,
            "fieldSelector metadata.name doesn't match requested name",
        ),
        ("DELETE", f"{MAPS}/a", '{"kind":"Pod"}', 400, "decoded object cannot be converted to DeleteOptions"),
        (
            "DELETE",
            f"{MAPS}/a",
            '{"gracePeriodSeconds":"x"}',
            400,
            "json: cannot unmarshal string into Go struct field "
            "DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            "DELETE",
            f"{MAPS}/a?propagationPolicy=Some",
            None,
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Some": '
            'supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
    ],
)
def test_invalid_options_are_refused(
    served: ServedCluster, method: str, path: str, body: str | None, code: int, message: str
) -> None:
    refused = served.request(method, path, body or "")
    assert (refused.code, refused.json["message"]) == (code, message)


def test_a_watch_that_begins_with_a_list_sends_no_tables(served: ServedCluster) -> None:
    """Source: upstream's test/e2e/apimachinery/watchlist.go."""
    served.request("POST", MAPS, config_map("listed"))
    watch = f"{MAPS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=listed"
    listing = f"{watch}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    assert served.request("GET", listing, accept=TABLE).code == 406
    for path, accept, kind in ((watch, TABLE, "Table"), (listing, f"{TABLE},application/json", "ConfigMap")):
        answer = served.request("GET", path, accept=accept)
        assert answer.code == 200
        assert json.loads(answer.body.splitlines()[0])["object"]["kind"] == kind


def test_client_may_set_a_timeout(served: ServedCluster) -> None:
    assert served.request("GET", f"{MAPS}?timeout=1m30s").code == 200
    assert served.request("GET", f"{MAPS}?includeObject=Everything").code == 200, "no table, no rows"
    assert served.request("GET", f"{MAPS}?includeObject=Everything", accept=TABLE).code == 400


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (MAPS, ", application/vnd.kubernetes.protobuf"),
        ("/apis/example.com/v1/namespaces/default/parcels", ""),
    ],
)
def test_bodies_of_unsupported_media_types_are_refused(served: ServedCluster, path: str, more: str) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    parcels = definition(names={"plural": "parcels", "kind": "Parcel", "shortNames": []})
    served.request("POST", definitions, codec.encode(parcels))
    refused = served.request("POST", path, "<pod/>", content_type="application/xml")
    assert (refused.code, refused.json["message"]) == (
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        f"application/json, application/yaml{more}",
    )


def test_patches_of_unsupported_media_types_are_refused(served: ServedCluster) -> None:
    for media_type in ("application/apply-patch+cbor", "application/json", "text/plain"):
        refused = served.request("PATCH", f"{MAPS}/coded?fieldManager=me", "{}", content_type=media_type)
        assert (refused.code, refused.json["message"]) == (
            415,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/strategic-merge-patch+json, application/apply-patch+yaml",
        )


def test_watch_from_compacted_revision_gets_error_in_the_stream(served: ServedCluster) -> None:
    made = served.request("POST", MAPS, config_map("old")).json
    served.request("DELETE", f"{MAPS}/old")
    oldest = served.compact()
    since = made["metadata"]["resourceVersion"]
    answer = served.request("GET", f"{MAPS}?watch=1&resourceVersion={since}")
    event: dict[str, Any] = answer.json
    assert (answer.code, event["type"]) == (200, "ERROR")
    told = {name: event["object"][name] for name in ("kind", "code", "reason", "message")}
    assert told == {
        "kind": "Status",
        "code": 410,
        "reason": "Expired",
        "message": f"too old resource version: {since} ({oldest})",
    }
