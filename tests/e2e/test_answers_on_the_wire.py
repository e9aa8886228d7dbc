"""Parts of HTTP answers that no client library shows: layout and headers; incomplete requests."""

from __future__ import annotations

import json
from typing import Any

import jwt
import pytest

from tests.support.wire import Caller

pytestmark = pytest.mark.e2e

NAMESPACE = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACE}/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def config_map(name: str | None = "a", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def job(name: str) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


async def test_json_is_indented_for_browsers(call: Caller) -> None:
    compact = (await call("GET", NAMESPACE)).body
    assert b"\n" not in compact.strip()
    for agent in ("curl/8.5.0", "Wget/1.21", "Mozilla/5.0 (X11)"):
        indented = (await call("GET", NAMESPACE, User_Agent=agent)).body
        assert indented.startswith(b'{\n  "')
        assert json.loads(indented) == json.loads(compact)
    assert (await call("GET", f"{NAMESPACE}?pretty=true")).body.startswith(b'{\n  "')
    assert (await call("GET", f"{NAMESPACE}?pretty=0", User_Agent="curl/8.5.0")).body == compact


async def test_put_body_must_name_its_object(call: Caller) -> None:
    await call("POST", MAPS, config_map())
    refused = await call("PUT", f"{MAPS}/a", config_map(None))
    text = "the name of the object (a based on URL) was undeterminable: name must be provided"
    assert (refused.code, json.loads(refused.body)["message"]) == (400, text)


async def test_list_at_future_revision_is_refused(call: Caller) -> None:
    assert (await call("GET", f"{NAMESPACE}?resourceVersion=1")).code == 200
    refused = await call("GET", f"{NAMESPACE}?resourceVersion=999999")
    message = json.loads(refused.body)["message"]
    assert (refused.code, message.partition(", ")[0]) == (504, "Timeout: Too large resource version: 999999")


@pytest.mark.parametrize("path", ["/j", ""])
async def test_deleting_job_warns_that_its_pods_stay(call: Caller, path: str) -> None:
    await call("POST", JOBS, job("j"))
    answer = await call("DELETE", JOBS + path)
    assert answer.headers["warning"] == (
        '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background '
        'to remove them or set propagationPolicy=Orphan to suppress this warning"'
    )
    going = json.loads((await call("GET", f"{JOBS}/j")).body)
    assert going["metadata"]["finalizers"] == ["orphan"]


async def test_deleting_job_with_propagation_policy_has_no_warning(call: Caller) -> None:
    await call("POST", JOBS, job("j"))
    answer = await call("DELETE", f"{JOBS}/j?propagationPolicy=Background")
    assert "warning" not in answer.headers
    assert (await call("GET", f"{JOBS}/j")).code == 404


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/api", "/apis"])
async def test_document_with_matching_etag_is_not_sent_again(call: Caller, path: str) -> None:
    accept = "application/json"
    if path.startswith("/api"):
        accept += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    first = await call("GET", path, Accept=accept)
    tag = first.headers["etag"]
    again = await call("GET", path, Accept=accept, If_None_Match=f'"another", W/{tag}')
    assert (again.code, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await call("GET", path, Accept=accept, If_None_Match='"another"')).body == first.body


async def test_a_document_named_by_its_hash_may_be_kept_for_ever(call: Caller) -> None:
    index = json.loads((await call("GET", "/openapi/v3")).body)["paths"]
    url = index["apis/apps/v1"]["serverRelativeURL"]
    named = await call("GET", url)
    assert (named.code, named.headers["cache-control"]) == (200, "public, immutable")
    assert named.headers["expires"].endswith(" GMT")
    plain = await call("GET", "/openapi/v3/apis/apps/v1")
    assert (plain.body, plain.headers["cache-control"]) == (named.body, "no-cache, private")
    old = await call("GET", "/openapi/v3/apis/apps/v1?hash=OLD")
    assert (old.code, old.headers["location"]) == (301, url)


async def test_openapi_document_is_served_in_accepted_media_types(call: Caller) -> None:
    protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
    both = await call("GET", "/openapi/v3/api/v1", Accept=f"application/json, {protobuf}")
    assert both.headers["content-type"] == "application/json"
    other = await call("GET", "/openapi/v3/api/v1", Accept="text/plain")
    assert other.code == 406


async def test_discovery_serves_older_clients(call: Caller) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
    new, old = [await call("GET", "/apis", Accept=accept.format(version)) for version in ("v2", "v2beta1")]
    assert old.headers["content-type"] == accept.format("v2beta1")
    assert json.loads(old.body)["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert json.loads(old.body)["items"] == json.loads(new.body)["items"]


async def test_every_request_for_deprecated_kind_is_warned(call: Caller) -> None:
    text = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    path = f"{NAMESPACE}/endpoints"
    made = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}}
    for answer in (
        await call("POST", path, made),
        await call("GET", path),
        await call("GET", f"{path}/e"),
        await call("GET", f"{path}/nothing"),
        await call("GET", f"{path}?watch=1&timeoutSeconds=1"),
        await call("DELETE", f"{path}/e"),
    ):
        assert answer.headers["warning"] == text
    assert "warning" not in (await call("GET", MAPS)).headers


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"name": "b"}, "the name of the object (b) does not match the name on the URL (a)"),
        ({"name": None}, "the name of the object (a based on URL) was undeterminable: name must be provided"),
        (
            {"namespace": "other"},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
async def test_patch_cannot_change_name_or_namespace(
    call: Caller, metadata: dict[str, Any], text: str
) -> None:
    await call("POST", MAPS, config_map())
    patch = {"metadata": metadata}
    refused = await call("PATCH", f"{MAPS}/a", patch, Content_Type="application/merge-patch+json")
    assert (refused.code, json.loads(refused.body)["message"]) == (400, text)


async def test_a_body_that_is_no_options_deletes_nothing(call: Caller) -> None:
    await call("POST", MAPS, config_map())
    refused = await call("DELETE", f"{MAPS}/a", config_map())
    text = "decoded object cannot be converted to DeleteOptions"
    assert (refused.code, json.loads(refused.body)["message"]) == (400, text)
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
    assert (await call("DELETE", f"{MAPS}/a", options)).code == 200
    assert (await call("GET", f"{MAPS}/a")).code == 200


async def test_nothing_is_written_across_all_namespaces(call: Caller) -> None:
    async def everything() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((await call("GET", "/api/v1/configmaps")).body)["items"]
        return found

    await call("POST", MAPS, config_map())
    before = await everything()
    assert "a" in [each["metadata"]["name"] for each in before]
    assert (await call("DELETE", "/api/v1/configmaps")).code == 405
    assert (await call("POST", "/api/v1/configmaps", config_map("b"))).code == 405
    assert await everything() == before


async def test_service_account_token_verifies_with_published_keys(call: Caller) -> None:
    accounts = f"{NAMESPACE}/serviceaccounts"
    await call("POST", accounts, {"metadata": {"name": "a"}})
    made = await call("POST", f"{accounts}/a/token", {"spec": {"audiences": ["me"]}})
    token = json.loads(made.body)["status"]["token"]
    described = await call("GET", "/.well-known/openid-configuration")
    configuration = json.loads(described.body)
    assert described.headers["cache-control"] == "public, max-age=3600"
    assert configuration["jwks_uri"].endswith("/openid/v1/jwks")
    answer = await call("GET", "/openid/v1/jwks")
    assert answer.headers["content-type"] == "application/jwk-set+json"
    keys = jwt.PyJWKSet.from_dict(json.loads(answer.body))
    key = keys[jwt.get_unverified_header(token)["kid"]]
    algorithms = configuration["id_token_signing_alg_values_supported"]
    claims = jwt.decode(token, key, algorithms, audience="me", issuer=configuration["issuer"])
    assert claims["sub"] == "system:serviceaccount:default:a"


FAILURE = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
ERRORS = [
    (
        ("GET", f"{MAPS}/none"),
        404,
        FAILURE + b'"message":"configmaps \\"none\\" not found",'
        b'"reason":"NotFound","details":{"name":"none","kind":"configmaps"},"code":404}\n',
    ),
    (
        ("GET", "/api/v1/nothings"),
        404,
        FAILURE + b'"message":"the server could not find the requested resource",'
        b'"reason":"NotFound","details":{},"code":404}\n',
    ),
    (
        ("PUT", MAPS),
        405,
        FAILURE + b'"message":"the server does not allow this method on the requested resource",'
        b'"reason":"MethodNotAllowed","details":{},"code":405}\n',
    ),
    (("GET", "/apis/nothing.example.com/v1/things"), 404, b"404 page not found\n"),
    (("GET", "/nowhere"), 404, b"404 page not found\n"),
]


@pytest.mark.parametrize(("request_line", "code", "body"), ERRORS)
async def test_error_bodies_equal_those_of_kubernetes(
    call: Caller, request_line: tuple[str, str], code: int, body: bytes
) -> None:
    answer = await call(*request_line)
    assert (answer.code, answer.body) == (code, body)


async def test_conflict_equals_what_python_client_expects(call: Caller) -> None:
    await call("POST", MAPS, config_map("mock-2"))
    assert (await call("POST", MAPS, config_map("mock-2"))).body == (
        FAILURE + b'"message":"configmaps \\"mock-2\\" already exists",'
        b'"reason":"AlreadyExists","details":{"name":"mock-2",'
        b'"kind":"configmaps"},"code":409}\n'
    )


async def test_error_for_unknown_credential_is_status_line(call: Caller) -> None:
    answer = await call("GET", MAPS, Authorization="Bearer wrong")
    assert (answer.code, answer.body) == (
        401,
        FAILURE + b'"message":"Unauthorized","reason":"Unauthorized","code":401}\n',
    )


async def test_error_is_indented_when_no_accepted_form_is_served(call: Caller) -> None:
    answer = await call("GET", f"{MAPS}/none", Accept="text/html")
    assert answer.headers["content-type"] == "application/json"
    assert answer.body.startswith(b'{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n')
    assert answer.body.endswith(b"\n}")


async def test_error_as_yaml_names_its_keys_in_order(call: Caller) -> None:
    answer = await call("GET", f"{MAPS}/none", Accept="application/yaml")
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.body.decode() == (
        "apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: none\nkind: Status\n"
        'message: configmaps "none" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n'
    )


async def test_deletion_answers_status_in_order_of_go(call: Caller) -> None:
    made = json.loads((await call("POST", MAPS, config_map("gone"))).body)
    uid = made["metadata"]["uid"]
    assert (await call("DELETE", f"{MAPS}/gone")).body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"gone",'
        b'"kind":"configmaps","uid":"' + uid.encode() + b'"}}\n'
    )


@pytest.mark.parametrize("path", [NAMESPACE, MAPS, f"{MAPS}?limit=1", "/api", "/apis/apps", "/api/v1"])
async def test_compact_json_of_objects_ends_with_one_newline(call: Caller, path: str) -> None:
    body = (await call("GET", path)).body
    assert body.endswith(b"}\n")
    assert body.count(b"\n") == 1


async def test_documents_that_are_no_objects_are_indented(call: Caller) -> None:
    for path in ("/version", "/"):
        body = (await call("GET", path)).body
        assert body.startswith(b'{\n  "')
        assert body.endswith(b"\n}")


async def test_refusal_quotes_and_escapes_what_client_sent(call: Caller) -> None:
    answer = await call("GET", "/%3Cb%3E%22x%22&y", Impersonate_User='<a "b">')
    assert answer.code == 403
    assert json.loads(answer.body)["message"] == (
        'forbidden: User "&lt;a \\"b\\"&gt;" cannot get path "/&lt;b&gt;\\"x\\"&amp;y"'
    )
    assert b"<" not in answer.body
