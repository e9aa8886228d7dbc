"""One abuser beside an innocent client: whether one tenant can take the cluster from all others.

``python -m bench.abuse [DEED ...]`` starts a cluster for each deed and prints a table. Server, innocent
client, observer and abuser are processes of their own on one machine. In life the abuser is on another
machine; therefore it runs with the lowest priority of the processor (``--nice``).

``--base CHECKOUT`` measures another checkout of Podling with the same clients.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.abusing import abuser, innocent
from bench.abusing.comparison import compared
from bench.abusing.deeds import ALL, Deed
from bench.abusing.innocent import Sample
from bench.abusing.observer import Observer, lateness, memory_mib, peak_mib, processes_of
from bench.abusing.report import Course, Outcome, milliseconds, outcome_of, recovered_at, table
from bench.abusing.surroundings import clean, prepare
from bench.abusing.work import Tally
from bench.harness import ROOT

WARM_SECONDS = 2.0
"""Seconds of the innocent client alone before the load."""
READY_SECONDS = 120.0


def main(arguments: Sequence[str] = ()) -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # it would measure the compiler
    options = parsed(arguments)
    outcomes: list[Outcome] = []
    for deed in options.chosen:
        outcome = measured(deed, options)
        outcomes.append(outcome)
        missed = ", ".join(outcome.missed()) or "none"
        print(
            f"{deed.name}: GET p99 {milliseconds(outcome.get_p99)}, max {milliseconds(outcome.get_max)}; "
            f"failures {outcome.failures or 'none'}; missed: {missed}",
            flush=True,
        )
        if options.json is not None:
            options.json.write_text(json.dumps([each.plain() for each in outcomes], indent=1) + "\n")
    print(f"\nload of the machine: {os.getloadavg()}\n\n{table(outcomes)}")
    if options.beside is not None:
        before = json.loads(options.beside.read_text())
        print(f"\n{compared(before, [each.plain() for each in outcomes])}")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.abuse", description=__doc__)
    parser.add_argument("deeds", nargs="*", help="names or patterns; all without any")
    parser.add_argument("--list", action="store_true", help="print the deeds and end")
    parser.add_argument("--seconds", type=float, default=30.0, help="the time of each deed")
    parser.add_argument("--base", type=Path, default=ROOT, help="the checkout whose server is measured")
    parser.add_argument("--runtime", default="sim", help="for the deeds that run no container")
    parser.add_argument("--up", default="", help="further options of podling up, in one word")
    parser.add_argument("--nice", type=int, default=19, help="the niceness of the abuser")
    parser.add_argument("--patience", type=float, default=20.0, help="the longest wait for the recovery")
    parser.add_argument(
        "--settle",
        type=float,
        default=0.0,
        help="delete the objects, wait so long, and measure the memory again",
    )
    parser.add_argument("--beside", type=Path, help="a file of --json: print both runs beside one another")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    names = options.deeds or ["*"]
    options.chosen = [deed for deed in ALL if any(fnmatch(deed.name, name) for name in names)]
    if options.list or not options.chosen:
        print("\n".join(f"{deed.name:<16} {deed.title}" for deed in ALL))
        sys.exit(0 if options.list else f"no such deed: {' '.join(names)}")
    return options


def measured(deed: Deed, options: argparse.Namespace) -> Outcome:
    runtime = deed.runs or options.runtime
    with cluster(options.base, "--runtime", runtime, *options.up.split()) as (directory, pid):
        return asyncio.run(_measured(deed, options, directory, pid))


@contextmanager
def cluster(checkout: Path, *options: str) -> Iterator[tuple[Path, int]]:
    """Run a checkout's ``podling up`` in a new directory; gives the directory and the process."""
    directory = Path(tempfile.mkdtemp(prefix="podling-abuse-"))
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, "-m", "podling"]
    pid = 0
    try:
        place = ["--data-dir", str(directory)]
        subprocess.run(
            [*command, "up", *place, "--port", "0", "--detach", *options],
            check=True,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        pid = int((directory / "podling.pid").read_text())
        yield directory, pid
    finally:
        stop(pid)
        down = [*command, "down", *place, "--grace", "0"]
        subprocess.run(down, check=False, stdout=subprocess.DEVNULL, env=environment)
        shutil.rmtree(directory, ignore_errors=True)


def stop(pid: int) -> None:
    """Kill the cluster's processes: one that is busy for minutes takes no other signal."""
    for each in processes_of(pid) if pid else ():
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


@contextmanager
def child(target: Any, *arguments: Any) -> Iterator[Connection]:
    """Run a function in a process of its own, which ends with the block; gives its connection."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()


async def _measured(deed: Deed, options: argparse.Namespace, directory: Path, pid: int) -> Outcome:
    places = await prepare(directory / "admin.kubeconfig")
    observer = Observer(places.admin, pid)
    samples: list[Sample] = []
    with (
        child(innocent.run, places.innocent) as quiet,
        child(abuser.run, deed.name, places.tenant, options.seconds, options.nice) as eager,
    ):
        await asyncio.to_thread(_receive, eager, READY_SECONDS)
        observer.start()
        collecting = asyncio.ensure_future(_collect(quiet, samples))
        await asyncio.sleep(WARM_SECONDS)
        begin = time.monotonic()
        eager.send(None)
        tally: Tally = await asyncio.to_thread(_receive, eager, options.seconds + READY_SECONDS)
        end = time.monotonic()
        while (now := time.monotonic()) < end + options.patience:
            await asyncio.sleep(0.25)
            if recovered_at(samples, end, now) is not None:
                break
        if options.settle:
            await clean(places)
            await asyncio.sleep(options.settle)
        collecting.cancel()
    observer.memory.append((time.monotonic(), await asyncio.to_thread(memory_mib, pid)))
    observer.stop()
    course = Course(begin, end, now, samples, tally, observer.memory, peak_mib(pid))
    return outcome_of(
        deed.name,
        deed.title,
        course,
        heartbeat=lateness(observer.heartbeats, now),
        not_ready=len(observer.not_ready),
    )


def _receive(connection: Connection, seconds: float) -> Any:
    """Return the next message of a process. Raises ``TimeoutError`` or ``EOFError``."""
    if not connection.poll(seconds):
        raise TimeoutError(f"no message within {seconds:.0f} s")
    return connection.recv()


async def _collect(connection: Connection, samples: list[Sample]) -> None:
    while True:
        if connection.poll():
            samples.extend(connection.recv())
        else:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1:])
