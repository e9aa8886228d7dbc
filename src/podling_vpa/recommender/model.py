"""Everything that the recommender knows: autoscalers, their pods, and the histories of containers.

It changes in place with each round and reads nothing by itself. Pods that no autoscaler selects are not
followed, as with upstream's ``--memory-saver``. Upstream: ``recommender/model/cluster.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.machinery.quantity import parse
from podling.machinery.resource_metrics import PodMetrics
from podling.machinery.selectors import LabelSelector
from podling_vpa.amounts import actual_resources
from podling_vpa.names import CPU, MEMORY, OFF
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.container_state import ContainerState
from podling_vpa.recommender.oom import Oom
from podling_vpa.recommender.settings import RecommenderSettings
from podling_vpa.types import CheckpointStatus, VerticalPodAutoscaler

ContainerKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, container, labels of the pod: containers that are equal in these share a history."""


class Followed(Struct, frozen=True):
    """An autoscaler, the selector of its target, and why the target cannot be used, if so."""

    autoscaler: VerticalPodAutoscaler
    selector: LabelSelector
    unsupported: str = ""


class _PodState:
    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.containers: dict[str, ContainerState] = {}


class ClusterModel:
    """Args: ``per_autoscaler``: the feature gate ``PerVPAConfig``."""

    def __init__(self, settings: RecommenderSettings, *, per_autoscaler: bool = False) -> None:
        self._settings, self._per_autoscaler = settings, per_autoscaler
        self._followed: dict[Key, Followed] = {}
        self._initial: dict[Key, dict[str, Aggregate]] = {}
        self._pods: dict[Key, _PodState] = {}
        self._gone: set[Key] = set()
        self._aggregates: dict[ContainerKey, Aggregate] = {}

    @property
    def followed(self) -> Mapping[Key, Followed]:
        return self._followed

    def set_autoscalers(self, found: Iterable[Followed]) -> None:
        """Take the autoscalers as they are now. One whose selector has changed loses its checkpoints."""
        new = {key_of(each.autoscaler): each for each in found}
        for key in list(self._initial):
            held, now = self._followed.get(key), new.get(key)
            if now is None or (held is not None and held.selector != now.selector):
                del self._initial[key]
        self._followed = new

    def load(self, key: Key, container: str, saved: CheckpointStatus, now: datetime) -> None:
        """Take a checkpoint of an autoscaler that is followed. Raises ``UnreadableCheckpoint``."""
        made = Aggregate(self._settings, now)
        made.load(saved)
        self._initial.setdefault(key, {})[container] = made

    def set_pods(self, pods: Iterable[Pod], now: datetime) -> None:
        """Take the pods as they are now; ``forget_gone`` drops those that are not among them."""
        chosen = {key_of(pod): pod for pod in pods if pod.status.phase != "Pending" and self._selected(pod)}
        self._gone = self._pods.keys() - chosen.keys()
        for key, pod in chosen.items():
            state = self._pods.setdefault(key, _PodState(pod))
            state.pod = pod
            for container in pod.spec.containers:
                request = actual_resources(pod, container).requests.get(MEMORY)
                amount = request.value if request is not None else 0
                held = state.containers.get(container.name)
                if held is None:
                    self._aggregate(state, container.name, now)
                    history = partial(self._aggregate, state, container.name, now)
                    state.containers[container.name] = ContainerState(amount, history)
                else:
                    held.memory_request = amount
        self._follow_policies()

    def add_metrics(self, found: Iterable[PodMetrics]) -> int:
        """Add the samples of pods that are followed. Return the number that counts."""
        added = 0
        for metrics in found:
            state = self._pods.get(Key(metrics.metadata.namespace or "", metrics.metadata.name or ""))
            for each in metrics.containers if state is not None else ():
                container = state.containers.get(each.name) if state is not None else None
                if container is None:
                    continue
                cpu, memory = parse(each.usage.get(CPU, "0")), parse(each.usage.get(MEMORY, "0"))
                added += container.add_cpu(cpu.milli_value, metrics.timestamp)
                added += container.add_memory(memory.value, metrics.timestamp)
        return added

    def record_oom(self, oom: Oom) -> None:
        """Add an out-of-memory kill of a pod that is followed. Raises ``OldOom``."""
        state = self._pods.get(oom.pod)
        container = state.containers.get(oom.container) if state is not None else None
        if container is not None:
            container.record_oom(oom.at, oom.memory)

    def forget_gone(self) -> None:
        """Drop the pods that ``set_pods`` missed: what they last did has been counted by now."""
        for key in self._gone:
            self._pods.pop(key, None)
        self._gone = set()

    def has_pods(self, key: Key) -> bool:
        return any(self._selects(self._followed[key], state.pod) for state in self._pods.values())

    def histories(self, key: Key, now: datetime) -> dict[str, Aggregate]:
        """Return the histories of the containers that an autoscaler scales, by name."""
        autoscaler = self._followed[key].autoscaler
        found = self._merged(key, now)
        for name, history in list(found.items()):
            policy = autoscaler.policy_of(name)
            if policy is not None and policy.mode == OFF:
                del found[name]
            else:
                history.follow(policy, per_autoscaler=self._per_autoscaler)
        return found

    def saved_histories(self, key: Key, now: datetime) -> dict[str, Aggregate]:
        """Return the histories for checkpoints: without the memory peaks of intervals that are not over.

        After a restart the containers begin intervals of their own; the peak would count twice.
        """
        found, followed = self._merged(key, now), self._followed[key]
        for state in self._pods.values():
            if not self._selects(followed, state.pod):
                continue
            for name, container in state.containers.items():
                end = container.window_end
                if name in found and end is not None and now < end:
                    found[name].subtract_peak(container.peak, end)
        return found

    def collect(self, now: datetime) -> None:
        """Drop histories that are too old, and empty ones that no pod adds to."""
        live = {
            _container_key(state.pod, name)
            for state in self._pods.values()
            for name in state.containers
            if state.pod.status.phase not in ("Succeeded", "Failed") or self._selected(state.pod)
        }
        for key, history in list(self._aggregates.items()):
            if (key not in live and not history.count) or history.is_expired(now):
                del self._aggregates[key]

    def _merged(self, key: Key, now: datetime) -> dict[str, Aggregate]:
        followed = self._followed[key]
        found: dict[str, Aggregate] = {}
        parts: list[tuple[str, Aggregate]] = [
            (name, history)
            for (namespace, name, labels), history in self._aggregates.items()
            if namespace == key.namespace and followed.selector.matches(dict(labels))
        ]
        parts += self._initial.get(key, {}).items()
        for name, history in parts:
            if name not in found:
                found[name] = Aggregate(self._settings, now)
            found[name].merge(history)
        return found

    def _follow_policies(self) -> None:
        """Give each history the settings of the autoscaler that uses it."""
        for key, followed in self._followed.items():
            for (namespace, name, labels), history in self._aggregates.items():
                if namespace == key.namespace and followed.selector.matches(dict(labels)):
                    policy = followed.autoscaler.policy_of(name)
                    history.follow(policy, per_autoscaler=self._per_autoscaler)

    def _aggregate(self, state: _PodState, name: str, now: datetime) -> Aggregate:
        key = _container_key(state.pod, name)
        found = self._aggregates.get(key)
        if found is None:
            found = self._aggregates[key] = Aggregate(self._settings, now)
        return found

    def _selected(self, pod: Pod) -> bool:
        return any(self._selects(each, pod) for each in self._followed.values())

    @staticmethod
    def _selects(followed: Followed, pod: Pod) -> bool:
        same = followed.autoscaler.metadata.namespace == pod.metadata.namespace
        return same and followed.selector.matches(pod.metadata.labels)


def _container_key(pod: Pod, name: str) -> ContainerKey:
    return pod.metadata.namespace or "", name, tuple(sorted(pod.metadata.labels.items()))


def uses_recommender(autoscaler: VerticalPodAutoscaler, name: str) -> bool:
    """Return whether an autoscaler chooses the recommender of this name, or none."""
    chosen: Sequence[str] = [each.name for each in autoscaler.spec.recommenders]
    return not chosen or name in chosen
