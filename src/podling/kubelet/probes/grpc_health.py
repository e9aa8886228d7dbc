"""The gRPC health check (``grpc.health.v1.Health/Check``) of probes.

The two messages have one field each, so they are encoded and decoded here. Only the transport is a
library's, which is loaded for the first such probe.
"""

from __future__ import annotations

import os

from podling import clock
from podling.kubelet.version import USER_AGENT_VERSION
from podling.machinery.durations import go_duration

METHOD = "/grpc.health.v1.Health/Check"
STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
SERVING = 1
DESCRIPTORS_NEEDED = 64
"""More than the library opens (measured: 7 for ten probes at once), since other code opens files as well."""


def encode_request(service: str) -> bytes:
    """Return ``HealthCheckRequest``: field 1, the service's name; left out when empty."""
    if not service:
        return b""
    name = service.encode()
    return b"\x0a" + _varint(len(name)) + name


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


def decode_response(data: bytes) -> int:
    """Return the status of a ``HealthCheckResponse``: field 1; 0 when absent. Raises ``ValueError``."""
    if not data:
        return 0
    if len(data) < 2 or data[0] != 0x08:
        raise ValueError("not a health check's answer")
    number = shift = 0
    for byte in data[1:]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number
    raise ValueError("not a health check's answer")


def check_descriptors() -> None:
    """Raise ``OSError`` if the process can open few files more: without any, the library aborts it."""
    taken: list[int] = []
    try:
        for _ in range(DESCRIPTORS_NEEDED):
            taken.append(os.dup(0))
    finally:
        for descriptor in taken:
            os.close(descriptor)


async def check_health(address: str, service: str, timeout_seconds: float) -> tuple[bool, str]:
    """Return whether the service reports that it is serving, and the probe's output if not.

    A connection that is refused is tried again until the time is over (source: ``pkg/probe/grpc/grpc.go``).
    Raises ``OSError`` when the process has too few descriptors left.
    """
    check_descriptors()
    try:
        import grpc  # type: ignore[import-untyped]
    except ImportError:
        return False, "gRPC probes need the grpcio package on the node"

    within = go_duration(timeout_seconds)
    options = (("grpc.primary_user_agent", f"kube-probe/{USER_AGENT_VERSION}"),)
    end = clock.monotonic() + timeout_seconds
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        try:
            async with clock.timeout(timeout_seconds):
                await channel.channel_ready()
        except TimeoutError:
            why = "context deadline exceeded"
            return False, f'timeout: failed to connect service "{address}" within {within}: {why}'
        check = channel.unary_unary(METHOD, encode_request, decode_response)
        try:
            status = await check(service, timeout=max(0.0, end - clock.monotonic()))
        except grpc.aio.AioRpcError as error:
            return False, _failure(within, error.code().name, error.details() or "")
        except ValueError as error:
            return False, f"error: health rpc probe failed: {error}"
    if status == SERVING:
        return True, "service healthy"
    name = STATUSES[status] if status < len(STATUSES) else str(status)
    return False, f'service unhealthy (responded with "{name}")'


def _failure(within: str, code: str, details: str) -> str:
    if code == "UNIMPLEMENTED":
        return (
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
            f"{details}"
        )
    if code == "DEADLINE_EXCEEDED":
        return f"timeout: health rpc did not complete within {within}"
    return f"error: health rpc probe failed: rpc error: code = {_go_code(code)} desc = {details}"


def _go_code(name: str) -> str:
    """Return Go's name of a code: ``NotFound`` for ``NOT_FOUND``."""
    return name.title().replace("_", "").replace("Cancelled", "Canceled")
