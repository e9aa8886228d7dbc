"""The metrics of the StatefulSet controller, under Kubernetes' names.

Source of names and labels: ``pkg/controller/statefulset/metrics``. They exist for the sets that state
``maxUnavailable``: Kubernetes counts with the feature gate ``MaxUnavailableStatefulSet`` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from podling.client.base import Key, key_of
from podling.controllers.workloads.statefulset_plan import unavailable_max
from podling.controllers.workloads.statefulset_rules import View, replicas_of
from podling.machinery.histograms import gauges

_LABELS = ("statefulset_namespace", "statefulset_name", "pod_management_policy")


class Unavailability(Struct, frozen=True):
    """The number of a set's members that may be unavailable during an update, and of those that are."""

    policy: str
    most: int
    present: int


def unavailability(view: View) -> Unavailability | None:
    """Return the numbers of a set; None for one without ``maxUnavailable``."""
    most = unavailable_max(view.stateful)
    if most is None:
        return None
    available = sum(map(view.is_available, view.members.values()))
    policy = view.stateful.spec.pod_management_policy or "OrderedReady"
    return Unavailability(policy, most, replicas_of(view.stateful) - available)


class StatefulSetMetrics:
    """The numbers of each set, as of its last run."""

    def __init__(self) -> None:
        self._numbers: dict[Key, Unavailability] = {}

    def record(self, view: View) -> None:
        found = unavailability(view)
        if found is None:
            self.forget(key_of(view.stateful))
        else:
            self._numbers[key_of(view.stateful)] = found

    def forget(self, key: Key) -> None:
        self._numbers.pop(key, None)

    def families(self) -> Iterator[Any]:
        """Yield the families of ``prometheus_client``."""
        labelled = {(key.namespace, key.name, each.policy): each for key, each in self._numbers.items()}
        yield gauges(
            "statefulset_controller_statefulset_max_unavailable",
            "[ALPHA] Maximum number of unavailable pods allowed during StatefulSet rolling updates",
            _LABELS,
            {labels: each.most for labels, each in labelled.items()},
        )
        yield gauges(
            "statefulset_controller_statefulset_unavailable_replicas",
            "[ALPHA] Current number of unavailable pods in StatefulSet",
            _LABELS,
            {labels: each.present for labels, each in labelled.items()},
        )
