"""The types of a scenario file: a cluster, its workloads, the actions on it, and assertions about it.

Pure. The field names of the file are those below in camel case; unknown ones are errors. ``scenario_file``
reads it, ``scenario_validation`` finds what the types cannot state.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Annotated

from msgspec import Meta, field

from podling.controllers.options import ControllerOptions
from podling.runtime.sim import ContainerScript, ImageScript, PodScript
from podling.sim.scenario_actions import Action
from podling.sim.scenario_parts import Condition, Duration, Labels, ManifestSource, NodeGroup, Part
from podling.sim.servers.server_scripts import Server


class Behaviour(Part, frozen=True, kw_only=True):
    """The script of the containers that fit, unless an annotation holds another one. The first one wins.

    ``pods``: labels that the pod must have. ``container``: a pattern of its name. ``spread``: the part by
    which times of starts and runs differ from the script's at most, drawn by the seed for each container.
    """

    pods: Labels = field(default_factory=dict)
    namespace: str = "*"
    container: str = "*"
    script: ContainerScript = ContainerScript()
    sandbox: PodScript | None = None
    spread: Annotated[float, Meta(ge=0, lt=1)] = 0.0


class Assertion(Part, frozen=True, kw_only=True):
    """A condition, and when it must hold: exactly one of ``always``, ``never``, ``eventually``, ``atTheEnd``.

    ``after`` is the moment from which it counts; ``within`` is the time that ``eventually`` has from then.
    """

    name: str
    always: Condition | None = None
    never: Condition | None = None
    eventually: Condition | None = None
    at_the_end: Condition | None = None
    after: Duration = field(default_factory=partial(Duration, 0))
    within: Duration | None = None


class LoadStep(Part, frozen=True, kw_only=True):
    """The requests per second from a moment on."""

    at: Duration
    per_second: Annotated[float, Meta(ge=0)]


class Traffic(Part, frozen=True, kw_only=True):
    """Requests that the ready pods with these labels share evenly; each costs CPU time of the container."""

    pods: Labels
    namespace: str = "default"
    container: str = "*"
    steps: tuple[LoadStep, ...]
    cpu_milliseconds: Annotated[float, Meta(ge=0)]


class RandomFaults(Part, frozen=True, kw_only=True):
    """Faults that the seed draws: at most ``count``, the last one over ``before`` the end of the scenario.

    ``lasting``: the longest time that one lasts. ``kinds``: the names of actions to draw from; absent: all.
    """

    count: Annotated[int, Meta(ge=1, le=1000)] = 5
    after: Duration = field(default_factory=partial(Duration, 30))
    before: Duration
    lasting: Duration = field(default_factory=partial(Duration, 60))
    kinds: tuple[str, ...] | None = None


class Scenario(Part, frozen=True, kw_only=True):
    """The content of a scenario file. ``until`` is the virtual time after which the run ends."""

    description: str = ""
    seed: int = 0
    begin: Annotated[datetime, Meta(tz=True)] | None = None
    """The wall time at which it begins; absent: some time on the first of January 2026."""
    until: Duration
    nodes: tuple[NodeGroup, ...]
    extensions: tuple[str, ...] = field(default=(), name="with")
    """The extensions of the cluster, as ``podling up --with`` takes them."""
    manifests: tuple[ManifestSource, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    images: Mapping[str, ImageScript] = field(default_factory=dict)
    servers: tuple[Server, ...] = ()
    """The webhooks and aggregated APIs that the API server calls."""
    actions: tuple[Action, ...] = ()
    faults: RandomFaults | None = None
    assertions: tuple[Assertion, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    checkers: tuple[str, ...] | None = None
    """The names of the checkers that run; absent: all."""
    settles_within: Duration | None = None
    """The time after the last action within which every workload must be as its spec says."""
    controllers: ControllerOptions = ControllerOptions()
