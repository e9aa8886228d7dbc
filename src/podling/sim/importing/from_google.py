"""Scenarios from Google's traces: the tables of 2011 (CSV without heads) and of 2019 (JSON lines).

2011, ``machine_events``: time, machine, event, platform, CPUs, memory. ``task_events``: time, missing, job,
task index, machine, event, user, scheduling class, priority, CPU request, memory request, disk request,
constraint. 2019, ``machine_events``: ``time``, ``machine_id``, ``type``, ``capacity``. ``instance_events``:
``time``, ``type``, ``collection_id``, ``collection_type``, ``instance_index``, ``resource_request``. Times
are microseconds; amounts are parts of the largest machine. Alloc sets reserve amounts that tasks inside of
them request again, so they are left out. Source: ``clusterdata_trace_format_v3.proto`` of the published
trace, and the document "clusterdata-2011", format 2.1. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from msgspec import Struct

from podling.sim.importing.sources import Imported, Unreadable, json_lines, rows
from podling.sim.importing.traces import Machine, Window, Work, facts, scenario_of

MACHINES, TASKS = "machine_events", "task_events"
TABLES = {MACHINES: MACHINES, TASKS: TASKS, "instance_events": TASKS}
"""The tables by the beginnings of file names."""
MICROSECONDS = 1e6
NEVER = 2.0**63 - 1
"""The time of events after the end of the trace."""
MACHINE_EVENTS = {2011: ("ADD", "REMOVE", "UPDATE"), 2019: ("", "ADD", "REMOVE", "UPDATE")}
TASK_EVENTS = {
    2011: ("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE", "UPDATE"),
    2019: (
        "SUBMIT",
        "QUEUE",
        "ENABLE",
        "SCHEDULE",
        "EVICT",
        "FAIL",
        "FINISH",
        "KILL",
        "LOST",
        "UPDATE",
        "UPDATE",
    ),
}
ALLOC_SETS = ("1", "ALLOC_SET")
"""The values of ``collection_type`` for what is no job."""
ENDS = ("FAIL", "FINISH", "KILL", "LOST")


class _Event(Struct, frozen=True):
    """An event of a machine, or of a task whose ``job`` is not empty. ``at`` is in seconds."""

    at: float
    type: str
    machine: str
    job: str
    index: str
    cpu: float
    memory: float
    """Parts of the largest machine."""


class _Task(Struct):
    submitted: float
    cpu: float
    memory: float
    scheduled: float | None = None
    ended: float | None = None
    how: str = ""


def scenario_from_google(files: Mapping[str, list[tuple[str, str]]], window: Window) -> Imported:
    """Return the scenario of a window. Raises ``Unreadable``.

    Args:
        files: names and texts of the parts of each table, ``machine_events`` and ``task_events``.
    """
    machines = _machines(_events(files.get(MACHINES, []), MACHINES), window)
    works, without = _works(_events(files.get(TASKS, []), TASKS), window)
    notes = [
        "amounts are relative in this trace: --machine-cpu and --machine-memory are the largest machine's"
    ]
    if without:
        notes.append(f"{without} tasks have no end in the files: they run until the end of the scenario")
    return scenario_of("A window of Google's cluster trace.", machines, works, window, notes)


def _events(parts: list[tuple[str, str]], table: str) -> list[_Event]:
    found: list[_Event] = []
    for name, text in parts:
        found.extend(_of_2019(text, name, table) if text.lstrip()[:1] == "{" else _of_2011(text, name, table))
    return sorted(found, key=lambda each: each.at)


def _of_2011(text: str, name: str, table: str) -> Iterator[_Event]:
    is_machine = table == MACHINES
    for row in rows(text, name, 6 if is_machine else 13):
        column = 2 if is_machine else 5
        names, number = (MACHINE_EVENTS if is_machine else TASK_EVENTS)[2011], row.number(column)
        if not 0 <= number < len(names):
            raise row.problem(column, f"{row.text(column)} is no event of the table {table}")
        cpu, memory = (4, 5) if is_machine else (9, 10)
        yield _Event(
            row.number(0) / MICROSECONDS,
            names[int(number)],
            row.text(1 if is_machine else 4),
            "" if is_machine else row.text(2),
            "" if is_machine else row.text(3),
            row.number(cpu, 0.0),
            row.number(memory, 0.0),
        )


def _of_2019(text: str, name: str, table: str) -> Iterator[_Event]:
    is_machine = table == MACHINES
    for line, found in json_lines(text, name):
        if str(found.get("collection_type", "")) in ALLOC_SETS:
            continue
        amounts = found.get("capacity" if is_machine else "resource_request") or {}
        try:
            yield _Event(
                float(found["time"]) / MICROSECONDS,
                _type(found["type"], (MACHINE_EVENTS if is_machine else TASK_EVENTS)[2019]),
                str(found.get("machine_id", "")),
                "" if is_machine else str(found["collection_id"]),
                "" if is_machine else str(found["instance_index"]),
                float(amounts.get("cpus") or 0),
                float(amounts.get("memory") or 0),
            )
        except KeyError as error:
            raise Unreadable(name, line, 1, f"the field {error} of the table {table} is missing") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise Unreadable(name, line, 1, str(error)) from None


def _type(value: Any, names: tuple[str, ...]) -> str:
    """Return the name of a type that is written as a number or as its name. Raises ``ValueError``."""
    text = str(value)
    if text.isdigit() and int(text) < len(names):
        return names[int(text)]
    short = text.removeprefix("UPDATE_") if text not in names else text
    if short in names:
        return short
    if text.startswith("UPDATE"):
        return "UPDATE"
    raise ValueError(f"{text!r} is no type of event")


def _machines(events: Iterable[_Event], window: Window) -> list[Machine]:
    """Return the machines, once for each time that they are there: those that are repaired come back."""
    ended: list[Machine] = []
    there: dict[str, Machine] = {}
    for event in events:
        if event.type == "REMOVE" and event.machine in there:
            old = there.pop(event.machine)
            ended.append(Machine(old.id, old.facts, old.added, event.at))
        elif event.type == "ADD" and event.machine not in there:
            size = facts(event.cpu * window.cores, event.memory * window.memory)
            there[event.machine] = Machine(event.machine, size, event.at)
    return [*ended, *there.values()]


def _works(events: Iterable[_Event], window: Window) -> tuple[list[Work], int]:
    """Return the tasks of each job with equal requests and ends as one piece of work."""
    tasks: dict[tuple[str, str], _Task] = {}
    for event in events:
        key = (event.job, event.index)
        if event.type == "SUBMIT" and key not in tasks:
            tasks[key] = _Task(event.at, event.cpu, event.memory)
        elif (task := tasks.get(key)) is None:
            continue
        elif event.type == "SCHEDULE" and task.scheduled is None:
            task.scheduled = event.at
        elif event.type in ENDS and task.ended is None:
            task.ended, task.how = event.at, event.type
    groups: dict[tuple[str, float, float, float, str], list[_Task]] = {}
    for (job, _), task in tasks.items():
        groups.setdefault((job, task.submitted, task.cpu, task.memory, task.how), []).append(task)
    works = [_work(number, key, members, window) for number, (key, members) in enumerate(groups.items(), 1)]
    return works, sum(task.ended is None for task in tasks.values())


def _work(
    number: int, key: tuple[str, float, float, float, str], members: list[_Task], window: Window
) -> Work:
    job, at, cpu, memory, how = key
    lengths = [
        task.ended - (task.scheduled if task.scheduled is not None else task.submitted)
        for task in members
        if task.ended is not None and task.ended < NEVER
    ]
    amounts = (cpu * window.cores, memory * window.memory)
    name = f"job-{job}-{number}"
    if not lengths:
        return Work(name, len(members), at, *amounts)
    return Work(
        name, len(members), at, *amounts, seconds=max(0.0, median(lengths)), exit_code=int(how == "FAIL")
    )
