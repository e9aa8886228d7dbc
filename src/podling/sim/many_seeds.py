"""One scenario with many seeds, in several processes."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import connection, resource_tracker
from pathlib import Path

from podling.sim.runner import Outcome, run_scenario
from podling.sim.scenario import Scenario

SEEDS_MAX = 1_000_000
_SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable with which Python imports nothing from the current folder."""
_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?")


def parse_seeds(text: str) -> Sequence[int]:
    """Return the seeds of ``7`` or ``1..1000``. Raises ``ValueError``."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no range of seeds; write 1..1000")
    first = int(found[1])
    last = int(found[2] or found[1])
    if last < first or last - first >= SEEDS_MAX:
        raise ValueError(f"{text!r} has no seeds, or more than {SEEDS_MAX}")
    return range(first, last + 1)


def run_seeds(scenario: Scenario, folder: Path, seeds: Sequence[int], jobs: int) -> Iterator[Outcome]:
    """Yield the outcome of each seed, in the order in which they end.

    Also a single job is a process: Ctrl-C may come while the loop of the next seed is made or closed, which
    this process survives. Raises ``BrokenProcessPool`` when one of the processes was killed.
    """
    work = partial(_run, scenario, folder)
    with _starting_processes():
        # Processes are started afresh: a fork would copy the threads of libraries.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(min(jobs, len(seeds)), context, initializer=_end_with_parent)
    with executor:
        try:
            yield from _outcomes(executor, work, seeds, at_once=2 * jobs)
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _outcomes(
    executor: ProcessPoolExecutor, work: Callable[[int], Outcome], seeds: Sequence[int], at_once: int
) -> Iterator[Outcome]:
    left, pending = iter(seeds), set[Future[Outcome]]()
    while True:
        with _starting_processes():
            pending |= {executor.submit(work, seed) for seed in islice(left, at_once - len(pending))}
        if not pending:
            return
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for each in done:
            yield each.result()


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Let processes start that Ctrl-C on the terminal does not reach: the first process ends them.

    They do not import from the current folder, where a module may have the name of one of Python's.
    """
    safe_path = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    # The tracker, once it runs, leaves the mask of signals alone; processes inherit it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if safe_path is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = safe_path
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this process with the one that started it. If that is killed, no more seeds come."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=follow, name="parent", daemon=True).start()


def _run(scenario: Scenario, folder: Path, seed: int) -> Outcome:
    """Run without the log of the components: faults fill it, and no one could say which seed a line is of."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return run_scenario(scenario, folder, seed)[0]
    finally:
        logging.disable(before)
