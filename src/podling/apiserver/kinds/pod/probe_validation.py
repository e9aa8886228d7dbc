"""Validation of probes and lifecycle hooks, which have the same handlers.

Upstream: ``validateProbe``, ``validateHandler`` and ``validateLifecycle`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.api.core_v1 import (
    Container,
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import PodScope
from podling.machinery import fields, names
from podling.machinery.fields import Path

PROBES = (
    ("liveness_probe", "livenessProbe"),
    ("readiness_probe", "readinessProbe"),
    ("startup_probe", "startupProbe"),
)
"""The Python and JSON names of a container's three probes."""

LINUX_SIGNALS = frozenset({
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT",
    "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGSEGV",
    "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG",
    "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ", "SIGRTMIN", "SIGRTMAX",
    *(f"SIGRTMIN+{number}" for number in range(1, 16)),
    *(f"SIGRTMAX-{number}" for number in range(1, 15)),
})  # fmt: skip


def validate_probes(path: Path, container: Container, scope: PodScope) -> Errors:
    """Return the errors in the probes of a regular container or sidecar."""
    errors: Errors = []
    for attribute, name in PROBES:
        probe = getattr(container, attribute)
        if probe is not None:
            errors += _probe_errors(path.child(name), probe, name, scope)
    return errors


def validate_lifecycle(path: Path, lifecycle: Lifecycle, scope: PodScope) -> Errors:
    errors: Errors = []
    if lifecycle.post_start is not None:
        errors += _handler_errors(path.child("postStart"), lifecycle.post_start, scope)
    if lifecycle.pre_stop is not None:
        errors += _handler_errors(path.child("preStop"), lifecycle.pre_stop, scope)
    if lifecycle.stop_signal is not None:
        errors += _stop_signal_errors(path.child("stopSignal"), lifecycle.stop_signal, scope)
    return errors


def _probe_errors(path: Path, probe: Probe, name: str, scope: PodScope) -> Errors:
    errors = _handler_errors(path, probe, scope)
    errors += checks.non_negative(path.child("initialDelaySeconds"), probe.initial_delay_seconds)
    errors += checks.non_negative(path.child("timeoutSeconds"), probe.timeout_seconds)
    errors += checks.non_negative(path.child("periodSeconds"), probe.period_seconds)
    errors += checks.non_negative(path.child("successThreshold"), probe.success_threshold)
    errors += checks.non_negative(path.child("failureThreshold"), probe.failure_threshold)
    grace = probe.termination_grace_period_seconds
    if grace is not None and grace <= 0:
        errors.append(
            fields.invalid(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0")
        )
    if name == "readinessProbe":
        if grace is not None:
            text = "must not be set for readinessProbes"
            errors.append(fields.invalid(path.child("terminationGracePeriodSeconds"), grace, text))
    elif probe.success_threshold != 1:
        errors.append(
            fields.invalid(path.child("successThreshold"), probe.success_threshold or 0, "must be 1")
        )
    return errors


def _handler_errors(path: Path, handler: Probe | LifecycleHandler, scope: PodScope) -> Errors:
    """Return the errors in exactly one handler; a second one is only reported as such."""
    errors: Errors = []
    found = False
    for attribute, name, check in _HANDLERS:
        action = getattr(handler, attribute, None)
        if action is None:
            continue
        if found:
            errors.append(fields.forbidden(path.child(name), "may not specify more than 1 handler type"))
            continue
        found = True
        errors += check(path.child(name), action, scope)
    if not found:
        errors.append(fields.required(path, "must specify a handler type"))
    return errors


def _exec_errors(path: Path, action: ExecAction, scope: PodScope) -> Errors:
    return [] if action.command else [fields.required(path.child("command"))]


def _http_get_errors(path: Path, action: HTTPGetAction, scope: PodScope) -> Errors:
    errors = [] if action.path else [fields.required(path.child("path"))]
    errors += checks.port_or_name(path.child("port"), action.port)
    errors += checks.one_of(path.child("scheme"), action.scheme, ("HTTP", "HTTPS"))
    for header in action.http_headers:
        problems = names.http_header_name_errors(header.name)
        errors += fields.invalid_each(path.child("httpHeaders"), header.name, problems)
    return errors


def _tcp_socket_errors(path: Path, action: TCPSocketAction, scope: PodScope) -> Errors:
    return checks.port_or_name(path.child("port"), action.port)


def _grpc_errors(path: Path, action: GRPCAction, scope: PodScope) -> Errors:
    return checks.port_number(path.child("port"), action.port)


def _sleep_errors(path: Path, action: SleepAction, scope: PodScope) -> Errors:
    grace = scope.grace_seconds
    if grace is None or 0 <= action.seconds <= grace:
        return []
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [fields.invalid(path, action.seconds, text)]


def _stop_signal_errors(path: Path, signal: str, scope: PodScope) -> Errors:
    if scope.spec.os is None:
        return [fields.forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    supported = sorted({"SIGKILL", "SIGTERM"} if scope.spec.os.name == "windows" else LINUX_SIGNALS)
    return [] if signal in supported else [fields.not_supported(path, signal, supported)]


_HANDLERS: tuple[tuple[str, str, Callable[[Path, Any, PodScope], Errors]], ...] = (
    ("exec", "exec", _exec_errors),
    ("http_get", "httpGet", _http_get_errors),
    ("tcp_socket", "tcpSocket", _tcp_socket_errors),
    ("grpc", "grpc", _grpc_errors),
    ("sleep", "sleep", _sleep_errors),
)
