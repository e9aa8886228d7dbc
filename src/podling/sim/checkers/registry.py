"""Every checker, by its name in scenarios and reports."""

from __future__ import annotations

from podling.sim.checkers.allocatable import Allocatable
from podling.sim.checkers.base import Checker
from podling.sim.checkers.bound_once import BoundOnce
from podling.sim.checkers.budgets import Budgets
from podling.sim.checkers.deletion_in_time import DeletionInTime
from podling.sim.checkers.final_phases import FinalPhases
from podling.sim.checkers.one_live_container import OneLiveContainer
from podling.sim.checkers.owners import Owners
from podling.sim.checkers.restart_counts import RestartCounts
from podling.sim.checkers.watch_order import WatchOrder

_ALL: tuple[type[Checker], ...] = (
    OneLiveContainer,
    BoundOnce,
    WatchOrder,
    FinalPhases,
    RestartCounts,
    DeletionInTime,
    Allocatable,
    Owners,
    Budgets,
)
CHECKERS = {each.name: each for each in _ALL}
