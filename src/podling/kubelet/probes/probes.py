"""The state of a probe: results, thresholds and verdicts. Pure; the prober waits and sends.

A verdict needs as many equal results in a row as its threshold says; below it nothing changes. A failed
liveness probe, and either verdict of a startup probe, are final for their container: it is restarted,
or has started, and the probe rests until there is a new container (``pkg/kubelet/prober/worker.go``).
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import Container, Probe
from podling.kubelet.status.probe_view import ProbeResult


class ProbeKind(Enum):
    """The three probes; the value is their name in events."""

    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


INITIAL_RESULT = {
    ProbeKind.STARTUP: ProbeResult.UNKNOWN,
    ProbeKind.LIVENESS: ProbeResult.SUCCESS,
    ProbeKind.READINESS: ProbeResult.FAILURE,
}


class Thresholds(Struct, frozen=True):
    """A probe's numbers with their defaults filled in; durations in seconds."""

    initial_delay: int
    timeout: int
    period: int
    success: int
    failure: int


def thresholds(probe: Probe) -> Thresholds:
    return Thresholds(
        initial_delay=probe.initial_delay_seconds or 0,
        timeout=probe.timeout_seconds or 1,
        period=probe.period_seconds or 10,
        success=probe.success_threshold or 1,
        failure=probe.failure_threshold or 3,
    )


def probe_of(container: Container, kind: ProbeKind) -> Probe | None:
    if kind is ProbeKind.STARTUP:
        return container.startup_probe
    return container.liveness_probe if kind is ProbeKind.LIVENESS else container.readiness_probe


class ProbeState(Struct, frozen=True):
    """``result`` is the verdict in force; ``run`` counts how often ``last`` came in a row."""

    kind: ProbeKind
    result: ProbeResult
    last: ProbeResult | None = None
    run: int = 0
    resting: bool = False


def initial_state(kind: ProbeKind, carried: ProbeResult | None = None) -> ProbeState:
    """Return the state for a new container; ``carried`` is the verdict from before a kubelet restart."""
    result = INITIAL_RESULT[kind] if carried is None else carried
    rests = kind is ProbeKind.STARTUP and result is ProbeResult.SUCCESS
    return ProbeState(kind, result, resting=rests)


def is_settled(state: ProbeState) -> bool:
    """Return whether more results like the last one have no effect. Failures have: events count them."""
    return state.last is state.result is ProbeResult.SUCCESS


def observe(state: ProbeState, numbers: Thresholds, found: ProbeResult) -> ProbeState:
    """Return the state after one more result. Results of probes that could not be made are not passed in."""
    if state.resting:
        return state
    run = state.run + 1 if state.last is found else 1
    counted = replace(state, last=found, run=run)
    needed = numbers.failure if found is ProbeResult.FAILURE else numbers.success
    if run < needed:
        return counted
    final = state.kind is ProbeKind.STARTUP or (
        state.kind is ProbeKind.LIVENESS and found is ProbeResult.FAILURE
    )
    return replace(counted, result=found, resting=final, run=0 if final else run)
