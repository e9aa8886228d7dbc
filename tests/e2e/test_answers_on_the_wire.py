"""What only the wire shows of an answer: its layout, its headers, and what a request must say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer, Serving
from podling.apiserver.server import ApiServer
from podling.client.local import User
from podling.store.memory import MemoryStore
from tests.support.wire import Answer, Wire

pytestmark = pytest.mark.e2e

NAMESPACE = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACE}/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


class Asker:
    def __init__(self, port: int) -> None:
        self.wire = Wire(port)

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        return await self.wire.ask(method, path.encode(), {"Authorization": "Bearer me", **named}, data)


@pytest.fixture
async def ask() -> AsyncIterator[Asker]:
    store = MemoryStore()
    tokens = {"me": User("me", ("system:masters",))}
    api = ApiServer(store, plugins_without_controllers(), static_tokens=tokens)
    await api.start()
    http = HttpServer(api, api.authenticator, Serving(port=0))
    await http.start()
    found = Asker(http.port)
    try:
        yield found
    finally:
        found.wire.close()
        await http.stop()
        await api.stop()
        await store.close()


def config_map(name: str | None = "a", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def job(name: str) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


async def test_json_is_indented_for_people(ask: Asker) -> None:
    compact = (await ask("GET", NAMESPACE)).body
    assert b"\n" not in compact.strip()
    for agent in ("curl/8.5.0", "Wget/1.21", "Mozilla/5.0 (X11)"):
        indented = (await ask("GET", NAMESPACE, User_Agent=agent)).body
        assert indented.startswith(b'{\n  "')
        assert json.loads(indented) == json.loads(compact)
    assert (await ask("GET", f"{NAMESPACE}?pretty=true")).body.startswith(b'{\n  "')
    assert (await ask("GET", f"{NAMESPACE}?pretty=0", User_Agent="curl/8.5.0")).body == compact


async def test_what_is_put_must_say_its_name(ask: Asker) -> None:
    await ask("POST", MAPS, config_map())
    refused = await ask("PUT", f"{MAPS}/a", config_map(None))
    text = "the name of the object (a based on URL) was undeterminable: name must be provided"
    assert (refused.code, json.loads(refused.body)["message"]) == (400, text)


async def test_nobody_reads_from_the_future(ask: Asker) -> None:
    assert (await ask("GET", f"{NAMESPACE}?resourceVersion=1")).code == 200
    refused = await ask("GET", f"{NAMESPACE}?resourceVersion=999999")
    message = json.loads(refused.body)["message"]
    assert (refused.code, message.partition(", ")[0]) == (504, "Timeout: Too large resource version: 999999")


@pytest.mark.parametrize("path", ["/j", ""])
async def test_who_deletes_a_job_is_told_that_its_pods_stay(ask: Asker, path: str) -> None:
    await ask("POST", JOBS, job("j"))
    answer = await ask("DELETE", JOBS + path)
    assert answer.headers["warning"] == (
        '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background '
        'to remove them or set propagationPolicy=Orphan to suppress this warning"'
    )
    going = json.loads((await ask("GET", f"{JOBS}/j")).body)
    assert going["metadata"]["finalizers"] == ["orphan"]


async def test_who_says_what_becomes_of_the_pods_is_not_warned(ask: Asker) -> None:
    await ask("POST", JOBS, job("j"))
    answer = await ask("DELETE", f"{JOBS}/j?propagationPolicy=Background")
    assert "warning" not in answer.headers
    assert (await ask("GET", f"{JOBS}/j")).code == 404


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/api", "/apis"])
async def test_a_client_is_not_sent_what_it_has(ask: Asker, path: str) -> None:
    accept = "application/json"
    if path.startswith("/api"):
        accept += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    first = await ask("GET", path, Accept=accept)
    tag = first.headers["etag"]
    again = await ask("GET", path, Accept=accept, If_None_Match=f'"another", W/{tag}')
    assert (again.code, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await ask("GET", path, Accept=accept, If_None_Match='"another"')).body == first.body


async def test_a_document_named_by_its_hash_may_be_kept_for_ever(ask: Asker) -> None:
    index = json.loads((await ask("GET", "/openapi/v3")).body)["paths"]
    url = index["apis/apps/v1"]["serverRelativeURL"]
    named = await ask("GET", url)
    assert (named.code, named.headers["cache-control"]) == (200, "public, immutable")
    assert named.headers["expires"].endswith(" GMT")
    plain = await ask("GET", "/openapi/v3/apis/apps/v1")
    assert (plain.body, plain.headers["cache-control"]) == (named.body, "no-cache, private")
    old = await ask("GET", "/openapi/v3/apis/apps/v1?hash=OLD")
    assert (old.code, old.headers["location"]) == (301, url)


async def test_documents_come_in_the_forms_that_are_served(ask: Asker) -> None:
    protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
    assert (await ask("GET", "/openapi/v3/api/v1", Accept=protobuf)).code == 406
    both = await ask("GET", "/openapi/v3/api/v1", Accept=f"{protobuf}, application/json;q=0.5")
    assert both.headers["content-type"] == "application/json"


async def test_discovery_of_older_clients(ask: Asker) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
    new, old = [await ask("GET", "/apis", Accept=accept.format(version)) for version in ("v2", "v2beta1")]
    assert old.headers["content-type"] == accept.format("v2beta1")
    assert json.loads(old.body)["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert json.loads(old.body)["items"] == json.loads(new.body)["items"]
