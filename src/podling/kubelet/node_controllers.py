"""The interface of controllers that extensions run beside the kubelet of every node.

Upstream such a controller is a DaemonSet's pod with access to the node's container runtime. Here the kubelet
runs it: with its own client, so it has a node's rights, and with the two protocols below instead of the
runtime. A controller decides from what is stored and from what the node has; it is made anew with each
kubelet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from podling.api.core_v1 import Secret
from podling.client.base import ApiObject, Client, Key, key_of
from podling.client.events import Regarding
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.client.workqueue import BACKOFF_SECONDS_MAX, WorkQueue


class NodeContainer(Struct, frozen=True, kw_only=True):
    """The newest instance of one container of a pod, as the node has it."""

    name: str
    id: str
    """As the pod's status shows it: ``RUNTIME://ID``."""
    is_running: bool
    has_exited: bool
    restart_count: int
    started_at: datetime | None
    image: str = ""
    """The image as the pod named it when the container was created."""
    definition_hash: int = 0
    """The kubelet's hash of the definition that the container was created from."""
    metadata_environment: Mapping[str, str] = {}
    """The variables that the container took from labels and annotations of its pod, as these were then."""


class StopFailed(Exception):
    """A container could not be stopped."""


class PodContainers(Protocol):
    """The containers of the node's pods."""

    async def of_pod(self, uid: str) -> Sequence[NodeContainer]:
        """Return the newest instance of each container of a pod, by the pod's UID.

        Raises ``StopFailed`` if the runtime does not answer.
        """
        ...

    async def stop(self, uid: str, container_id: str, *, grace_seconds: float, message: str) -> None:
        """Stop one running container of a pod and return when it has ended: ``preStop`` hook, stop signal,
        and SIGKILL after the grace period. The sync of the pod starts it again as the restart policy says.

        A container that does not run any more is left alone. ``message`` is the text of the event
        ``Killing``. Raises ``StopFailed``, also when the pod is to end meanwhile.
        """
        ...


class NodeImage(Struct, frozen=True, kw_only=True):
    """An image that the node has. ``id`` is ``sha256:...`` of its configuration."""

    id: str
    is_local: bool
    """True for an image that was loaded here: no registry has it."""


class PullFailed(Exception):
    """An image could not be pulled, or looked up."""


class NodeImages(Protocol):
    """The images of the node."""

    async def find(self, name: str) -> NodeImage | None:
        """Return the image by name, None if the node does not have it. Raises ``PullFailed``."""
        ...

    async def pull(self, name: str, secrets: Sequence[Secret] = ()) -> NodeImage:
        """Pull an image, in the same queue as the pulls of pods; the registry's logins come from the secrets
        and from the node's own file. Raises ``PullFailed``.
        """
        ...


class NodeRecorder(Protocol):
    """Records events (``client.events.EventRecorder``)."""

    def event(
        self, obj: Regarding, type: str, reason: str, message: str, *, field_path: str = ""
    ) -> None: ...


class NodeContext(Struct, frozen=True):
    """The parts of a kubelet that its controllers share.

    ``client`` has the rights of a node and knows the structs of custom kinds; ``recorder`` gives the event
    recorder of a component, by the name in its events.
    """

    node_name: str
    client: Client
    containers: PodContainers
    images: NodeImages
    recorder: Callable[[str], NodeRecorder]


class NodeController(ABC):
    """A reconciler with its queue, of one node. ``informers`` are its own: those of this node's objects."""

    name: ClassVar[str]
    workers: ClassVar[int] = 1
    backoff_seconds_max: ClassVar[float] = BACKOFF_SECONDS_MAX

    def __init__(self, context: NodeContext) -> None:
        self.client = context.client
        self.queue: WorkQueue[Key] = WorkQueue(self.backoff_seconds_max)

    @abstractmethod
    def informers(self) -> Iterator[Informer[Any]]:
        """Yield the informers that run with the controller; reconciling begins when all have synced."""

    @abstractmethod
    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        """Bring the objects of ``key`` closer to the desired state."""

    def enqueue(self, obj: ApiObject) -> None:
        """Request a run for ``obj``: an informer's handler."""
        self.queue.add(key_of(obj))

    async def close(self) -> None:  # noqa: B027 most have nothing to end
        """End what the controller has begun beside its runs."""


NodeControllerFactory = Callable[[NodeContext], NodeController]
"""A controller class, or anything else that makes a controller from its context."""
