"""The probe handlers: ``exec``, ``httpGet``, ``tcpSocket`` and ``grpc``.

A probe returns an ``Answer``, or raises ``ProbeError`` when it could not be made at all. The difference
matters, because an error means nothing about the container (``pkg/probe``, ``pkg/kubelet/prober``).
"""

from __future__ import annotations

import asyncio
import errno

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Container, ExecAction, GRPCAction, HTTPGetAction, Probe, TCPSocketAction
from podling.kubelet.expansion import expand
from podling.kubelet.failures import os_text
from podling.kubelet.ports import UnknownPort, resolve_port
from podling.kubelet.probes.grpc_health import check_health
from podling.kubelet.probes.http_action import HTTPFailure, HTTPRequest, dial_failure, http_get, request_for
from podling.kubelet.version import USER_AGENT_VERSION
from podling.machinery.durations import go_duration
from podling.runtime.base import AnswersProbes, Runtime, Streams
from podling.runtime.failures import ExecTimeout, RuntimeFailure

OUTPUT_BYTES_MAX = 10 * 1024
NODE_IS_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""Errors of a connection caused by a shortage on the node. Kubernetes attributes them to the container."""
USER_AGENT = f"kube-probe/{USER_AGENT_VERSION}"


class ProbeError(Exception):
    """The probe could not be made."""


class Answer(Struct, frozen=True):
    """The result of a probe. ``warning``: it counts as success, but an event reports it."""

    success: bool
    output: str = ""
    warning: bool = False


class Subject(Struct, frozen=True):
    """The container that is probed."""

    container: Container
    container_id: str
    pod_ip: str


async def run_probe(runtime: Runtime, subject: Subject, probe: Probe, timeout_seconds: float) -> Answer:
    """Make ``probe`` once. Raises ``ProbeError``."""
    try:
        if probe.exec is not None:
            return await _exec(runtime, subject, probe.exec, timeout_seconds)
        if probe.http_get is not None:
            return await _http(runtime, subject, probe.http_get, timeout_seconds)
        if probe.tcp_socket is not None:
            return await _tcp(runtime, subject, probe.tcp_socket, timeout_seconds)
        if probe.grpc is not None:
            return await _grpc(runtime, subject, probe.grpc, timeout_seconds)
    except UnknownPort as error:
        raise ProbeError(str(error)) from error
    except OSError as error:
        raise ProbeError(os_text(error)) from error
    raise ProbeError(f"missing probe handler for {subject.container.name}")


async def _exec(runtime: Runtime, subject: Subject, action: ExecAction, timeout_seconds: float) -> Answer:
    static = {variable.name: variable.value or "" for variable in subject.container.env}
    command = [expand(text, static) for text in action.command]
    output = bytearray()

    async def collect(chunk: bytes) -> None:
        output.extend(chunk[: OUTPUT_BYTES_MAX - len(output)])

    streams = Streams(stdout=collect, stderr=collect)
    try:
        code = await runtime.exec(subject.container_id, command, streams, timeout=timeout_seconds)
    except ExecTimeout:
        after = go_duration(timeout_seconds)
        return Answer(False, f'command timed out: "{" ".join(command)}" timed out after {after}')
    except RuntimeFailure as error:
        raise ProbeError(str(error)) from error
    return Answer(code == 0, output.decode(errors="replace"))


async def _simulated(
    runtime: Runtime, subject: Subject, kind: str, target: str, timeout: float
) -> Answer | None:
    """Return the answer of a runtime whose containers have no sockets; None from all others."""
    if not isinstance(runtime, AnswersProbes):
        return None
    try:
        async with clock.timeout(timeout):
            found = await runtime.probe(subject.container_id, kind, target)
    except TimeoutError:
        return Answer(False, "context deadline exceeded")
    except RuntimeFailure as error:
        raise ProbeError(str(error)) from error
    return Answer(found.success, found.output) if found is not None else None


async def _http(runtime: Runtime, subject: Subject, action: HTTPGetAction, timeout_seconds: float) -> Answer:
    request = request_for(action, subject.container, subject.pod_ip, USER_AGENT)
    simulated = await _simulated(runtime, subject, "http", request.target, timeout_seconds)
    return simulated if simulated is not None else await _http_over_network(request, timeout_seconds)


async def _http_over_network(request: HTTPRequest, timeout_seconds: float) -> Answer:
    try:
        answer = await http_get(request, timeout_seconds)
    except TimeoutError:
        text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        return Answer(False, f'Get "{request.url}": {text}')
    except HTTPFailure as error:
        if error.error_number in NODE_IS_SHORT:
            raise ProbeError(str(error)) from error
        return Answer(False, str(error))
    if 200 <= answer.status < 300:
        return Answer(True, answer.body)
    if 300 <= answer.status < 400:
        # A redirect to another host, or one without a target.
        return Answer(True, f"Probe terminated redirects, Response body: {answer.body}", warning=True)
    return Answer(False, f"HTTP probe failed with statuscode: {answer.status}")


async def _tcp(runtime: Runtime, subject: Subject, action: TCPSocketAction, timeout_seconds: float) -> Answer:
    port = resolve_port(action.port, subject.container)
    simulated = await _simulated(runtime, subject, "tcp", str(port), timeout_seconds)
    if simulated is not None:
        return simulated
    host = action.host or subject.pod_ip
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        async with asyncio.timeout(timeout_seconds):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()
    except TimeoutError:
        return Answer(False, f"dial tcp {address}: i/o timeout")
    except OSError as error:
        if error.errno in NODE_IS_SHORT:
            raise
        return Answer(False, dial_failure(host, port, error))
    return Answer(True)


async def _grpc(runtime: Runtime, subject: Subject, action: GRPCAction, timeout_seconds: float) -> Answer:
    target = f"{action.port}/{action.service or ''}"
    simulated = await _simulated(runtime, subject, "grpc", target, timeout_seconds)
    if simulated is not None:
        return simulated
    host = f"[{subject.pod_ip}]" if ":" in subject.pod_ip else subject.pod_ip
    success, output = await check_health(f"{host}:{action.port}", action.service or "", timeout_seconds)
    return Answer(success, output)
