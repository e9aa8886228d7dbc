"""The kubelet's HTTPS server: logs, exec, attach, port-forward, pods, statistics and metrics.

Its usual client is the API server; others need rights on the node (``server_access``). The server listens
before the kubelet starts, because the node registers with its port. It responds with 503 until ``serve``
sets the pods.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import web

from podling import clock
from podling.api.core_v1 import PodList
from podling.kubelet.config import KubeletConfig
from podling.kubelet.file_watch import FileWatch
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.component_pages import page_response, served_pages
from podling.kubelet.server.container_metrics import container_metrics_text
from podling.kubelet.server.disk_use import DiskMeter
from podling.kubelet.server.image_api import image_routes
from podling.kubelet.server.log_turns import LogTurns
from podling.kubelet.server.machine_use import MachineMeter
from podling.kubelet.server.running_pods import running_pods
from podling.kubelet.server.server_access import ServerAccess
from podling.kubelet.server.server_logs import serve_container_log
from podling.kubelet.server.server_metrics import metrics_text, probe_metrics_text, resource_metrics_text
from podling.kubelet.server.server_stats import Measured, Sample, samples_of, summary
from podling.kubelet.server.server_streams import StreamHandlers
from podling.kubelet.server.snapshot import take_snapshot
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.streaming.connection_table import Limits
from podling.streaming.listener import Listener

HOST = "127.0.0.1"
PROMETHEUS = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
SHUTDOWN_SECONDS = 2.0
"""The time that connections have to end at shutdown."""

LIMITS = Limits(per_peer=4096, reserve=0.125)
"""Limits of connections. All come from the API server, and need descriptors reserved when others use many."""

CLIENT_GONE = 499

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class KubeletServer:
    """One node's server. ``port`` 0 takes any free one; ``access`` admits its clients."""

    def __init__(
        self,
        ssl_context: ssl.SSLContext,
        access: ServerAccess,
        config: KubeletConfig,
        host: str = HOST,
        port: int = 0,
        log_directory: Path = Path("/var/log"),
    ) -> None:
        self._access = access
        self._config = config
        self._ssl_context = ssl_context
        self._host = host
        self._port = port
        self._log_directory = log_directory
        self._source: PodSource | None = None
        self._watch = FileWatch()
        self._turns = LogTurns()
        self._runner: web.AppRunner | None = None
        self._started = clock.now()
        self._samples: dict[str, Sample] = {}
        self._machine = MachineMeter()
        self._disks = DiskMeter()
        self._requests: dict[asyncio.Task[object], None] = {}

    async def listen(self) -> int:
        """Open the port and return its number. Raises ``OSError`` if it is taken."""
        app = web.Application(middlewares=[self._authenticate])
        streams = StreamHandlers(self._pods)
        pod, container = "/{namespace}/{pod}", "/{namespace}/{pod}/{container}"
        for path, handler in (
            ("/healthz", self._healthz),
            ("/pods", self._list_pods),
            ("/pods/", self._list_pods),
            ("/metrics", self._metrics),
            ("/metrics/cadvisor", self._container_metrics),
            ("/metrics/probes", self._probe_metrics),
            ("/metrics/resource", self._resource_metrics),
            ("/stats/summary", self._stats_summary),
            ("/configz", self._configz),
            *((path, self._component_page) for path in served_pages(self._config)),
            ("/runningpods/", self._running_pods),
            ("/logs/{path:.*}", self._debugging(self._system_log)),
            ("/containerLogs" + container, self._debugging(self._container_log)),
        ):
            app.router.add_get(path, handler)
        with_uid = "/{namespace}/{pod}/{uid}"
        for path, handler in (
            ("/exec" + container, streams.exec),
            ("/exec" + with_uid + "/{container}", streams.exec),
            ("/attach" + container, streams.attach),
            ("/attach" + with_uid + "/{container}", streams.attach),
            ("/portForward" + pod, streams.port_forward),
            ("/portForward" + with_uid, streams.port_forward),
        ):
            handler = self._debugging(handler)
            app.router.add_get(path, handler)
            app.router.add_post(path, handler)  # SPDY clients upgrade a POST
        app.router.add_routes(image_routes(lambda: self._pods().runtime.images))
        # Handlers are cancelled when their client leaves: a followed log may be silent for days.
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        site = Listener(
            self._runner,
            self._host,
            self._port,
            ssl_context=self._ssl_context,
            limits=LIMITS,
            options={"access_log": None},
        )
        await site.start()
        return site.port

    def serve(self, source: PodSource) -> None:
        """Serve these pods from now on."""
        self._source = source

    def show(self, config: KubeletConfig) -> None:
        """Show this configuration at ``/configz`` from now on."""
        self._config = config

    async def close(self) -> None:
        """Close all connections, streams first: they would last as long as their clients want."""
        for request in self._requests:
            request.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        self._watch.close()

    def _pods(self) -> PodSource:
        if self._source is None:
            raise web.HTTPServiceUnavailable(text="the kubelet is starting")
        return self._source

    @web.middleware
    async def _authenticate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Admit authorized clients, and convert errors to the kubelet's plain text responses."""
        refused = await self._access.refusal(
            request.method,
            request.path,
            request.get_extra_info("peercert"),
            request.headers.get("Authorization", ""),
        )
        if refused is not None:
            return web.Response(status=refused[0], text=refused[1])
        task = asyncio.current_task()
        assert task is not None
        self._requests[task] = None
        try:
            return await handler(request)
        except ApiError as error:
            return web.Response(status=error.code, text=str(error))
        except ConnectionError:  # the client left before its answer
            return web.Response(status=CLIENT_GONE)
        finally:
            del self._requests[task]

    def _debugging(self, handler: Handler) -> Handler:
        """Return a handler, or the refusal of all that shows or changes containers."""
        return handler if self._config.enable_debugging_handlers else _refuse_debugging

    async def _configz(self, request: web.Request) -> web.Response:
        from podling.kubelet.server.configz import configz

        return web.json_response(configz(self._config))

    async def _component_page(self, request: web.Request) -> web.Response:
        served = (*served_pages(self._config), "/configz", "/healthz", "/metrics")
        return page_response(request, self._config, self._started, served)

    async def _running_pods(self, request: web.Request) -> web.Response:
        body = codec.encode(PodList(items=await running_pods(self._pods().runtime)))
        return web.Response(body=body, content_type="application/json")

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _list_pods(self, request: web.Request) -> web.Response:
        body = codec.encode(PodList(items=tuple(self._pods().pods())))
        return web.Response(body=body, content_type="application/json")

    async def _metrics(self, request: web.Request) -> web.Response:
        source = self._pods()
        gates, disks = self._config.feature_gates, await self._disks.read(source)
        return web.Response(
            text=await metrics_text(source, gates, _node_name(source), disks), headers=PROMETHEUS
        )

    async def _container_metrics(self, request: web.Request) -> web.Response:
        source = self._pods()
        now = await take_snapshot(source, detailed=True)
        machine = await self._machine.read(source.runtime, now)
        return web.Response(text=container_metrics_text(now, machine), headers=PROMETHEUS)

    async def _probe_metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=probe_metrics_text(self._pods()), headers=PROMETHEUS)

    async def _resource_metrics(self, request: web.Request) -> web.Response:
        source = self._pods()
        now = await take_snapshot(source)
        machine = await self._machine.read(source.runtime, now)
        return web.Response(text=resource_metrics_text(now, machine), headers=PROMETHEUS)

    async def _stats_summary(self, request: web.Request) -> web.Response:
        """Return the whole summary, or with ``only_cpu_and_memory`` that part of it."""
        source = self._pods()
        brief = request.query.get("only_cpu_and_memory") == "true"
        now = await take_snapshot(source, detailed=True)
        machine = await self._machine.read(source.runtime, now)
        disks = None if brief else await self._disks.read(source)
        measured = Measured(_node_name(source), now, machine, disks)
        before, self._samples = self._samples, samples_of(measured)
        return web.Response(
            body=msgspec.json.encode(summary(measured, before)), content_type="application/json"
        )

    async def _container_log(self, request: web.Request) -> web.StreamResponse:
        return await serve_container_log(request, self._pods(), self._watch, self._turns)

    async def _system_log(self, request: web.Request) -> web.StreamResponse:
        if not (self._config.enable_system_log_handler and self._config.write_files):
            return web.Response(status=405, text="logs endpoint is disabled.\n")
        from podling.kubelet.server.system_logs import SystemLogs

        queries = self._config.enable_system_log_query
        return await SystemLogs(self._log_directory).serve(request, queries=queries)


async def _refuse_debugging(request: web.Request) -> web.Response:
    return web.Response(status=405, text="Debug endpoints are disabled.\n")


def _node_name(source: PodSource) -> str:
    """Return the node's name, as its pods have it."""
    return next((pod.spec.node_name for pod in source.pods()), None) or ""
