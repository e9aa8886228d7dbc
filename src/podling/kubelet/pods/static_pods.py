"""Static pods: pods that a node runs from files of its own, with or without an API server.

A file holds one pod, in YAML or JSON. The node's name is appended to its name, and its UID is a hash of
the file's content, so a changed file is a new pod. Every file of the directory is a manifest, except
those whose name begins with a dot. An invalid manifest is logged and skipped
(``pkg/kubelet/config/file.go``, ``common.go``).
"""

from __future__ import annotations

import hashlib
import logging
import stat
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod, Toleration
from podling.kubelet.blocking import blocking
from podling.kubelet.manifest_fetch import MAX_BYTES
from podling.machinery.encoding.bodies import YAML, read_body
from podling.machinery.encoding.intake import convert
from podling.machinery.errors import ApiError
from podling.machinery.pod_references import api_object_reference
from podling.machinery.pods import SOURCE_ANNOTATION

logger = logging.getLogger(__name__)

HASH_ANNOTATION = "kubernetes.io/config.hash"
SEEN_ANNOTATION = "kubernetes.io/config.seen"
EVERY_NO_EXECUTE = Toleration(operator="Exists", effect="NoExecute")

Completion = Callable[[Pod], Pod]
"""Returns a pod with the API's defaults. Raises ``ValueError`` for a pod that the API would refuse."""


class BadManifest(ValueError):
    """The file does not hold a valid static pod."""


def read_manifest(data: bytes) -> Any:
    """Return the plain data of a manifest. Raises ``BadManifest``."""
    try:
        return read_body(data, YAML).value
    except ApiError as error:
        raise BadManifest(str(error)) from error


class ManifestSource(NamedTuple):
    """The place of a manifest: its kind, ``file`` or ``http``, and the path or URL."""

    kind: str
    place: str


def static_pod(
    plain: Any, source: ManifestSource, node_name: str, now: datetime, complete: Completion
) -> Pod:
    """Return the pod that a manifest describes, bound to this node. Raises ``BadManifest``."""
    if not isinstance(plain, dict) or plain.get("kind") != "Pod":
        raise BadManifest("not a Pod")
    try:
        pod, _ = convert(plain, Pod, "Ignore")
    except ApiError as error:
        raise BadManifest(str(error)) from error
    if not pod.metadata.name:
        raise BadManifest("invalid pod: name is needed for the pod")
    try:
        uid = pod.metadata.uid or _digest(plain, source.place, node_name)
        pod = complete(_with_identity(pod, uid, source.kind, node_name, now))
    except ValueError as error:
        raise BadManifest(f"invalid pod: {error}") from error
    resource = api_object_reference(pod)
    if resource:
        raise BadManifest(f"static pods may not reference {resource}")
    return pod


def _digest(plain: Any, path: str, node_name: str) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    for part in (node_name.encode(), path.encode(), msgspec.json.encode(plain)):
        digest.update(part)
    return digest.hexdigest()


def _with_identity(pod: Pod, uid: str, kind: str, node_name: str, now: datetime) -> Pod:
    """Return the pod with this node's name, UID and annotations (``applyDefaults``)."""
    annotations = {
        **pod.metadata.annotations,
        SOURCE_ANNOTATION: kind,
        HASH_ANNOTATION: uid,
        SEEN_ANNOTATION: now.isoformat().replace("+00:00", "Z"),
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
    tolerations = _with_every_no_execute(pod.spec.tolerations) if kind == "file" else pod.spec.tolerations
    spec = structs.replace(pod.spec, node_name=node_name, tolerations=tolerations)
    return structs.replace(pod, metadata=metadata, spec=spec)


def _with_every_no_execute(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Tolerate all taints that evict, without end (``AddOrUpdateTolerationInPod``)."""
    others = (
        each for each in tolerations if structs.replace(each, toleration_seconds=None) != EVERY_NO_EXECUTE
    )
    return (*others, EVERY_NO_EXECUTE)


class StaticPods:
    """The static pods of one directory, or of one file.

    ``changed`` is called with all of them, by UID, whenever they changed. They are scanned every ``seconds``;
    only changed files are read.
    """

    def __init__(
        self,
        path: Path,
        node_name: str,
        complete: Completion,
        changed: Callable[[Mapping[str, Pod]], None],
        seconds: float,
    ) -> None:
        self._path = path
        self._seconds = seconds
        self._node_name = node_name
        self._complete = complete
        self._changed = changed
        self._read: dict[Path, tuple[tuple[int, int], Pod | None]] = {}
        self._problem = ""
        self.known = False
        """True once the directory was read, so the list of static pods is complete."""

    async def run(self) -> None:
        """Watch the directory until cancelled."""
        while True:
            try:
                if await blocking(self._scan, clock.now()):
                    self._changed(self._pods())
                self.known, self._problem = True, ""
            except OSError as error:
                self._report(f"static pods in {self._path} cannot be read: {error}")
            await clock.sleep(self._seconds)

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            logger.warning(problem)
        self._problem = problem

    def _pods(self) -> dict[str, Pod]:
        """Return the pods by UID; the first of several with one name counts."""
        names: dict[tuple[str | None, str | None], Pod] = {}
        for path, (_, pod) in self._read.items():
            if pod is None:
                continue
            name = pod.metadata.namespace, pod.metadata.name
            if names.setdefault(name, pod) is not pod:
                logger.warning("static pod %s is left out: another file has a pod of that name", path)
        return {pod.metadata.uid or "": pod for pod in names.values()}

    def _scan(self, now: datetime) -> bool:
        """Read new and changed files; return whether anything changed. Raises ``OSError``."""
        here = self._files()
        before = self._read
        read: dict[Path, tuple[tuple[int, int], Pod | None]] = {}
        for path, stamp in here.items():
            old = before.get(path)
            read[path] = old if old is not None and old[0] == stamp else (stamp, self._load(path, now))
        self._read = read
        return read != before

    def _files(self) -> dict[Path, tuple[int, int]]:
        """Return the regular files, each with a value that changes with its content."""
        try:
            mode = self._path.stat().st_mode
        except FileNotFoundError:
            return {}
        if stat.S_ISREG(mode):
            paths = [self._path]
        else:
            paths = sorted(path for path in self._path.iterdir() if not path.name.startswith("."))
        found = {}
        for path in paths:
            try:
                status = path.stat()
            except OSError:
                continue  # removed meanwhile, or a link without a target
            if stat.S_ISREG(status.st_mode):
                found[path] = (status.st_mtime_ns, status.st_size)
        return found

    def _load(self, path: Path, now: datetime) -> Pod | None:
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise BadManifest(f"larger than {MAX_BYTES} bytes")
            source = ManifestSource("file", str(path))
            return static_pod(read_manifest(data), source, self._node_name, now, self._complete)
        except (OSError, BadManifest) as error:
            logger.warning("static pod %s cannot be used: %s", path, error)
            return None
