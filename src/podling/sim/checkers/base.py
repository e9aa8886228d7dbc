"""The protocol of checkers, and the values that they see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.runtime.base import Container, ContainerEventType, Sandbox
from podling.sim.changes import Change
from podling.sim.connection import Request, WatchId


class Violation(Struct, frozen=True):
    """A moment at which a statement was not true."""

    at: datetime
    checker: str
    text: str
    second: float = 0.0
    """Of the scenario."""


class ContainerChange(Struct, frozen=True):
    """A change of a container on a node. ``type`` is None if the machine lost its power."""

    at: datetime
    node: str
    type: ContainerEventType | None
    container: Container
    sandbox: Sandbox


class Deletion(Struct, frozen=True):
    """A pod that is being deleted. ``since`` is the true time: the API server's clock may be wrong."""

    key: str
    pod: Pod
    since: datetime

    @property
    def grace_seconds(self) -> int:
        return self.pod.metadata.deletion_grace_period_seconds or 0

    @property
    def due(self) -> datetime:
        """The end of the grace period, which counts from the first deletion also if it was shortened."""
        return self.since + timedelta(seconds=self.grace_seconds)


class Delivery(Struct, frozen=True):
    """An event that a watch delivered."""

    watch: WatchId
    revision: int
    is_bookmark: bool = False


class Surroundings(Protocol):
    """Facts about the run."""

    def quiet_since(self) -> datetime | None:
        """Return the end of the last fault; None while one lasts."""
        ...

    def now(self) -> datetime: ...


Report = Callable[[str], None]
"""Receives the text of a violation."""


class Checker:
    """Base of checkers, which observe nothing. ``name`` is the checker's in scenarios and reports."""

    name: str

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        self.surroundings = surroundings
        self.report = report

    def change(self, change: Change) -> None:
        """An object was written or deleted."""

    def container(self, change: ContainerChange) -> None:
        """A container was created, started, ended or removed."""

    def delivery(self, delivery: Delivery) -> None:
        """A watch delivered an event."""

    def request(self, request: Request) -> None:
        """The server has answered a request; what it wrote was reported before."""

    def answer_lost(self, part: str) -> None:
        """A part does not get the answer to a request that the server has carried out."""

    def tick(self) -> None:
        """Ten seconds have passed."""

    def end(self) -> None:
        """The run is over."""

    def has_been_quiet_for(self, seconds: float) -> bool:
        """Return whether no fault has lasted within so many seconds."""
        since = self.surroundings.quiet_since()
        return since is not None and self.surroundings.now() - since >= timedelta(seconds=seconds)


def names(items: Sequence[str], limit: int = 3) -> str:
    """Return the first items and the number of the others."""
    rest = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + rest
