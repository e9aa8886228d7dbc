"""API workers: reads show every acknowledged write, and writes are those of the writer."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession

from podling import clock
from podling.apiserver.http.forwarded_user import HEADER, header_of
from podling.apiserver.socket import store_stream
from podling.apiserver.workers import forwarding, writer
from podling.client.requests import User
from podling.store.memory import MemoryStore
from tests.support.api_workers import WorkedServer, worked

NAMESPACE = "/api/v1/namespaces/default"
MAPS, SECRETS = f"{NAMESPACE}/configmaps", f"{NAMESPACE}/secrets"
WARNING = (
    '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of '
    'auto-generated secret-based tokens."'
)
DEADLINE_SECONDS = 20
# Ages in Tables, which differ when a second ends between two answers.
AGE, NO_AGE = re.compile(r'"\d+s"'), '""'
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[WorkedServer]:
    async with asyncio.timeout(DEADLINE_SECONDS), WorkedServer(tmp_path) as running:
        yield running


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def made(session: ClientSession, path: str, body: dict[str, Any], code: int = 201) -> dict[str, Any]:
    async with session.post(path, json=body) as answer:
        found: dict[str, Any] = await answer.json()
        assert answer.status == code, found
    return found


async def read(session: ClientSession, path: str, code: int = 200) -> dict[str, Any]:
    async with session.get(path) as answer:
        found: dict[str, Any] = await answer.json()
        assert answer.status == code, found
    return found


async def test_write_through_one_worker_is_read_at_once_through_every_other(tmp_path: Path) -> None:
    async with worked(tmp_path, 3) as (server, sessions):
        for number in range(30):
            written = await made(sessions[number % 3], MAPS, config_map(f"m{number}"))
            for session in (*sessions, server.session(server.http)):
                assert await read(session, f"{MAPS}/m{number}") == written
                assert len((await read(session, MAPS))["items"]) == number + 1


async def test_answers_are_the_same_as_those_of_the_writer(server: WorkedServer) -> None:
    _, http = await server.worker()
    here, there = server.session(http), server.session(server.http)
    await made(here, MAPS, config_map("a", x="1"))
    for path in (
        MAPS, f"{MAPS}/a", f"{MAPS}/absent", f"{MAPS}?limit=1", f"{MAPS}?labelSelector=a%3D1", "/apis",
        "/api/v1/nothings", f"{MAPS}?resourceVersion=0", f"{MAPS}?resourceVersion=nonsense", "/version",
        "/api/v1/componentstatuses", "/apis/nothing.example/v1/things",
    ):  # fmt: skip
        for headers in ({}, {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}):
            async with here.get(path, headers=headers) as one, there.get(path, headers=headers) as other:
                found, expected = AGE.sub(NO_AGE, await one.text()), AGE.sub(NO_AGE, await other.text())
                assert (one.status, found) == (other.status, expected), path
                assert one.content_type == other.content_type


async def test_custom_resources_are_served_by_every_worker_as_soon_as_they_are_established(
    tmp_path: Path,
) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": ANYTHING},
            }],
        },
    }  # fmt: skip
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    widgets = "/apis/shop.example/v1/namespaces/default/widgets"
    async with worked(tmp_path, 2) as (_, (one, other)):
        await made(one, path, definition)
        while True:
            found = await read(one, f"{path}/widgets.shop.example")
            conditions = {
                each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())
            }
            if conditions.get("Established") == "True":
                break
        assert (await read(other, widgets))["items"] == []
        widget = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}
        await made(other, widgets, widget)
        assert (await read(one, f"{widgets}/w"))["size"] == 3


async def test_watch_goes_on_at_another_process_from_the_same_revision(tmp_path: Path) -> None:
    async with worked(tmp_path, 2) as (server, (one, other)):
        start = (await read(one, MAPS))["metadata"]["resourceVersion"]
        for number in range(6):
            await made(one, MAPS, config_map(f"m{number}"))
        first = await events(one, start, 2)
        second = await events(other, first[-1][1], 2)
        third = await events(server.session(server.http), second[-1][1], 2)
        assert [name for name, _ in (*first, *second, *third)] == [f"m{number}" for number in range(6)]


async def test_worker_that_starts_later_has_the_same_history(server: WorkedServer) -> None:
    before = server.session(server.http)
    start = (await read(before, MAPS))["metadata"]["resourceVersion"]
    await made(before, MAPS, config_map("a"))
    page = await read(before, f"{MAPS}?limit=1")
    await made(before, MAPS, config_map("b"))
    _, http = await server.worker()
    session = server.session(http)
    assert [name for name, _ in await events(session, start, 2)] == ["a", "b"]
    old = f"{MAPS}?resourceVersion={page['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
    assert [each["metadata"]["name"] for each in (await read(session, old))["items"]] == ["a"]


async def test_compacted_revision_expires_at_a_worker_with_the_same_message(
    server: WorkedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_stream, "BEAT_SECONDS", 0.001)
    worker, http = await server.worker()
    here, there = server.session(http), server.session(server.http)
    start = server.store.revision
    await made(here, MAPS, config_map("a"))
    await server.store.compact(server.store.revision)
    while worker.replica.compacted < server.store.compacted:
        await clock.sleep(0.001)
    for query in (
        f"watch=true&resourceVersion={start}", f"resourceVersion={start}&resourceVersionMatch=Exact"
    ):  # fmt: skip
        async with here.get(f"{MAPS}?{query}") as one, there.get(f"{MAPS}?{query}") as other:
            assert (one.status, await one.read()) == (other.status, await other.read())


async def test_watch_at_a_worker_stays_open_while_the_writer_restarts(server: WorkedServer) -> None:
    _, http = await server.worker()
    session = server.session(http)
    async with session.get(f"{MAPS}?watch=true&resourceVersion={server.store.revision}") as watch:
        await made(session, MAPS, config_map("before"))
        assert await next_name(watch) == "before"
        await server.stop_writer()
        assert (await read(session, f"{MAPS}/before"))["metadata"]["name"] == "before"
        waiting = asyncio.create_task(made(session, MAPS, config_map("meanwhile")))
        await server.start_writer()
        await waiting
        assert await next_name(watch) == "meanwhile"


async def test_writes_are_refused_while_the_writer_is_away_and_reads_go_on(
    server: WorkedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "WAIT_SECONDS", 0.05)
    _, http = await server.worker()
    session = server.session(http)
    await made(session, MAPS, config_map("a"))
    await server.stop_writer()
    refused = await made(session, MAPS, config_map("b"), 503)
    assert refused["reason"] == "ServiceUnavailable"
    assert "writer cannot be reached" in refused["message"]
    for query in ("", "?resourceVersion=0", f"?resourceVersion={server.store.revision}"):
        assert len((await read(session, f"{MAPS}{query}"))["items"]) == 1
    while (status := (await readyz(session, "etcd"))[0]) == 200:
        await clock.sleep(0.01)
    assert status == 500
    assert "the writer" in (await readyz(session, "etcd"))[1]
    await server.start_writer()
    while (await readyz(session, "etcd"))[0] != 200:
        await clock.sleep(0.01)


async def test_read_that_the_replica_cannot_answer_in_time_is_answered_by_the_writer(
    server: WorkedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FRESH_SECONDS", 0.05)
    monkeypatch.setattr(forwarding, "WAIT_SECONDS", 0.05)
    _, http = await server.worker()
    session = server.session(http)
    await made(session, MAPS, config_map("a"))
    server.shared.publish(server.store.revision + 1)
    assert (await read(session, f"{MAPS}/a"))["metadata"]["name"] == "a"
    assert len((await read(session, MAPS))["items"]) == 1
    assert len((await read(session, f"{MAPS}?resourceVersion=0"))["items"]) == 1
    refused = await read(session, f"{MAPS}?watch=true", 504)
    assert refused["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    await server.stop_writer()
    await read(session, f"{MAPS}/a", 503)
    assert len((await read(session, f"{MAPS}?resourceVersion=0"))["items"]) == 1


async def test_writer_with_another_store_ends_watches_and_is_followed(tmp_path: Path) -> None:
    async with WorkedServer(tmp_path) as server:
        worker, http = await server.worker()
        session = server.session(http)
        for number in range(20):
            await made(session, MAPS, config_map(f"old{number}"))
        async with session.get(f"{MAPS}?watch=true&resourceVersion={server.store.revision}") as watch:
            await server.stop_writer()
            server.store = MemoryStore()
            await server.start_writer()
            assert await watch.content.read() == b""
        await made(session, MAPS, config_map("new"))
        assert [each["metadata"]["name"] for each in (await read(session, MAPS))["items"]] == ["new"]
        assert worker.replica.revision == server.store.revision


async def test_write_through_a_worker_is_answered_as_by_the_writer(server: WorkedServer) -> None:
    _, http = await server.worker()
    here, there = server.session(http), server.session(server.http)
    table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}
    strict = "?fieldValidation=Strict"
    unknown = {**config_map("c"), "extra": 1}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    cases: list[tuple[str, str, Any, dict[str, str]]] = [
        ("POST", MAPS, config_map("t"), table),
        ("POST", MAPS, unknown, {}),
        ("POST", f"{MAPS}{strict}", unknown, {}),
        ("POST", f"{MAPS}?dryRun=All", config_map("d"), {}),
        ("POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "A"}}, {}),
        ("PATCH", f"{MAPS}/applied?fieldManager=m", config_map("applied", a="1"), apply),
        ("PATCH", f"{MAPS}/applied?fieldManager=m", config_map("applied", a="2"), apply),
        ("PATCH", f"{MAPS}/absent", {}, {"Content-Type": "application/merge-patch+json"}),
        ("PATCH", f"{MAPS}/applied", {}, {"Content-Type": "text/plain"}),
        ("PUT", f"{MAPS}/put", config_map("put"), {}),
        ("DELETE", f"{MAPS}/applied", None, {}),
        ("DELETE", f"{MAPS}/applied", None, {}),
        ("DELETE", MAPS, None, table),
        ("PUT", "/api/v1/namespaces/default", {}, {}),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
        }, {}),
    ]  # fmt: skip
    answers = []
    for session in (here, there):
        found = []
        for method, path, sent, headers in cases:
            async with session.request(method, path, json=sent, headers=headers) as answer:
                warnings = answer.headers.getall("Warning", [])
                body = json.loads(AGE.sub(NO_AGE, await answer.text()))
                found.append((answer.status, warnings, stable(body)))
        answers.append(found)
    assert answers[0] == answers[1]
    assert [status for status, _, _ in answers[0]][:6] == [201, 201, 400, 201, 422, 201]


async def test_user_of_a_forwarded_request_is_the_one_that_the_worker_has_found(server: WorkedServer) -> None:
    _, http = await server.worker()
    plain = server.session(http, "plain")
    refused = await made(plain, MAPS, config_map("a"), 403)
    assert 'User "plain" cannot create resource "configmaps"' in refused["message"]
    await made(server.session(http, "no such token"), MAPS, config_map("a"), 401)
    admin = server.session(http)
    async with admin.post(MAPS, json=config_map("a"), headers={"Impersonate-User": "other"}) as answer:
        assert answer.status == 403
        assert 'User "other" cannot create' in (await answer.json())["message"]
    forged = header_of(User("root", ("system:masters",)))
    async with plain.post(MAPS, json=config_map("a"), headers={HEADER: forged}) as answer:
        assert answer.status == 403
    async with plain.get(MAPS, headers={HEADER: forged}) as answer:
        assert answer.status == 403


async def test_generated_token_in_a_secret_is_warned_of_and_its_use_labelled(server: WorkedServer) -> None:
    _, http = await server.worker()
    admin = server.session(http)
    account = {"metadata": {"name": "robot"}, "secrets": [{"name": "key"}]}
    await made(admin, f"{NAMESPACE}/serviceaccounts", account)
    metadata = {"name": "key", "annotations": {"kubernetes.io/service-account.name": "robot"}}
    await made(admin, SECRETS, {"metadata": metadata, "type": "kubernetes.io/service-account-token"})
    asked = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "key"}}}
    granted = await made(admin, f"{NAMESPACE}/serviceaccounts/robot/token", asked)
    token = granted["status"]["token"]
    held = {"data": {"token": base64.b64encode(token.encode()).decode()}}
    merge = {"Content-Type": "application/merge-patch+json"}
    async with admin.patch(f"{SECRETS}/key", json=held, headers=merge) as answer:
        assert answer.status == 200
    await read(admin, f"{SECRETS}/key")
    for method, path, code in (("GET", "/api", 200), ("GET", MAPS, 403), ("POST", MAPS, 403)):
        async with server.session(http, token).request(method, path, json=config_map("a")) as answer:
            assert (answer.status, answer.headers.getall("Warning")) == (code, [WARNING])
    used = f"{SECRETS}?watch=true&labelSelector=kubernetes.io/legacy-token-last-used"
    async with asyncio.timeout(DEADLINE_SECONDS), admin.get(used) as watch:
        assert await next_name(watch) == "key"


async def test_body_that_comes_after_its_head_is_forwarded_whole(server: WorkedServer) -> None:
    _, http = await server.worker()
    reader, connection = await asyncio.open_connection("127.0.0.1", http.port)
    head = "Host: x\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\n"
    precondition = {"preconditions": {"uid": "another"}}
    for line, sent, status in (
        (f"POST {MAPS}", config_map("late"), b"201"),
        (f"DELETE {MAPS}/late", precondition, b"409"),
    ):
        body = json.dumps(sent).encode()
        connection.write(f"{line} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode())
        await connection.drain()
        await clock.sleep(0.02)
        connection.write(body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.split()[1] == status, answer
        length = int(answer.lower().partition(b"content-length:")[2].split()[0])
        await reader.readexactly(length)
    connection.close()


async def test_forwarded_write_is_limited_once_by_the_writer(server: WorkedServer) -> None:
    _, http = await server.worker()
    session = server.session(http)
    before = await dispatched(session, ""), await dispatched(session, "?process=writer")
    for number in range(20):
        await made(session, MAPS, config_map(f"m{number}"))
    after = await dispatched(session, ""), await dispatched(session, "?process=writer")
    metrics_at_both = 2
    assert after[0] - before[0] <= metrics_at_both
    assert 20 <= after[1] - before[1] <= 20 + metrics_at_both


async def dispatched(session: ClientSession, query: str) -> int:
    """Return the number of requests to which a process has given seats."""
    async with session.get(f"/metrics{query}") as answer:
        lines = (await answer.text()).splitlines()
    name = "apiserver_flowcontrol_dispatched_requests_total"
    return sum(int(float(line.rpartition(" ")[2])) for line in lines if line.startswith(name))


async def test_documents_of_the_writer_are_served_by_its_name(server: WorkedServer) -> None:
    _, http = await server.worker()
    session = server.session(http)
    async with session.get("/readyz?verbose") as own, session.get("/readyz?verbose&process=writer") as other:
        assert "informer-sync" in await own.text()
        assert "poststarthook/compaction" in await other.text()
    async with server.session(http, "plain").get("/metrics?process=writer") as refused:
        assert refused.status == 403


async def test_right_given_through_one_worker_counts_at_every_other(tmp_path: Path) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "plain"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "plain", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    async with worked(tmp_path, 2) as (server, (one, _)):
        http = server.https[1]
        plain = server.session(http, "plain")
        for _ in range(5):
            await read(plain, MAPS, 403)
            await made(one, rbac, binding)
            await read(plain, MAPS)
            async with one.delete(f"{rbac}/plain") as answer:
                assert answer.status == 200


def stable(body: Any) -> Any:
    """Return a body without what differs from write to write."""
    if isinstance(body, list):
        return [stable(each) for each in body]
    if not isinstance(body, dict):
        return body
    left = {"uid", "resourceVersion", "creationTimestamp", "time"}
    return {key: stable(value) for key, value in body.items() if key not in left}


async def events(session: ClientSession, start: str, count: int) -> list[tuple[str, str]]:
    """Return names and resource versions of the first events after ``start``."""
    async with session.get(f"{MAPS}?watch=true&resourceVersion={start}") as watch:
        lines = [json.loads(await watch.content.readline())["object"]["metadata"] for _ in range(count)]
    return [(each["name"], each["resourceVersion"]) for each in lines]


async def next_name(watch: ClientResponse) -> str:
    name: str = json.loads(await watch.content.readline())["object"]["metadata"]["name"]
    return name


async def readyz(session: ClientSession, check: str) -> tuple[int, str]:
    async with session.get(f"/readyz/{check}") as answer:
        return answer.status, await answer.text()
