"""``podling up --processes several``: the supervisor of one data directory, from its start to its end."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.own_log import CHECK_SECONDS, OwnLog
from podling.cluster.processes.children import Main
from podling.cluster.processes.part_process import run_part
from podling.cluster.processes.parts import API, API_WORKER, CONTROL, NODE, Part, parts_of
from podling.cluster.processes.reports import Report, Reporter, Started, Step
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.supervision import PartWork, Supervision
from podling.cluster.processes.surroundings import Surroundings
from podling.cluster.served_api import hosts_of, port_failures
from podling.node.machine import node_names
from podling.streaming.listener import listen_all
from podling.streaming.shared_socket import SharedSocket

logger = logging.getLogger(__name__)

READY_SECONDS = 60.0
"""Seconds that ``up`` waits for all parts to be Ready."""

Progress = Callable[[str, str], None]

MODULES = {
    API: ("podling.cluster.processes.api_part", "cryptography.x509", "podling.store.sqlite"),
    API_WORKER: ("podling.cluster.processes.api_worker_part", "cryptography.x509"),
    NODE: ("podling.cluster.processes.node_part",),
    CONTROL: ("podling.cluster.processes.control_part", "podling.scheduler.decide"),
}
"""Modules that the kinds of parts need: the supervisor imports them once for all processes."""
RUNTIMES = {
    "oci": ("podling.runtime.oci.runtime", "podling.network.pod_network"),
    "process": ("podling.runtime.process.runtime",),
    "sim": ("podling.runtime.sim.runtime",),
}


NUMPY_THREADS = "OPENBLAS_NUM_THREADS"


class Outcome(Struct, frozen=True):
    """The outcome of a start: Ready or not yet, and the kubeconfig to use."""

    is_ready: bool
    kubeconfig: str


class Arrangement:
    """The processes of one cluster.

    Args:
        kubeconfig: a further place for the administrator's kubeconfig.
    """

    def __init__(
        self,
        directory: DataDirectory,
        settings: ClusterSettings,
        progress: Progress,
        *,
        set_aside: bool = False,
        kubeconfig: Path | None = None,
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._progress = progress
        self._set_aside = set_aside
        self._copy = kubeconfig
        self._kubeconfig = str(directory.kubeconfig)
        self._log = OwnLog(directory.log)
        self._log_due = 0.0
        self._is_starting = True
        self._parts = parts_of(
            node_names(settings.nodes, settings.hostname_override),
            api_only=settings.api_only,
            api_workers=settings.api_workers,
        )
        self._listening: SharedSocket | None = None
        """Kept by the supervisor: connections wait here while the processes that accept them start again."""

    def run(self, on_start: Callable[[Outcome], None]) -> None:
        """Run the cluster until SIGTERM or SIGINT. Raises ``StartFailure``.

        Args:
            on_start: is called once all parts are Ready, or when that takes too long.
        """
        states = StateFile(self._directory.path)
        try:
            with port_failures(self._settings.port):
                first, *also = listen_all(hosts_of(self._settings), self._settings.port)
            self._listening = SharedSocket(first, max(1, self._settings.api_workers), also)
            self._supervise(states, on_start)
        finally:
            states.remove()
            if self._listening is not None:
                self._listening.close()

    def _supervise(self, states: StateFile, on_start: Callable[[Outcome], None]) -> None:
        work = PartWork(self._prepare, partial(self._main_of, states), self._on_report, self._housekeep)
        supervision = Supervision(self._parts, work, states)
        with supervision.signals():
            try:
                supervision.start_all()
                is_ready = supervision.wait_ready(READY_SECONDS)
                if not supervision.is_stopping:
                    self._started(is_ready, on_start)
                supervision.run()
            finally:
                supervision.stop()

    def _started(self, is_ready: bool, on_start: Callable[[Outcome], None]) -> None:
        if is_ready:
            names = [name for part in self._parts for name in part.nodes]
            self._progress("ready", ", ".join(names) or "without nodes")
        self._is_starting = False
        on_start(Outcome(is_ready, self._kubeconfig))

    def _prepare(self, part: Part) -> None:
        """Import what the part needs, so that its process begins with it."""
        names = MODULES[part.kind] + (RUNTIMES[self._settings.runtime] if part.kind == NODE else ())
        with _without_threads_of_numpy():
            for name in names:
                importlib.import_module(name)
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join()  # it imports something, too; a fork would cut it off in the middle
        gc.freeze()

    def _main_of(self, states: StateFile, part: Part) -> Main:
        settings, is_starting, copy, set_aside = (
            self._settings,
            self._is_starting,
            self._copy,
            self._set_aside,
        )

        def main(reporter: Reporter) -> int:
            if self._listening is not None and part.kind not in (API, API_WORKER):
                self._listening.close()
            return run_part(
                Surroundings(
                    part=part,
                    directory=self._directory,
                    settings=settings,
                    reporter=reporter,
                    states=states,
                    set_aside=set_aside and is_starting,
                    listening=self._listening,
                    kubeconfig=copy if is_starting else None,
                )
            )

        return main

    def _on_report(self, part: Part, report: Report) -> None:
        if isinstance(report, Step) and self._is_starting:
            self._progress(report.name, report.detail)
        if isinstance(report, Started) and report.port:
            self._settings = replace(self._settings, port=report.port)
            self._kubeconfig = report.kubeconfig if self._is_starting else self._kubeconfig

    def _housekeep(self) -> None:
        """Rotate the log from time to time: the parts follow."""
        now = clock.monotonic()
        if now < self._log_due:
            return
        self._log_due = now + CHECK_SECONDS
        try:
            self._log.rotate()
        except OSError as error:
            logger.warning("the log cannot be rotated: %s", error)


@contextmanager
def _without_threads_of_numpy() -> Iterator[None]:
    """Keep numpy's library of linear algebra, which reads the environment once, from starting threads."""
    before = os.environ.get(NUMPY_THREADS)
    os.environ[NUMPY_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[NUMPY_THREADS]
        else:
            os.environ[NUMPY_THREADS] = before
