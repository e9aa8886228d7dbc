"""Read access to the kubelet's pods: for its server, logs, remote commands and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.kubelet.directories import Directories
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.probes.prober import ProbeLabels, Prober
from podling.runtime.base import Container, Runtime


class PodSource(Protocol):
    """The read interface to the pods of this node."""

    @property
    def runtime(self) -> Runtime: ...

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod with the kubelet's newest status, sent or not."""
        ...

    def pods(self) -> tuple[Pod, ...]:
        """Return every pod of the node, by namespace and name."""
        ...

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        """Return the id of a container's newest instance, or of the one before; None if there is none."""
        ...

    def sandbox_id(self, pod: Pod) -> str | None:
        """Return the id of the pod's latest sandbox."""
        ...

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        """Return the path of that instance's log; None if there is no such instance."""
        ...

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        """Return the number of probes of the node's pods, by labels."""
        ...

    def volume_paths(self, pod: Pod) -> Mapping[str, Path]:
        """Return the directories of the pod's volumes that are set up, by name."""
        ...

    @property
    def root_dir(self) -> Path:
        """Return the directory of the kubelet's files."""
        ...

    @property
    def metrics(self) -> KubeletMetrics:
        """Return the kubelet's counters."""
        ...


class PodView:
    """``PodSource`` over the kubelet's workers."""

    def __init__(
        self,
        runtime: Runtime,
        directories: Directories,
        workers: Callable[[], Iterable[PodWorker]],
        prober: Prober,
        volumes: Callable[[Pod], Mapping[str, Path]],
        metrics: KubeletMetrics,
    ) -> None:
        self.metrics = metrics
        self._runtime = runtime
        self._volumes = volumes
        self._prober = prober
        self._directories = directories
        self._workers = workers

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        found = [w for w in self._workers() if _key(w.record.pod) == Key(namespace, name)]
        # An older pod of the same name may still be terminating: return the newest.
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

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return dict(self._prober.counts())

    def volume_paths(self, pod: Pod) -> Mapping[str, Path]:
        return self._volumes(pod)

    @property
    def root_dir(self) -> Path:
        return self._directories.root

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
