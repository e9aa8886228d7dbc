"""Faults and moments drawn by a seed, as the actions of a scenario: the same for the same seed.

The faults name nodes and moments and leave nothing to be drawn later; the actions of the file lose their
``jitter``. So a run can be written down as a scenario without chance in its moments, which gives the same
event log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from podling.ids import Generator, generator
from podling.sim.scenario import RandomFaults, Scenario
from podling.sim.scenario_actions import (
    CONTROL_PLANE_MACHINE,
    Action,
    BadRequests,
    BadRuntime,
    BadServers,
    BadStore,
    ClockStep,
    Compaction,
    EndContainers,
    NodeChoice,
    OnNodes,
    Outage,
    Partition,
)
from podling.sim.scenario_parts import Duration

CONTROL_PLANE = ("scheduler", "controller-manager")
RUNTIME_VERBS = (
    "run_sandbox",
    "stop_sandbox",
    "create_container",
    "start_container",
    "stop_container",
    "remove_container",
    "list_containers",
    "list_sandboxes",
    "images.pull",
)
RESOURCES = ("*", "*", "pods", "pods/status", "pods/binding", "replicasets", "leases", "nodes", "events")
VERBS = ("*", "get", "list", "watch", "create", "update", "patch", "delete")
CODES = (0, 500, 503, 429)
ERROR = "an injected fault"
SHORTEST_SECONDS = 1.0
LONGEST_STEP_SECONDS = 7200.0
"""The most by which a clock is set forward or back."""


class Draw:
    """The choices of one seed for a cluster with these nodes."""

    def __init__(
        self, source: Generator, nodes: Sequence[str], longest: float, servers: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._nodes = nodes
        self._servers = servers
        self._longest = longest

    def one(self, options: Sequence[str]) -> str:
        return options[self._source.randrange(len(options))]

    def code(self) -> int:
        return CODES[self._source.randrange(len(CODES))]

    def happens(self, share: float) -> bool:
        return self._source.random() < share

    def share(self) -> float:
        """Return 1, or a part of it."""
        return 1.0 if self.happens(0.5) else round(self._source.uniform(0.2, 0.9), 1)

    def between(self, low: float, high: float) -> Duration:
        """Return a moment or a time in tenths of a second."""
        return Duration(round(self._source.uniform(low, high), 1))

    def lasting(self) -> Duration:
        return self.between(SHORTEST_SECONDS, max(self._longest, SHORTEST_SECONDS))

    def below(self, count: int) -> int:
        return self._source.randrange(count)

    def nodes(self) -> NodeChoice:
        """Return one node, or all of them."""
        return NodeChoice() if self.happens(0.2) else NodeChoice(names=(self.one(self._nodes),))

    def server(self) -> str:
        """Return the name of one server."""
        return self.one(self._servers)

    def parts(self) -> tuple[str, ...]:
        """Return one part of the cluster, or all of a sort."""
        return (self.one((*CONTROL_PLANE, "node/*", *(f"node/{name}" for name in self._nodes))),)


def _requests(draw: Draw) -> Action:
    only_slow = draw.happens(0.3)
    fault = BadRequests(
        parts=draw.parts(),
        verb=draw.one(VERBS),
        resource=draw.one(RESOURCES),
        seconds=draw.between(0.1, 5.0) if only_slow or draw.happens(0.3) else Duration(0),
        code=None if only_slow else draw.code(),
        carried_out=not only_slow and draw.happens(0.5),
        share=draw.share(),
        lasting=draw.lasting(),
    )
    return Action(requests=fault)


def _store(draw: Draw) -> Action:
    fails = draw.happens(0.5)
    seconds = Duration(0) if fails else draw.between(0.1, 3.0)
    return Action(store=BadStore(seconds=seconds, fails=fails, share=draw.share(), lasting=draw.lasting()))


def _runtime(draw: Draw) -> Action:
    kind = draw.below(3)
    fault = BadRuntime(
        verb=draw.one(RUNTIME_VERBS),
        nodes=draw.nodes(),
        seconds=draw.between(0.5, 20.0) if kind == 0 else None,
        error=ERROR if kind == 1 else "",
        carried_out=kind == 1 and draw.happens(0.5),
        lasting=draw.lasting(),
    )
    return Action(runtime=fault)


def _servers(draw: Draw) -> Action:
    """Draw a server that answers late, fails, or never answers."""
    kind = draw.below(3)
    fault = BadServers(
        server=draw.server(),
        seconds=draw.between(0.1, 20.0) if kind == 0 else None,
        code=draw.code() if kind == 1 else None,
        share=draw.share(),
        lasting=draw.lasting(),
    )
    return Action(servers=fault)


def _clocks(draw: Draw) -> Action:
    parts = draw.parts()
    machines = (CONTROL_PLANE_MACHINE,) if parts[0] in CONTROL_PLANE else parts
    step = draw.between(1.0, LONGEST_STEP_SECONDS)
    is_forward = draw.happens(0.5)
    fault = ClockStep(
        machines=machines,
        forward=step if is_forward else None,
        back=None if is_forward else step,
        lasting=draw.lasting(),
    )
    return Action(step_clocks=fault)


KINDS: dict[str, Callable[[Draw], Action]] = {
    "crash": lambda draw: Action(crash=OnNodes(nodes=draw.nodes(), lasting=draw.lasting())),
    "stopKubelets": lambda draw: Action(stop_kubelets=OnNodes(nodes=draw.nodes(), lasting=draw.lasting())),
    "restartKubelets": lambda draw: Action(restart_kubelets=draw.nodes()),
    "stopApiServer": lambda draw: Action(stop_api_server=Outage(lasting=draw.lasting())),
    "stopControlPlane": lambda draw: Action(stop_control_plane=Outage(lasting=draw.lasting())),
    "partition": lambda draw: Action(partition=Partition(parts=draw.parts(), lasting=draw.lasting())),
    "requests": _requests,
    "store": _store,
    "runtime": _runtime,
    "endContainers": lambda draw: Action(end_containers=EndContainers(share=draw.share())),
    "stepClocks": _clocks,
    "compact": lambda draw: Action(compact=Compaction(keep=draw.below(20))),
    "servers": _servers,
}
"""The faults that can be drawn, by the name of the action."""


def drawn(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario as the seed draws it: faults are among its actions, and moments have no jitter.

    What waits for a condition, or repeats without an end, keeps its jitter.
    """
    source = generator(seed)
    actions = [definite for action in scenario.actions for definite in _definite(action, source)]
    if scenario.faults is not None:
        actions += drawn_faults(
            scenario.faults, node_names(scenario), seed, [each.name for each in scenario.servers]
        )
    return replace(scenario, actions=tuple(actions), faults=None, seed=seed)


def _definite(action: Action, source: Generator) -> tuple[Action, ...]:
    """Return an action without jitter, once for each time that it is repeated."""
    times = 1 if action.every is None else action.times
    if not action.jitter or action.when is not None or times is None:
        return (action,)
    first, step = action.at or 0.0, action.every or 0.0
    moments = (first + number * step + source.uniform(0, action.jitter) for number in range(times))
    return tuple(
        replace(action, at=Duration(round(at, 1)), jitter=Duration(0), every=None, times=None)
        for at in moments
    )


def drawn_faults(
    faults: RandomFaults, nodes: Sequence[str], seed: int, servers: Sequence[str] = ()
) -> tuple[Action, ...]:
    """Return the faults of a seed in the order of their moments. Without servers none of theirs is drawn."""
    source = generator(seed)
    draw = Draw(source, nodes, min(faults.lasting, max(faults.before - faults.after, 0.0)), servers)
    possible = tuple(kind for kind in KINDS if servers or kind != "servers")
    kinds = possible if faults.kinds is None else faults.kinds
    latest = max(faults.before - faults.lasting, faults.after)
    found = []
    for _ in range(1 + draw.below(faults.count)):
        moment = draw.between(faults.after, latest)
        found.append(replace(KINDS[draw.one(kinds)](draw), at=moment))
    return tuple(sorted(found, key=_moment))


def node_names(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of the nodes that a scenario begins with."""
    return tuple(f"{group.name}-{number}" for group in scenario.nodes for number in range(1, group.count + 1))


def _moment(action: Action) -> float:
    return action.at or 0.0
