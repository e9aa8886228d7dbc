"""The machine's own logs, over TLS, from a directory of the test's own and a journal of the test's own."""

from __future__ import annotations

import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from podling.kubelet.config import KubeletConfig
from podling.kubelet.server.system_logs import SystemLogs
from tests.unit.kubelet.server.served_kubelet import Served

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]

JOURNAL = """#!/bin/sh
if [ "$1" = --field ]; then printf 'ssh.service\\nkubelet.service\\n'; exit; fi
echo "$@"
echo of the journal >&2
exit 1
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a directory with a file, a directory, links, and what is no log."""
    logs = tmp_path / "log"
    (logs / "pods").mkdir(parents=True)
    (logs / "syslog").write_text("first\nsecond\n")
    (logs / "pods/0.log").write_text("of a pod\n")
    (logs / "a<b>:c").write_text("odd\n")
    (tmp_path / "secret").write_text("secret")
    (logs / "out").symlink_to(tmp_path / "secret")
    (logs / "up").symlink_to("../secret")
    (logs / "inside").symlink_to(logs / "pods/0.log")
    os.mkfifo(logs / "fifo")
    return logs


def application(system: SystemLogs) -> web.Application:
    """Return a server of these logs that checks no access."""

    async def serve(request: web.Request) -> web.StreamResponse:
        return await system.serve(request, queries=True)

    app = web.Application()
    app.router.add_get("/logs/{path:.*}", serve)
    return app


@pytest.fixture
async def client(logs: Path, tmp_path: Path) -> AsyncIterator[ClientSession]:
    """A client of these logs with queries; no access is checked here."""
    journal = tmp_path / "journalctl"
    journal.write_text(JOURNAL)
    journal.chmod(0o755)
    system = SystemLogs(logs, str(journal))
    app = application(system)
    async with (
        TestServer(app) as server,
        ClientSession(server.make_url("/"), auto_decompress=False) as session,
    ):
        yield session


async def get(client: ClientSession, path: str, **headers: str) -> tuple[int, str]:
    async with client.get(path, headers=headers, allow_redirects=False) as response:
        return response.status, await response.text()


async def test_files_and_directories_are_served(client: ClientSession) -> None:
    assert await get(client, "/logs/syslog") == (200, "first\nsecond\n")
    assert await get(client, "/logs/pods/0.log") == (200, "of a pod\n")
    code, listing = await get(client, "/logs/")
    assert code == 200
    assert '<a href="./a%3Cb%3E%3Ac">a&lt;b&gt;:c</a>\n' in listing
    assert '<a href="pods/">pods/</a>\n' in listing
    assert await get(client, "/logs/nothing") == (404, "404 page not found\n")
    async with client.get("/logs/pods", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (301, "pods/")
    async with client.get("/logs/syslog/", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (301, "../syslog")


@pytest.mark.parametrize("path", ["out", "up", "..%2fsecret", "pods/..%2f..%2fsecret", "fifo"])
async def test_only_regular_files_below_the_directory_are_served(client: ClientSession, path: str) -> None:
    assert await get(client, f"/logs/{path}") == (404, "404 page not found\n")


async def test_link_that_stays_below_the_directory_is_followed(client: ClientSession) -> None:
    assert await get(client, "/logs/inside") == (200, "of a pod\n")


async def test_part_of_a_file_is_served(client: ClientSession) -> None:
    assert await get(client, "/logs/syslog", Range="bytes=6-8") == (206, "sec")
    assert await get(client, "/logs/syslog", Range="bytes=-3") == (206, "nd\n")
    code, _ = await get(client, "/logs/syslog", Range="bytes=100-")
    assert code == 416
    async with client.get("/logs/syslog") as response:
        changed = response.headers["Last-Modified"]
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (await get(client, "/logs/syslog", **{"If-Modified-Since": changed}))[0] == 304


async def test_query_finds_services_in_journal_and_files(client: ClientSession, logs: Path) -> None:
    code, text = await get(client, "/logs/?query=ssh&tailLines=2")
    assert (code, text) == (
        200,
        "--utc --no-pager --output=short-precise --pager-end --lines=2 --unit=ssh\nof the journal\n",
    )
    assert await get(client, "/logs/?query=syslog") == (200, "first\nsecond\n")
    (logs / "pods/pods.log").write_text("of pods\n")
    assert await get(client, "/logs/?query=pods") == (200, "of pods\n")
    assert await get(client, "/logs/?query=none") == (200, "\nlog not found for none\n")
    assert await get(client, "/logs/?query=/pods/0.log") == (200, "of a pod\n")
    code, text = await get(client, "/logs/?query=syslog&pattern=x")
    resolved = "\noptions present and query resolved to log files for [syslog]\n"
    assert (code, text) == (200, f"{resolved}try without specifying options\n")
    code, text = await get(client, "/logs/?query=out")
    assert code == 200
    assert "error getting log for out" in text
    assert "secret" not in text


async def test_query_is_compressed_for_clients_that_accept_gzip_only(client: ClientSession) -> None:
    async with client.get("/logs/?query=syslog", headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await response.read()) == b"first\nsecond\n"


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("?tailLines=x&query=ssh", 400, "tailLines: Invalid value"),
        ("pods/?query=ssh", 406, "path not allowed in query mode\n"),
        ("?tailLines=5", 406, "query: Required value: cannot be empty with options\n"),
        ("?query=/missing", 406, "/log/missing: no such file or directory\n"),
        ("?query=/../secret", 406, "/log/secret: no such file or directory\n"),
    ],
)
async def test_query_that_cannot_be_answered_is_an_error(
    client: ClientSession, path: str, code: int, message: str
) -> None:
    found, text = await get(client, f"/logs/{path}")
    assert found == code
    assert message in text


async def test_node_without_a_journal_has_files_only(logs: Path) -> None:
    system = SystemLogs(logs, "/no/such/program")
    app = application(system)
    async with TestServer(app) as server, ClientSession(server.make_url("/")) as client:
        assert await get(client, "/logs/?query=ssh") == (200, "\nlog not found for ssh\n")
        assert await get(client, "/logs/?query=syslog") == (200, "first\nsecond\n")


async def test_configuration_and_rights_decide(served: Served) -> None:
    (served.logs / "syslog").write_text("line\n")
    refused = "Forbidden (user=system:node:node, verb=get, resource=nodes, subresource(s)=[log])\n"
    assert await served.node.get("/logs/syslog") == (403, refused)
    assert await served.nobody.get("/logs/syslog") == (401, "Unauthorized")
    assert await served.api_server.get("/logs/syslog") == (200, "line\n")
    assert await served.api_server.get("/logs/syslog?query=") == (200, "line\n"), "no query unless configured"
    served.server.show(KubeletConfig(enable_system_log_query=True))
    code, text = await served.api_server.get("/logs/?query=")
    assert (code, text) == (400, 'query: Invalid value: [""]: query cannot be empty\n')
    served.server.show(KubeletConfig(enable_system_log_handler=False))
    assert await served.api_server.get("/logs/syslog") == (405, "logs endpoint is disabled.\n")
