"""The base of every controller: a queue of keys, a reconciler, and shared informers and clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from podling.client.base import ApiObject, Client, Key, key_of
from podling.client.events import EventRecorder
from podling.client.informer import revision_number
from podling.client.informer_factory import InformerFactory
from podling.client.runner import AwaitChange, RequeueAfter
from podling.client.workqueue import BACKOFF_SECONDS_MAX, WorkQueue
from podling.controllers.status_writes import write_status

T = TypeVar("T", bound=ApiObject)


class ControllerContext(Struct, frozen=True):
    """The parts that controllers share.

    ``recorder`` gives the event recorder of a component, by the name in its events.
    """

    client: Client
    informers: InformerFactory
    recorder: Callable[[str], EventRecorder]


class Controller(ABC):
    """A reconciler with its queue. Subclasses subscribe to informers when they are made.

    ``name`` is Kubernetes' own name of the controller (``kube-controller-manager --controllers``).
    What fails is tried again after ``backoff_seconds_max`` at the latest.
    """

    name: ClassVar[str]
    workers: ClassVar[int] = 1
    backoff_seconds_max: ClassVar[float] = BACKOFF_SECONDS_MAX
    rest_seconds: ClassVar[float] = 0.0
    """The time after a run in which changes of the object are gathered for the next. For controllers that
    report on many children: the status is written once for those that change together."""
    uses_folders: ClassVar[bool] = False
    """True if an extension's controller takes the directories of volumes, as ``folders``."""
    uses_other_apis: ClassVar[bool] = False
    """True if an extension's controller takes the aggregated APIs, metrics among them, as ``others``."""

    def __init__(self, context: ControllerContext) -> None:
        self.client = context.client
        self.queue: WorkQueue[Key] = WorkQueue(self.backoff_seconds_max, self.rest_seconds)
        self._written: dict[Key, int] = {}

    @abstractmethod
    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        """Bring the objects of ``key`` closer to the desired state."""

    def families(self) -> Iterator[Any]:
        """Yield the controller's own metrics: families of ``prometheus_client``."""
        yield from ()

    def enqueue(self, obj: ApiObject) -> None:
        """Request a run for ``obj``: an informer's handler."""
        self.queue.add(key_of(obj))

    def enqueue_new(self, old: ApiObject, new: ApiObject) -> None:
        """Request a run for a changed object: an informer's update handler."""
        self.queue.add(key_of(new))

    def enqueue_changed(self, old: ApiObject, new: ApiObject) -> None:
        """``enqueue_new``, unless the change is nothing but our own last ``write_status``.

        For controllers whose run decides everything from what it sees and leaves nothing to the next.
        """
        key = key_of(new)
        if self._written.pop(key, 0) != revision_number(new):
            self.queue.add(key)

    async def write_status(self, obj: T) -> T:
        """Write the status of ``obj``; returns it as stored, or as given if it does not exist any more."""
        written = await write_status(self.client, obj)
        self._written[key_of(obj)] = revision_number(written)
        return written


REST_OF_WORKLOADS_SECONDS = 0.02
"""The rest of workloads with many pods: shorter than a container's start, longer than a burst of events."""

ControllerFactory = Callable[[ControllerContext], Controller]
"""A controller class, or anything else that makes a controller from its context."""
