"""Histories for checkers: changes of objects and containers, made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from podling.api.core_v1 import Node, Pod
from podling.client.requests import ListOptions, Target
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.runtime.base import Container, ContainerEventType, ContainerState, Sandbox
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Delivery
from podling.sim.connection import Request, WatchId

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class History:
    """A run that one checker observes. ``texts`` are the violations that it reports."""

    def __init__(self, kind: type[Checker]) -> None:
        self.texts: list[str] = []
        self.at = BEGIN
        self.quiet: datetime | None = BEGIN - timedelta(days=1)
        self.revision = 0
        self.checker = kind(self, self.texts.append)
        self._objects: dict[tuple[type[Any], str], Any] = {}

    def quiet_since(self) -> datetime | None:
        return self.quiet

    def now(self) -> datetime:
        return self.at

    def wait(self, seconds: float) -> None:
        """Let time pass, with the ticks that a run has."""
        for _ in range(int(seconds // 10)):
            self.at += timedelta(seconds=10)
            self.checker.tick()

    def write(self, obj: Any) -> None:
        """Create or change an object."""
        self._change(obj, deleted=False)

    def delete(self, obj: Any) -> None:
        self._change(obj, deleted=True)

    def _change(self, obj: Any, *, deleted: bool) -> None:
        self.revision += 1
        key = (type(obj), obj.metadata.name)
        old = self._objects.pop(key, None)
        if not deleted:
            self._objects[key] = obj
        self.checker.change(
            Change(
                at=self.at,
                revision=self.revision,
                resource=resource_of(type(obj)),
                namespace=obj.metadata.namespace or "",
                name=obj.metadata.name,
                old=old,
                new=None if deleted else obj,
                last=obj,
            )
        )

    def container(
        self,
        node: str,
        type: ContainerEventType | None,
        *,
        id: str = "c1",
        attempt: int = 0,
        name: str = "app",
        uid: str = "uid-web",
        exit_code: int | None = None,
    ) -> None:
        """Change a container of the pod ``web``."""
        at = self.at
        container = Container(
            id=id,
            sandbox_id=f"sandbox-{node}",
            name=name,
            attempt=attempt,
            state=ContainerState.RUNNING,
            created_at=at,
            exit_code=exit_code,
        )
        sandbox = Sandbox(
            id=f"sandbox-{node}",
            pod_uid=uid,
            pod_name="web",
            pod_namespace="default",
            attempt=0,
            ready=True,
            created_at=at,
        )
        self.checker.container(ContainerChange(at, node, type, container, sandbox))

    def request(
        self,
        verb: str,
        obj: Any,
        *,
        sent: int | None = None,
        part: str = "controller-manager",
        detail: Any = None,
        answer: Any = None,
        error: ApiError | None = None,
        is_list: bool = False,
    ) -> None:
        """Answer a request about an object, or about the collection that it is of."""
        name = "" if is_list else obj.metadata.name
        target = Target(resource_of(type(obj)), obj.metadata.namespace or "", name)
        begun = self.revision if sent is None else sent
        self.checker.request(Request(part, verb, target, detail, begun, answer, error))

    def deliver(
        self,
        revision: int,
        *,
        after: str = "",
        selector: str = "",
        kind: type[Any] = Pod,
        is_bookmark: bool = False,
    ) -> None:
        """Deliver an event of a watch that began after a revision."""
        options = ListOptions(resource_version=after, label_selector=selector)
        watch = WatchId("scheduler", 1, Target(resource_of(kind)), options)
        self.checker.delivery(Delivery(watch, revision, is_bookmark))


def revised(obj: Any, revision: int) -> Any:
    """Return an object as it is stored at a revision."""
    return structs.replace(obj, metadata=structs.replace(obj.metadata, resource_version=str(revision)))


def pod(
    name: str = "web", *, node: str = "", phase: str = "Running", restarts: int = 0, **metadata: Any
) -> Pod:
    """Return a pod whose container requests half a core; it is Ready while it runs."""
    status = "True" if phase == "Running" and not metadata.get("deletionTimestamp") else "False"
    conditions = [{"type": "Ready", "status": status}, *metadata.pop("conditions", [])]
    plain = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "app", "resources": {"requests": {"cpu": "500m"}}}],
        },
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [
                {"name": "app", "image": "a", "imageID": "", "ready": True, "restartCount": restarts}
            ],
        },
    }
    return msgspec.convert(plain, Pod)


def node(name: str = "n", *, ready: str = "True", cpu: str = "1", pods: str = "110") -> Node:
    plain = {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "1Gi", "pods": pods},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }
    return msgspec.convert(plain, Node)
