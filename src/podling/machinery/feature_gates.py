"""Kubernetes' feature gates: names, stages, defaults, and the refusals of a change. Pure.

A gate is known as in Kubernetes 1.36 (``test/compatibility_lifecycle/reference/feature_list.md``). Podling
reads a few of them (``SWITCHES``); every other one has a single behaviour here, so a change is refused by
name instead of being ignored. Gates of the documents that Kubernetes has removed since count as locked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from podling.machinery.feature_gate_names import (
    ALPHA,
    BETA,
    BETA_OFF,
    DEPRECATED,
    DEPRECATED_OFF,
    GA,
    REMOVED,
)

SWITCHES = frozenset(
    {
        "CPUManagerPolicyAlphaOptions",
        "ClusterTrustBundle",
        "ClusterTrustBundleProjection",
        "ComponentFlagz",
        "ComponentStatusz",
        "CustomCPUCFSQuotaPeriod",
        "GangScheduling",
        "GenericWorkload",
        "GracefulNodeShutdown",
        "GracefulNodeShutdownBasedOnPodPriority",
        "KubeletCrashLoopBackOffMax",
        "MemoryQoS",
        "PodReadyToStartContainersCondition",
        "StorageCapacityScoring",
    }
)
"""The gates that switch something in Podling."""

ALL_ALPHA, ALL_BETA = "AllAlpha", "AllBeta"
DEPENDENCIES = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
}


class Gate(Struct, frozen=True):
    """One feature gate. ``locked``: it has its default for ever."""

    stage: str
    default: bool
    locked: bool = False


def _gates() -> dict[str, Gate]:
    rows = (
        (ALPHA, Gate("ALPHA", False)),
        (BETA, Gate("BETA", True)),
        (BETA_OFF, Gate("BETA", False)),
        (GA, Gate("", True, locked=True)),
        (DEPRECATED, Gate("DEPRECATED", True)),
        (DEPRECATED_OFF, Gate("DEPRECATED", False)),
        (REMOVED, Gate("", True, locked=True)),
    )
    found = {name: gate for names, gate in rows for name in names.split()}
    found["InformerResourceVersion"] = Gate("", True)
    found["AllowOverwriteTerminationGracePeriodSeconds"] = Gate("DEPRECATED", False, locked=True)
    found["AggregatedDiscoveryRemoveBetaType"] = Gate("DEPRECATED", True, locked=True)
    found[ALL_ALPHA], found[ALL_BETA] = Gate("ALPHA", False), Gate("BETA", False)
    return found


GATES: Mapping[str, Gate] = _gates()
NO_GATES: Mapping[str, bool] = MappingProxyType({})
"""Every gate has its default."""


def parse_gates(text: str) -> dict[str, bool]:
    """Return the gates of ``--feature-gates``: ``A=true,B=false``. Raises ``ValueError`` in Go's words."""
    found = {}
    for part in filter(None, text.split(",")):
        name, separator, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not separator:
            raise ValueError(f"missing bool value for {name}")
        if value not in _BOOLEANS:
            raise ValueError(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        found[name] = _BOOLEANS[value]
    return found


_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def gate_problems(chosen: Mapping[str, bool]) -> list[str]:
    """Return why gates cannot be set so: Kubernetes' refusals (``unsafeSetFromMap``), then Podling's."""
    found: list[str] = []
    for name, wanted in chosen.items():
        gate = GATES.get(name)
        if gate is None:
            return [*found, f"unrecognized feature gate: {name}"]
        change = f"cannot set feature gate {name} to {_go(wanted)}"
        if wanted == gate.default:
            continue
        if gate.locked:
            found.append(f"{change}, feature is locked to {_go(gate.default)}")
        elif name not in SWITCHES:
            state = "always has it" if gate.default else "does not have it"
            found.append(f"{change}: Podling {state}")
    if found:
        return found
    for name, needed in DEPENDENCIES.items():
        missing = [other for other in needed if not is_enabled(other, chosen)]
        if is_enabled(name, chosen) and missing:
            found.append(
                f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            )
    return found


def is_enabled(name: str, chosen: Mapping[str, bool]) -> bool:
    """Return whether a gate is on. Raises ``KeyError`` for an unknown one."""
    return chosen.get(name, GATES[name].default)


def gate_states(chosen: Mapping[str, bool]) -> Iterator[tuple[str, str, bool]]:
    """Return name, stage and state of every gate, by name; a gate without a stage is generally available."""
    return ((name, GATES[name].stage, is_enabled(name, chosen)) for name in sorted(GATES))


def _go(value: bool) -> str:
    return "true" if value else "false"
