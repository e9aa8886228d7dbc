"""The API server over real sockets: TLS, credentials, media types, watches, and an orderly stop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from podling.api.core_v1 import (
    ConfigMap,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.pki import Pki
from podling.apiserver.http.request_ends import MAX_BODY_BYTES
from tests.support.over_tls import Running, running_over_tls

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running_over_tls(tmp_path) as running:
        yield running


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class TestCredentials:
    async def test_client_certificate_authenticates(self, server: Running) -> None:
        async with server.admin() as session, session.get("/api/v1/namespaces") as response:
            assert response.status == 200

    async def test_bearer_token_authenticates(self, server: Running) -> None:
        async with server.session(token="s3cret") as session, session.get("/api/v1/namespaces") as response:
            assert response.status == 200

    async def test_wrong_token_is_unauthorized(self, server: Running) -> None:
        async with server.session(token="guess") as session, session.get("/healthz") as response:
            assert response.status == 401
            assert (await response.json())["reason"] == "Unauthorized"

    async def test_a_node_may_read_services_but_not_roles(self, server: Running) -> None:
        async with server.session(server.pki.node("n1")) as session:
            async with session.get("/api/v1/services") as response:
                assert response.status == 200
            async with session.get("/apis/rbac.authorization.k8s.io/v1/roles") as response:
                assert (await response.json())["message"] == (
                    'roles.rbac.authorization.k8s.io is forbidden: User "system:node:n1" cannot list '
                    'resource "roles" in API group "rbac.authorization.k8s.io" at the cluster scope'
                )

    async def test_anonymous_client_sees_health_and_version_only(self, server: Running) -> None:
        async with server.session() as session:
            found = {}
            for path in ("/healthz", "/livez", "/readyz", "/version", "/api", "/metrics", "/api/v1/pods"):
                async with session.get(path) as response:
                    found[path] = response.status
        assert found == {
            "/healthz": 200,
            "/livez": 200,
            "/readyz": 200,
            "/version": 200,
            "/api": 403,
            "/metrics": 403,
            "/api/v1/pods": 403,
        }

    async def test_certificate_of_another_authority_is_refused(self, server: Running, tmp_path: Path) -> None:
        stranger = Pki(tmp_path / "stranger").admin()
        async with server.session(stranger) as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get("/api/v1/namespaces")

    async def test_administrator_may_impersonate_users(self, server: Running) -> None:
        async with server.admin() as session:
            async with session.get("/api/v1/nodes", headers={"Impersonate-User": "bob"}) as response:
                assert response.status == 403
                assert 'User "bob" cannot list' in (await response.json())["message"]
            groups = {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}
            async with session.get("/api/v1/nodes", headers=groups) as response:
                assert response.status == 200


class TestBodies:
    async def test_object_is_created_changed_and_deleted_in_json(self, server: Running) -> None:
        async with server.admin() as session:
            async with session.post(MAPS, json=config_map("a", k="1")) as response:
                assert response.status == 201
                made = await response.json()
            assert made["metadata"]["uid"]
            merge = {"Content-Type": "application/merge-patch+json"}
            async with session.patch(f"{MAPS}/a", data='{"data":{"l":"2"}}', headers=merge) as response:
                assert (await response.json())["data"] == {"k": "1", "l": "2"}
            async with session.put(f"{MAPS}/a", json=made | {"data": {}}) as response:
                assert (response.status, (await response.json())["reason"]) == (409, "Conflict")
            async with session.delete(f"{MAPS}/a") as response:
                gone = await response.json()
                assert (gone["kind"], gone["status"], gone["details"]["name"]) == ("Status", "Success", "a")
            async with session.get(f"{MAPS}/a") as response:
                assert response.status == 404

    async def test_client_may_expect_100_continue(self, server: Running) -> None:
        async with (
            server.admin() as session,
            session.post(MAPS, json=config_map("a"), expect100=True) as response,
        ):
            assert response.status == 201

    async def test_long_paths_and_headers(self, server: Running) -> None:
        selector = ",".join(f"key{number}=value" for number in range(2000))
        headers = {"X-Long": "x" * 20_000}
        async with (
            server.admin() as session,
            session.get(MAPS, params={"labelSelector": selector}, headers=headers) as response,
        ):
            assert response.status == 200

    async def test_yaml_is_read_and_written(self, server: Running) -> None:
        async with server.admin() as session:
            body = yaml.safe_dump(config_map("a", k="1"))
            headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
            async with session.post(MAPS, data=body, headers=headers) as response:
                assert response.content_type == "application/yaml"
                assert yaml.safe_load(await response.text())["data"] == {"k": "1"}

    @pytest.mark.parametrize(("validation", "status"), [("Strict", 400), ("Warn", 201), ("Ignore", 201)])
    async def test_field_validation_decides_about_unknown_fields(
        self, server: Running, validation: str, status: int
    ) -> None:
        body = config_map("a") | {"extra": 1}
        async with (
            server.admin() as session,
            session.post(MAPS, json=body, params={"fieldValidation": validation}) as response,
        ):
            assert response.status == status
            warnings = response.headers.getall("Warning", [])
            assert warnings == (['299 - "unknown field \\"extra\\""'] if validation == "Warn" else [])

    @pytest.mark.parametrize(
        ("headers", "data", "status"),
        [
            ({"Content-Type": "text/csv"}, b"a,b", 415),
            ({"Accept": "text/csv", **JSON}, b"{}", 406),
            (JSON, b"{", 400),
            (JSON, b" " * (MAX_BODY_BYTES + 1), 413),
        ],
    )
    async def test_undecodable_body_is_refused(
        self, server: Running, headers: dict[str, str], data: bytes, status: int
    ) -> None:
        async with (
            server.admin() as session,
            session.post(MAPS, data=BytesIO(data), headers=headers) as response,
        ):
            assert response.status == status
            assert (await response.json())["kind"] == "Status"

    async def test_large_answers_are_compressed_when_accepted(self, server: Running) -> None:
        client = server.api.client()
        data = {"k": "x" * 200_000}
        await client.create(ConfigMap(metadata=ObjectMeta(name="big", namespace="default"), data=data))
        async with server.admin() as session:
            async with session.get(f"{MAPS}/big", headers={"Accept-Encoding": "gzip"}) as response:
                assert response.headers["Content-Encoding"] == "gzip"
                assert len(await response.read()) < 20_000
            async with session.get(f"{MAPS}/big", headers={"Accept-Encoding": "identity"}) as response:
                assert "Content-Encoding" not in response.headers
                assert len(await response.read()) > 200_000

    async def test_pretty_is_for_people(self, server: Running) -> None:
        async with server.admin() as session, session.get("/api/v1", params={"pretty": "true"}) as response:
            assert (await response.text()).startswith('{\n  "apiVersion": "v1",\n')

    async def test_every_answer_has_an_audit_id(self, server: Running) -> None:
        async with server.admin() as session:
            ids = set()
            for _ in range(3):
                async with session.get(MAPS) as response:
                    ids.add(response.headers["Audit-Id"])
            assert len(ids) == 3
            async with session.get(MAPS, headers={"Audit-Id": "mine"}) as response:
                assert response.headers["Audit-Id"] == "mine"


class TestDocuments:
    async def test_discovery_document_is_revalidated_by_etag(self, server: Running) -> None:
        accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
        async with server.admin() as session:
            async with session.get("/apis", headers=accept) as response:
                document, tag = await response.json(content_type=None), response.headers["ETag"]
            assert document["kind"] == "APIGroupDiscoveryList"
            async with session.get("/apis", headers={**accept, "If-None-Match": tag}) as response:
                assert response.status == 304

    async def test_openapi_documents_are_served(self, server: Running) -> None:
        async with server.admin() as session:
            async with session.get("/openapi/v3") as response:
                paths = (await response.json())["paths"]
            async with session.get(paths["apis/apps/v1"]["serverRelativeURL"]) as response:
                schemas = (await response.json())["components"]["schemas"]
            assert "io.k8s.api.apps.v1.Deployment" in schemas
            async with session.get("/openapi/v2") as response:
                assert (await response.json())["swagger"] == "2.0"

    async def test_health_in_detail_and_metrics(self, server: Running) -> None:
        async with server.admin() as session:
            async with session.get("/readyz?verbose") as response:
                assert await response.text() == "[+]ping ok\nreadyz check passed\n"
            async with session.get("/metrics") as response:
                text = await response.text()
        assert "apiserver_request_total{" in text
        assert "apiserver_request_duration_seconds_bucket{" in text


async def lines(response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    async for line in response.content:
        yield json.loads(line)


class TestWatches:
    async def test_events_arrive_as_lines(self, server: Running) -> None:
        client = server.api.client()
        async with server.admin() as session, session.get(MAPS, params={"watch": "true"}) as response:
            assert response.headers["Transfer-Encoding"] == "chunked"
            await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
            event = await anext(lines(response))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")

    async def test_one_object_can_be_watched_by_its_path(self, server: Running) -> None:
        client = server.api.client()
        for name in ("a", "ab"):
            await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
        path = "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1"
        async with server.admin() as session, session.get(path) as response:
            names = [event["object"]["metadata"]["name"] async for event in lines(response)]
        assert names == ["a"]

    async def test_watch_ends_at_its_timeout(self, server: Running) -> None:
        query = {"watch": "1", "timeoutSeconds": "1", "allowWatchBookmarks": "true", "resourceVersion": "1"}
        async with server.admin() as session, session.get(MAPS, params=query) as response:
            kinds = [event["type"] async for event in lines(response)]
        assert kinds == ["BOOKMARK"]

    async def test_stopping_the_server_ends_watches(self, server: Running) -> None:
        async with server.admin() as session, session.get(MAPS, params={"watch": "true"}) as response:
            await server.http.stop()
            assert [event async for event in lines(response)] == []

    async def test_watch_from_compacted_revision_sends_error_event(self, server: Running) -> None:
        await server.api.store.compact(server.api.store.revision)
        query = {"watch": "true", "resourceVersion": "1"}
        async with server.admin() as session, session.get(MAPS, params=query) as response:
            assert response.status == 200
            (event,) = [each async for each in lines(response)]
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == (
            "ERROR",
            410,
            "Expired",
        )
