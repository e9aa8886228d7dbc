"""The interface of plugins. Names, weights and messages are Kubernetes'; ours take all nodes at once.

A plugin holds its arguments and nothing else: its functions read the cache and the pod. A filter receives the
rows that are still candidates and returns those that it rejects, with reasons; the first filter to reject a
node gives the reason. A score is 0 to 100 per row, as if normalised already. A plugin takes part in the
extension points whose methods it overrides; a profile decides which of them call it.

When a pod could not be scheduled, changes in the cluster wake it only if a plugin that rejected it returns
that the change may help (Kubernetes' queueing hints). For nodes this needs no rule of its own: a change helps
if the plugin would now accept the node, or could after a preemption.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from podling.scheduler.cache import Cache
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts

if TYPE_CHECKING:
    from podling.client.base import Client
    from podling.scheduler.binding.permits import WaitingPod
    from podling.scheduler.decide import Diagnosis
    from podling.scheduler.gangs import Gangs
    from podling.scheduler.preemption import Attempt, Refusal, Victims

T = TypeVar("T")

Scores = npt.NDArray[np.int64]

SCORE_MAX = 100

ALL = 2**31
"""As many pods as there are: how many a change may help cannot be counted."""


class Rejected(NamedTuple):
    """The rejected rows (``where``, aligned with the candidate rows), and the reason.

    ``unresolvable``: where removing pods could not change that, so preemption need not be tried.
    """

    reason: str
    where: Mask
    unresolvable: Mask | bool = False


class Hopeless(Exception):
    """No node at all can be right; the text is the whole reason."""


class Aspect(Flag):
    """An aspect of a node that can change."""

    NONE = 0
    ADDED = auto()
    ALLOCATABLE = auto()
    LABELS = auto()
    TAINTS = auto()
    """Taints and ``spec.unschedulable``."""
    REMOVED = auto()
    ROOM = auto()
    """A pod on it was deleted, requests less, or is no longer nominated to it."""


class OwnChange(Flag):
    """A change of the waiting pod itself."""

    NONE = 0
    LABELS = auto()
    TOLERATIONS = auto()
    SMALLER = auto()
    """It requests less than before."""
    OTHER = auto()
    """Anything else but its status."""


class PodEvent(Flag):
    """An event of a bound pod."""

    ADDED = auto()
    LABELS = auto()
    SHRUNK = auto()
    """It requests less than before."""
    DELETED = auto()


class PodChange(Struct, frozen=True):
    """``facts``: the pod after it, or the last that is known of a deleted one; ``before``: of an update."""

    event: PodEvent
    facts: PodFacts
    before: PodFacts | None = None


class ObjectChange(Struct, frozen=True):
    """A change of an object that is neither node nor pod; ``old`` is None if it is new, ``new`` if gone."""

    kind: str
    new: Any
    old: Any = None

    @property
    def label(self) -> str:
        """Kubernetes' label of the change (``ClusterEvent.Label``)."""
        group = (self.new or self.old).api_version.rpartition("/")[0]
        change = "Add" if self.old is None else "Delete" if self.new is None else "Update"
        return f"{group}/{self.kind}{change}" if group else f"{self.kind}{change}"


class Refused(Exception):
    """A plugin refuses the chosen node after all (Reserve, Permit); the text is the reason."""


class PluginFailed(Exception):
    """A plugin raised an error where it should have decided; the text names it as Kubernetes does."""


class Handle(Protocol):
    """The functions of the scheduler that plugins may call (``framework.Handle``)."""

    @property
    def gangs(self) -> Gangs | None:
        """The pod groups and their pods; None while the feature gate ``GenericWorkload`` is off."""

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the pods that wait for permission."""

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return one of them."""

    def activate(self, uids: Iterable[str]) -> None:
        """Try pods at once that wait in the queue, without the rest of their back-off."""


class Plugin:
    """The base of all plugins. It takes part in an extension point if it overrides the point's method.

    Args:
        args: what ``pluginConfig`` gives the plugin: plain data, or an ``arguments`` struct.
    """

    name: ClassVar[str]
    arguments: ClassVar[type[Struct] | None] = None
    """The type of the plugin's arguments, which are then decoded strictly; None leaves them plain data."""
    also_at: ClassVar[frozenset[str]] = frozenset()
    """Extension points that may name the plugin although it needs no method there."""
    wakes_on: ClassVar[Aspect] = ~Aspect.NONE
    wakes_on_pods: ClassVar[PodEvent] = ~PodEvent(0)
    wakes_on_own: ClassVar[OwnChange] = ~OwnChange.NONE
    """The changes of the waiting pod itself that may help it."""
    wakes_on_objects: ClassVar[frozenset[str]] = frozenset()
    """The kinds of other objects whose changes may help a pod that the plugin rejected."""

    judges_nodes_alone: ClassVar[bool] = False
    """The filter looks at labels and taints of a node only: a node that it accepted before is no news."""

    def __init__(self, args: Any = None) -> None:
        self.args = args

    def start(self, handle: Handle) -> None:
        """Receive the scheduler's functions, once, before the first pod."""

    def pre_enqueue(self, pod: PodFacts) -> str:
        """Return why the pod must not be tried yet; empty if it may be."""
        return ""

    def queue_key(self, pod: PodFacts, waiting_since: float) -> Any:
        """Return what orders pods in the queue, smallest first; equals keep their order."""
        return 0

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        """Return the only candidate rows; None for all. Raises ``Hopeless``."""
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        """Return the rejected rows. A node may be rejected for several reasons."""
        return ()

    def post_filter(self, attempt: Attempt, diagnosis: Diagnosis) -> Victims | Refusal:
        """Return the pods to evict for a pod without a feasible node, or the reason for none."""
        raise NotImplementedError

    def pre_score(self, pod: PodFacts, cache: Cache, rows: Rows) -> bool:
        """Return whether ``score`` is to be called for the pod, whose feasible rows these are."""
        return True

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """Return the score of each row, 0 to 100; None when the plugin does not concern the pod."""
        return None

    def reserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        """Reserve something for the pod on its node. Raises ``Refused``."""

    def unreserve(self, pod: PodFacts, node: str, cache: Cache) -> None:
        """Give back what was reserved, if anything was; called when the pod does not get the node."""

    def permit(self, pod: PodFacts, node: str, cache: Cache) -> float | None:
        """Return for how many seconds at most the pod has to wait for permission; None permits it now.

        The plugin permits it later by ``WaitingPod.allow``. Raises ``Refused``.
        """
        return None

    def permit_in_group(self, pod: PodFacts, node: str, cache: Cache) -> str:
        """Return why the pod would have to wait for permission; empty if it would not.

        Called while the scheduler looks for nodes for all pods of a group, in place of ``permit``; it must
        change nothing. Raises ``Refused``.
        """
        return ""

    def takes_time(self, pod: PodFacts, node: str, cache: Cache) -> bool:
        """Return whether ``pre_bind`` has to wait for something; the pod is then nominated to its node."""
        return False

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        """Do what must be done before the pod gets its node. What it raises is the reason to try again."""

    async def bind(self, pod: PodFacts, node: str, client: Client) -> bool:
        """Give the pod its node; False leaves that to the next plugin."""
        return False

    def post_bind(self, pod: PodFacts, node: str) -> None:
        """Follow a pod that has got its node."""

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """Return whether a pod this plugin rejected should be tried again after that change (of
        ``wakes_on_pods``)."""
        return True

    def wakes_for_own(self, before: PodFacts, pod: PodFacts, change: OwnChange, cache: Cache) -> bool:
        """Return the same for a change of the pod itself (of ``wakes_on_own``)."""
        return True

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        """Return the same for a change of another object (of ``wakes_on_objects``)."""
        return True

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Return the number of pods like this that a change of these nodes (``wakes_on``) may help.

        ``ALL`` where the plugin accepts a node, and where it might after a preemption. A plugin that
        counts gives ``same_answer``, too.
        """
        rejected = np.zeros(len(rows), np.bool_)
        unresolvable = np.zeros(len(rows), np.bool_)
        for each in self.filter(pod, cache, rows):
            rejected |= each.where
            unresolvable |= each.where & each.unresolvable
        if not rejected.all() or self.victims(pod, rows[~unresolvable], cache):
            return ALL
        return 0

    @staticmethod
    def victims(pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Return the number of pods on these nodes that it could preempt."""
        if pod.spec.preemption_policy == "Never":
            return 0
        others = (other for row in rows.tolist() for other in cache.pods_on(row))
        return sum(other.priority < pod.priority for other in others)

    def same_answer(self, pod: PodFacts) -> Hashable | None:
        """Pods for which this is equal (and not None) get equal answers from the two questions above."""
        return None


class Prepared(Generic[T]):
    """A value that a filter makes once for a pod and a state of the cache, for all parts of the nodes."""

    def __init__(self, make: Callable[[PodFacts, Cache], T]) -> None:
        self._make = make
        self._pod: PodFacts | None = None
        self._version = -1
        self._value: T | None = None

    def of(self, pod: PodFacts, cache: Cache) -> T:
        if self._value is None or self._pod is not pod or self._version != cache.version:
            self._pod, self._version = pod, cache.version
            self._value = self._make(pod, cache)
        return self._value


def one_row(row: int) -> Rows:
    return np.array([row], np.intp)


def normalised(raw: npt.NDArray[np.int64], *, reverse: bool = False) -> Scores:
    """Scale to 0..100 by the highest; ``reverse`` makes the highest the worst."""
    highest = int(raw.max(initial=0))
    if highest == 0:
        return np.full(len(raw), SCORE_MAX if reverse else 0, np.int64)
    scaled = SCORE_MAX * raw // highest
    return SCORE_MAX - scaled if reverse else scaled
