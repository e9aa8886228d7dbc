"""The types of the actions of a scenario. Pure."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, field

from podling.sim.scenario_parts import (
    Condition,
    Count,
    Duration,
    Labels,
    ManifestSource,
    NodeGroup,
    Part,
    Share,
)


class NodeChoice(Part, frozen=True, kw_only=True):
    """The nodes that fit, in the order of the file; with ``count`` only so many, drawn by the seed."""

    names: tuple[str, ...] = ("*",)
    zone: str = ""
    labels: Labels = field(default_factory=dict)
    count: Annotated[int, Meta(ge=1)] | None = None


class OnNodes(Part, frozen=True, kw_only=True):
    """An action on nodes. ``lasting``: the time after which it is undone; absent: never."""

    nodes: NodeChoice = NodeChoice()
    lasting: Duration | None = field(default=None, name="for")


class Drain(Part, frozen=True, kw_only=True):
    """Cordon nodes and evict their pods, as ``kubectl drain --ignore-daemonsets`` does."""

    nodes: NodeChoice = NodeChoice()
    timeout: Duration = field(default_factory=partial(Duration, 3600))


class Pressure(Part, frozen=True, kw_only=True):
    """Use of a node's memory or disk by something else than pods."""

    amount: str
    """A quantity of bytes."""
    nodes: NodeChoice = NodeChoice()
    lasting: Duration | None = field(default=None, name="for")


class Target(Part, frozen=True, kw_only=True):
    """One object, or with a selector the objects of a kind. ``count``: so many of them, drawn by the seed."""

    kind: str
    name: str = ""
    namespace: str = "default"
    selector: str = ""
    count: Annotated[int, Meta(ge=1)] | None = None


class Delete(Part, frozen=True, kw_only=True):
    target: Target
    grace_seconds: Count | None = None
    propagation: str = ""


class ScaleTo(Part, frozen=True, kw_only=True):
    target: Target
    replicas: Count


class SetImage(Part, frozen=True, kw_only=True):
    """Another image for a container of a workload's pods; an empty ``container`` is the first one."""

    target: Target
    image: str
    container: str = ""


class EndContainers(Part, frozen=True, kw_only=True):
    """The processes of running containers end by themselves. ``share``: of those that fit, drawn."""

    pods: Labels = field(default_factory=dict)
    container: str = "*"
    exit_code: int = 1
    share: Share = 1.0


class Partition(Part, frozen=True, kw_only=True):
    """Parts that cannot reach the API server.

    They are patterns of ``scheduler``, ``controller-manager`` and ``node/<name>``.
    """

    parts: tuple[str, ...]
    lasting: Duration | None = field(default=None, name="for")


class BadRequests(Part, frozen=True, kw_only=True):
    """Requests to the API server that are slow or fail.

    ``code``: that of the error, 429 or from 500 on; 0: the connection breaks; absent: they only take longer.
    """

    parts: tuple[str, ...] = ("*",)
    verb: str = "*"
    resource: str = "*"
    seconds: Duration = field(default_factory=partial(Duration, 0))
    code: int | None = None
    carried_out: bool = False
    share: Share = 1.0
    lasting: Duration | None = field(default=None, name="for")


class BadStore(Part, frozen=True, kw_only=True):
    """Writes of the store that are slow, or fail as on a full disk."""

    seconds: Duration = field(default_factory=partial(Duration, 0))
    fails: bool = False
    share: Share = 1.0
    lasting: Duration | None = field(default=None, name="for")


class BadRuntime(Part, frozen=True, kw_only=True):
    """Calls of nodes' runtimes that are slow, fail or hang; ``images.pull`` is that to the registry.

    With neither ``seconds`` nor ``error`` they hang.
    """

    verb: str = "*"
    nodes: NodeChoice = NodeChoice()
    pod: str = "*"
    container: str = "*"
    seconds: Duration | None = None
    error: str = ""
    carried_out: bool = False
    lasting: Duration | None = field(default=None, name="for")


class BadServers(Part, frozen=True, kw_only=True):
    """Answers of webhooks and aggregated APIs that are slow, failures, or never come.

    ``server`` is a pattern of their Services, ``namespace/name``, and URLs. ``code``: the HTTP status of the
    answers; 0: the connection breaks. With neither ``seconds`` nor ``code`` no answer comes.
    """

    server: str = "*"
    seconds: Duration | None = None
    code: int | None = None
    share: Share = 1.0
    lasting: Duration | None = field(default=None, name="for")


class Compaction(Part, frozen=True, kw_only=True):
    """The store forgets its history but for the last writes: older watches have to list again."""

    keep: Count = 0


class Outage(Part, frozen=True, kw_only=True):
    """A part of the control plane is away. ``lasting``: for this time; absent: for good."""

    lasting: Duration | None = field(default=None, name="for")


CONTROL_PLANE_MACHINE = "control-plane"
"""The machine of the API server, the scheduler and the controllers."""


class ClockStep(Part, frozen=True, kw_only=True):
    """Wall clocks are set forward or back: exactly one of both. ``lasting``: until they are set right again.

    ``machines`` are patterns of ``control-plane``, the machine of the API server, the scheduler and the
    controllers, and of ``node/<name>``.
    """

    machines: tuple[str, ...]
    forward: Duration | None = None
    back: Duration | None = None
    lasting: Duration | None = field(default=None, name="for")


class Action(Part, frozen=True, kw_only=True):
    """Something that happens at moments: exactly one of the fields below ``times``.

    ``at``: the first moment. ``every``: the time until the next one; ``times``: their number, without it no
    end. ``jitter``: each moment is later by at most this, drawn by the seed. ``when`` replaces ``at``: once
    the condition holds, within a time.
    """

    name: str = ""
    at: Duration | None = None
    when: Condition | None = None
    within: Duration | None = None
    every: Duration | None = None
    times: Annotated[int, Meta(ge=1)] | None = None
    jitter: Duration = field(default_factory=partial(Duration, 0))

    apply: ManifestSource | None = None
    delete: Delete | None = None
    scale: ScaleTo | None = None
    set_image: SetImage | None = None
    restart: Target | None = None
    """A rollout restart, as ``kubectl rollout restart`` makes it."""
    cordon: NodeChoice | None = None
    uncordon: NodeChoice | None = None
    drain: Drain | None = None
    add_nodes: NodeGroup | None = None
    remove_nodes: NodeChoice | None = None
    crash: OnNodes | None = None
    """Nodes lose their power; with ``for`` they come back after that time."""
    boot: NodeChoice | None = None
    stop_kubelets: OnNodes | None = None
    restart_kubelets: NodeChoice | None = None
    stop_api_server: Outage | None = None
    stop_control_plane: Outage | None = None
    partition: Partition | None = None
    requests: BadRequests | None = None
    store: BadStore | None = None
    runtime: BadRuntime | None = None
    servers: BadServers | None = None
    memory_pressure: Pressure | None = None
    disk_pressure: Pressure | None = None
    end_containers: EndContainers | None = None
    compact: Compaction | None = None
    step_clocks: ClockStep | None = None


MOMENT_FIELDS = frozenset(("name", "at", "when", "within", "every", "times", "jitter"))
VERBS = tuple(name for name in Action.__struct_fields__ if name not in MOMENT_FIELDS)
"""The fields of ``Action`` that say what happens."""
