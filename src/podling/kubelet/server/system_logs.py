"""``/logs/``: the files below ``/var/log`` of the node's machine, and queries of its services' logs.

Links are followed as long as they stay below the directory: a pod that may write there reaches no other file
of the node through the kubelet. Queries need ``enableSystemLogQuery``.
Upstream: ``http.FileServer``, ``pkg/kubelet/kubelet_server_journal.go``.
"""

from __future__ import annotations

import asyncio
import html
import os
import posixpath
import shutil
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from podling.files.beneath import opened_beneath
from podling.kubelet.blocking import blocking
from podling.kubelet.server.log_query import (
    LogOptions,
    LogQuery,
    file_names,
    journal_arguments,
    parse_query,
    query_errors,
)
from podling.machinery.fields import FieldError, aggregate, invalid
from podling.machinery.fields import Path as FieldPath

LOG_DIRECTORY = Path("/var/log")
QUERY_SECONDS = 30.0
"""The time that the answer to a query may take."""
CHUNK = 256 * 1024
TEXT = "text/plain; charset=utf-8"
LISTING = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n{}</pre>\n'

Write = Callable[[bytes], Awaitable[None]]


class SystemLogs:
    """The logs below one directory.

    Args:
        journal: the program that reads the journal.
    """

    def __init__(self, directory: Path = LOG_DIRECTORY, journal: str = "journalctl") -> None:
        self._directory = directory
        self._journal = journal

    async def serve(self, request: web.Request, *, queries: bool) -> web.StreamResponse:
        """Respond to a request; ``queries``: whether its parameters may be a query."""
        path = request.match_info["path"]
        if queries:
            query, errors = parse_query(tuple(request.query.items()))
            if errors:
                return _error(400, aggregate(errors))
            if query != LogQuery():
                if path:
                    return _error(406, "path not allowed in query mode")
                errors = query_errors(query) or await blocking(self._missing, query)
                if errors:
                    return _error(406, aggregate(errors))
                if query.services:
                    return await self._answer(request, query)
                path = query.files[0].replace("\\", "/")
        return await self._serve_path(request, path)

    def _missing(self, query: LogQuery) -> list[FieldError]:
        for name in query.files:
            inside = posixpath.normpath(f"/{name}").lstrip("/")
            try:
                with opened_beneath(self._directory, inside):
                    pass
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                text = f"stat {self._directory / inside}: {why}"
                return [invalid(FieldPath("query"), query.files, text)]
        return []

    # Files.

    async def _serve_path(self, request: web.Request, path: str) -> web.StreamResponse:
        inside = posixpath.normpath(f"/{path}").lstrip("/")
        try:
            descriptor = await blocking(_open, self._directory, inside)
        except PermissionError:
            return _error(403, "403 Forbidden")
        except OSError:
            return _error(404, "404 page not found")
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                if path and not path.endswith("/"):
                    return _moved(f"{posixpath.basename(path)}/")
                return await blocking(_listing, descriptor)
            if path.endswith("/"):
                return _moved(f"../{posixpath.basename(path.rstrip('/'))}")
            return await _send_file(request, descriptor, found)
        finally:
            os.close(descriptor)

    # Services.

    async def _answer(self, request: web.Request, query: LogQuery) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain;charset=UTF-8"})
        if request.headers.get("Accept-Encoding") == "gzip":
            response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        with suppress(TimeoutError):
            async with asyncio.timeout(QUERY_SECONDS):
                await self._copy(query, response.write)
        await response.write_eof()
        return response

    async def _copy(self, query: LogQuery, write: Write) -> None:
        units = await self._units()
        in_journal = [name for name in query.services if f"{name}.service" in units]
        in_files = [name for name in query.services if name not in in_journal]
        if in_journal:
            arguments = journal_arguments(in_journal, query.options)
            async with aclosing(self._journal_output(*arguments)) as output:
                async for chunk in output:
                    await write(chunk)
        if in_files and query.options != LogOptions():
            listed = " ".join(in_files)
            text = f"\noptions present and query resolved to log files for [{listed}]\n"
            await write(f"{text}try without specifying options\n".encode())
            return
        for service in in_files:
            await self._copy_file(service, write)

    async def _copy_file(self, service: str, write: Write) -> None:
        for name in file_names(service):
            try:
                descriptor = await blocking(_open, self._directory, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                await write(f"\nerror getting log for {service}: {error.strerror or error}\n".encode())
                return
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    continue
                while chunk := await blocking(os.read, descriptor, CHUNK):
                    await write(chunk)
                return
            finally:
                os.close(descriptor)
        await write(f"\nlog not found for {service}\n".encode())

    async def _units(self) -> str:
        """Return the units that the journal knows; empty without a journal."""
        chunks = [chunk async for chunk in self._journal_output("--field", "_SYSTEMD_UNIT")]
        return b"".join(chunks).decode(errors="replace")

    async def _journal_output(self, *arguments: str) -> AsyncGenerator[bytes]:
        program = shutil.which(self._journal)
        if program is None:
            return
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        try:
            while chunk := await process.stdout.read(CHUNK):
                yield chunk
            await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _open(directory: Path, path: str) -> int:
    """Return a descriptor of a directory or regular file. Raises ``OSError``; no device is ever opened."""
    with opened_beneath(directory, path) as found:
        mode = os.fstat(found).st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise FileNotFoundError(path)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC)


def _listing(descriptor: int) -> web.Response:
    with os.scandir(descriptor) as entries:
        names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    lines = "".join(f'<a href="{quote(_relative(name))}">{html.escape(name)}</a>\n' for name in names)
    return web.Response(text=LISTING.format(lines), content_type="text/html", charset="utf-8")


def _relative(name: str) -> str:
    """Return a name as a relative reference: before a colon it would be a scheme."""
    return f"./{name}" if ":" in name else name


async def _send_file(request: web.Request, descriptor: int, found: os.stat_result) -> web.StreamResponse:
    changed = datetime.fromtimestamp(int(found.st_mtime), UTC)
    since = request.if_modified_since
    if since is not None and changed <= since:
        return web.Response(status=304)
    try:
        wanted = request.http_range
        start, end, _ = wanted.indices(found.st_size)
    except ValueError:
        return _out_of_range(found.st_size)
    partial = wanted.start is not None or wanted.stop is not None
    if partial and start >= end:
        return _out_of_range(found.st_size)
    head = await blocking(os.pread, descriptor, 512, 0)
    response = web.StreamResponse(status=206 if partial else 200)
    response.headers["Content-Type"] = "application/octet-stream" if b"\0" in head else TEXT
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Last-Modified"] = format_datetime(changed, usegmt=True)
    response.content_length = end - start
    if partial:
        response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.st_size}"
    await response.prepare(request)
    while start < end and (chunk := await blocking(os.pread, descriptor, min(CHUNK, end - start), start)):
        await response.write(chunk)
        start += len(chunk)
    await response.write_eof()
    return response


def _out_of_range(size: int) -> web.Response:
    headers = {"Content-Range": f"bytes */{size}"}
    return web.Response(status=416, text="invalid range: failed to overlap\n", headers=headers)


def _moved(place: str) -> web.Response:
    return web.Response(status=301, headers={"Location": place})


def _error(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers={"X-Content-Type-Options": "nosniff"})
