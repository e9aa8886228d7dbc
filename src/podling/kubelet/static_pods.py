"""Static pods: pods that a node runs from files of its own, with or without an API server.

A file holds one pod, in YAML or JSON. Its name gets the node's name at its end, its UID is a hash of
what it says, so a changed file is a new pod. Files that cannot be read are told of and left out; names
that begin with a dot are not looked at (``pkg/kubelet/config/file.go``, ``common.go``).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Container, Pod, Toleration
from podling.kubelet.blocking import blocking
from podling.machinery.codec import from_plain
from podling.machinery.pods import SOURCE_ANNOTATION

logger = logging.getLogger(__name__)

HASH_ANNOTATION = "kubernetes.io/config.hash"
SEEN_ANNOTATION = "kubernetes.io/config.seen"
SCAN_SECONDS = 1.0
"""How often the directory is looked at; only what changed is read."""
SUFFIXES = (".yaml", ".yml", ".json")


class BadManifest(ValueError):
    """The file holds no pod that could be run."""


def static_pod(plain: Any, path: str, node_name: str, now: datetime) -> Pod:
    """The pod that a manifest asks for, on this node. Raises ``BadManifest``."""
    if not isinstance(plain, dict) or plain.get("kind") != "Pod":
        raise BadManifest("not a Pod")
    try:
        pod = from_plain(plain, Pod)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise BadManifest(str(error)) from error
    if not pod.metadata.name or not pod.spec.containers:
        raise BadManifest("a name and containers are required")
    if pod.spec.resource_claims or pod.spec.ephemeral_containers:
        raise BadManifest("static pods may have neither resource claims nor ephemeral containers")
    digest = hashlib.md5(usedforsecurity=False)
    for part in (node_name.encode(), path.encode(), msgspec.json.encode(plain)):
        digest.update(part)
    uid = digest.hexdigest()
    annotations = {
        **pod.metadata.annotations,
        SOURCE_ANNOTATION: "file",
        HASH_ANNOTATION: uid,
        SEEN_ANNOTATION: now.isoformat(),
    }
    metadata = structs.replace(
        pod.metadata,
        name=f"{pod.metadata.name}-{node_name.lower()}",
        namespace=pod.metadata.namespace or "default",
        uid=uid,
        annotations=annotations,
        creation_timestamp=now,
        generation=1,
    )
    return structs.replace(pod, metadata=metadata, spec=_with_defaults(pod, node_name).spec)


def _with_defaults(pod: Pod, node_name: str) -> Pod:
    """What the API server would have filled in, as far as the kubelet goes by it."""
    spec = pod.spec
    grace = spec.termination_grace_period_seconds
    everything = Toleration(operator="Exists", effect="NoExecute")
    filled = structs.replace(
        spec,
        node_name=node_name,
        restart_policy=spec.restart_policy or "Always",
        dns_policy=spec.dns_policy or "ClusterFirst",
        termination_grace_period_seconds=30 if grace is None else grace,
        tolerations=(*spec.tolerations, everything),
        containers=tuple(_container(container) for container in spec.containers),
        init_containers=tuple(_container(container) for container in spec.init_containers),
    )
    return structs.replace(pod, spec=filled)


def _container(container: Container) -> Container:
    """Limits stand in for requests that are not stated."""
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return structs.replace(container, resources=structs.replace(resources, requests=requests))


class StaticPods:
    """The static pods of one directory. ``changed`` is told all of them whenever they changed."""

    def __init__(self, directory: Path, node_name: str, changed: Callable[[Mapping[str, Pod]], None]) -> None:
        self._directory = directory
        self._node_name = node_name
        self._changed = changed
        self._read: dict[Path, tuple[tuple[int, int], Pod | None]] = {}
        self.known = False
        """The directory was read: what is not in it is not there."""

    async def run(self) -> None:
        """Watch the directory until cancelled."""
        while True:
            if await blocking(self._scan, clock.now()):
                pods = [pod for _, pod in self._read.values() if pod is not None]
                self._changed({pod.metadata.uid or "": pod for pod in pods})
            self.known = True
            await clock.sleep(SCAN_SECONDS)

    def _scan(self, now: datetime) -> bool:
        """Read what is new; whether anything changed."""
        here = self._files()
        before = dict(self._read)
        self._read = {}
        for path, stamp in here.items():
            old = before.get(path)
            self._read[path] = old if old is not None and old[0] == stamp else (stamp, self._load(path, now))
        return self._read != before

    def _files(self) -> dict[Path, tuple[int, int]]:
        try:
            paths = sorted(self._directory.iterdir())
        except FileNotFoundError:
            return {}
        found = {}
        for path in paths:
            if path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file():
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size)
        return found

    def _load(self, path: Path, now: datetime) -> Pod | None:
        try:
            plain = yaml.safe_load(path.read_text())
            return static_pod(plain, str(path), self._node_name, now)
        except (OSError, yaml.YAMLError, BadManifest) as error:
            logger.warning("static pod %s cannot be used: %s", path, error)
            return None
