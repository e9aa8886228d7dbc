"""One scenario with many seeds, in several processes."""

from __future__ import annotations

import logging
import multiprocessing
import re
import signal
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.pool import Pool
from pathlib import Path

from podling.sim.runner import Outcome, run_scenario
from podling.sim.scenario import Scenario

SEEDS_MAX = 1_000_000
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
    """Yield the outcome of each seed, in the order in which they end."""
    work = partial(_run, scenario, folder)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with _pool(min(jobs, len(seeds))) as pool:
        yield from pool.imap_unordered(work, seeds)


def _pool(processes: int) -> Pool:
    """Return processes that Ctrl-C on the terminal does not reach: the first process ends them."""
    # The tracker, once it runs, leaves the mask of signals alone; processes inherit it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # Processes are started afresh: a fork would copy the threads of libraries.
        return multiprocessing.get_context("spawn").Pool(processes)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(scenario: Scenario, folder: Path, seed: int) -> Outcome:
    """Run without the log of the components: faults fill it, and no one could say which seed a line is of."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return run_scenario(scenario, folder, seed)[0]
    finally:
        logging.disable(before)
