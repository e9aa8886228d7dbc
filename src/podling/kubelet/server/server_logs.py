"""``/containerLogs``: a container's log over HTTP, as Kubernetes' kubelet serves it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from aiohttp import web

from podling import clock
from podling.kubelet.file_watch import FileWatch
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.log_sources import open_log
from podling.kubelet.server.log_target import has_container, log_container_id
from podling.kubelet.server.log_turns import LogTurns
from podling.kubelet.server.logs import LogOptions, read_log
from podling.machinery.errors import bad_request, failure
from podling.machinery.moments import shifted
from podling.runtime.base import NotFound

STREAMS = {"": "", "All": "", "Stdout": "stdout", "Stderr": "stderr"}


def parse_log_options(query: Mapping[str, str], now: datetime) -> LogOptions:
    """Return the ``PodLogOptions`` of a query. Raises 400 if it is malformed, 422 if it is invalid."""
    try:
        since_seconds = _number(query, "sinceSeconds", 1)
        since = None if since_seconds is None else shifted(now, -since_seconds)
        if query.get("sinceTime"):
            asked = datetime.fromisoformat(query["sinceTime"])
            if asked.tzinfo is None:
                raise ValueError("a time without a zone")
            since = asked if since is None else max(since, asked)
        stream = STREAMS[query.get("stream", "")]
        tail_lines = _number(query, "tailLines", 0)
        limit_bytes = _number(query, "limitBytes", 1)
    except (ValueError, KeyError):
        raise bad_request('{"message": "Unable to decode query."}') from None
    return LogOptions(
        follow=flag(query, "follow"),
        timestamps=flag(query, "timestamps"),
        since=since,
        tail_lines=tail_lines,
        limit_bytes=limit_bytes,
        stream=stream,
    )


def flag(query: Mapping[str, str], *names: str) -> bool:
    """Return a boolean under any of its names: present and neither ``0`` nor ``false``."""
    return any(query.get(name, "").lower() not in ("", "0", "false") for name in names)


def _number(query: Mapping[str, str], name: str, least: int) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    number = int(text)
    if number < least:
        raise failure(422, "Invalid", '{"message": "Invalid request."}')
    return number


async def serve_container_log(
    request: web.Request, source: PodSource, watch: FileWatch, turns: LogTurns
) -> web.StreamResponse:
    """Respond with the log. Raises ``ApiError`` before the response has begun."""
    match = request.match_info
    name, container = match["pod"], match["container"]
    options = parse_log_options(request.query, clock.now())
    previous = flag(request.query, "previous")
    pod = source.get_pod(match["namespace"], name)
    if pod is None:
        raise failure(404, "NotFound", f"pod {json.dumps(name)} does not exist")
    if not has_container(pod, container):
        text = f"container {json.dumps(container)} not found in pod {json.dumps(name)}"
        raise failure(404, "NotFound", text)
    shown_id = log_container_id(pod, container, previous=previous)
    container_id = shown_id.rpartition("//")[2]
    runtime = source.runtime
    try:
        status = await runtime.container_status(container_id)
    except NotFound:
        raise bad_request(f"unable to retrieve container logs for {shown_id}") from None
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    try:
        async with open_log(runtime, container_id, status.log_path, watch, follow=options.follow) as log:
            await response.prepare(request)
            async for chunk in read_log(log, options, turns):
                await response.write(chunk)
    except OSError as error:
        if response.prepared:
            raise
        raise bad_request(f"failed to open log file {json.dumps(status.log_path)}: {error}") from None
    await response.write_eof()
    return response
