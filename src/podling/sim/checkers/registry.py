"""Every checker, by its name in scenarios and reports."""

from __future__ import annotations

from podling.sim.checkers.allocatable import Allocatable
from podling.sim.checkers.background_tasks import BackgroundTasks
from podling.sim.checkers.base import Checker
from podling.sim.checkers.bound_once import BoundOnce
from podling.sim.checkers.budgets import Budgets
from podling.sim.checkers.deletion_in_time import DeletionInTime
from podling.sim.checkers.endpoints import Endpoints
from podling.sim.checkers.final_phases import FinalPhases
from podling.sim.checkers.finalizers import Finalizers
from podling.sim.checkers.forgotten_containers import ForgottenContainers
from podling.sim.checkers.grace import Grace
from podling.sim.checkers.init_order import InitOrder
from podling.sim.checkers.job_counts import JobCounts
from podling.sim.checkers.last_to_go import LastToGo
from podling.sim.checkers.leases import Leases
from podling.sim.checkers.linearisable_reads import LinearisableReads
from podling.sim.checkers.living_owners import LivingOwners
from podling.sim.checkers.one_identity import OneIdentity
from podling.sim.checkers.one_live_container import OneLiveContainer
from podling.sim.checkers.owners import Owners
from podling.sim.checkers.restart_counts import RestartCounts
from podling.sim.checkers.roll_outs import RollOuts
from podling.sim.checkers.surplus import Surplus
from podling.sim.checkers.watch_order import WatchOrder

_ALL: tuple[type[Checker], ...] = (
    OneLiveContainer,
    BoundOnce,
    WatchOrder,
    LinearisableReads,
    FinalPhases,
    RestartCounts,
    DeletionInTime,
    Grace,
    Allocatable,
    Owners,
    Budgets,
    Leases,
    LivingOwners,
    Finalizers,
    Surplus,
    RollOuts,
    JobCounts,
    InitOrder,
    LastToGo,
    OneIdentity,
    ForgottenContainers,
    Endpoints,
    BackgroundTasks,
)
CHECKERS = {each.name: each for each in _ALL}
