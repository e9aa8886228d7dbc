"""The kubelet's pods for those who only read: its server, logs, remote commands, statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.kubelet.directories import Directories
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.probes.prober import ProbeLabels, Prober
from podling.runtime.base import Container, Runtime


class PodSource(Protocol):
    """What a reader may ask about the pods of this node."""

    @property
    def runtime(self) -> Runtime: ...

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        """The pod with the status that the kubelet holds to be true, sent or not."""
        ...

    def pods(self) -> tuple[Pod, ...]:
        """Every pod of the node, by namespace and name."""
        ...

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        """The newest instance of a container, or the one before it; None if there is none."""
        ...

    def sandbox_id(self, pod: Pod) -> str | None:
        """The pod's latest sandbox."""
        ...

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        """Where that instance's log is; None if there is no such instance."""
        ...

    def node_log_directory(self) -> Path:
        """The directory of all pods' logs."""
        ...

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        """How often the probes of the node's pods ended in which way."""
        ...


class PodView:
    """``PodSource`` over the kubelet's workers."""

    def __init__(
        self,
        runtime: Runtime,
        directories: Directories,
        workers: Callable[[], Iterable[PodWorker]],
        prober: Prober,
    ) -> None:
        self._runtime = runtime
        self._prober = prober
        self._directories = directories
        self._workers = workers

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        found = [w for w in self._workers() if _key(w.record.pod) == Key(namespace, name)]
        # A name may still belong to an old pod that is on its way out: the newest one is meant.
        worker = max(found, key=lambda w: str(w.record.pod.metadata.creation_timestamp), default=None)
        return _current(worker) if worker is not None else None

    def pods(self) -> tuple[Pod, ...]:
        return tuple(_current(worker) for worker in sorted(self._workers(), key=lambda w: _key(w.record.pod)))

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        container = self._instance(pod, container_name, previous)
        return container.id if container is not None else None

    def sandbox_id(self, pod: Pod) -> str | None:
        worker = self._worker(pod)
        sandbox = worker.record.observed.sandbox if worker is not None else None
        return sandbox.id if sandbox is not None else None

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        container = self._instance(pod, container_name, previous)
        if container is None:
            return None
        if container.log_path:
            return Path(container.log_path)
        return self._directories.container_log(pod, container_name, container.attempt)

    def node_log_directory(self) -> Path:
        return self._directories.logs

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return dict(self._prober.counts())

    def _worker(self, pod: Pod) -> PodWorker | None:
        return next((worker for worker in self._workers() if worker.uid == pod.metadata.uid), None)

    def _instance(self, pod: Pod, container_name: str, previous: bool) -> Container | None:
        worker = self._worker(pod)
        instances = worker.record.observed.instances(container_name) if worker is not None else ()
        position = 1 if previous else 0
        return instances[position] if len(instances) > position else None


def _key(pod: Pod) -> Key:
    return Key(pod.metadata.namespace or "", pod.metadata.name or "")


def _current(worker: PodWorker) -> Pod:
    return structs.replace(worker.record.pod, status=worker.record.status)
