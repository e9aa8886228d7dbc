"""Scenarios from Alibaba's trace of 2018: CSV files without heads, distinguished by their names.

``machine_meta``: machine_id, time_stamp, failure_domain_1, failure_domain_2, cpu_num, mem_size, status.
``container_meta``: container_id, machine_id, time_stamp, app_du, status, cpu_request, cpu_limit, mem_size.
``batch_task``: task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu,
plan_mem.
Times are seconds, requests of CPU hundredths of a core; ``cpu_num`` are cores. Memory is normalised to 0 to
100; -1 and 101 are invalid values. Source: ``cluster-trace-v2018/schema.txt`` and ``trace_2018.md`` of the
published trace. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.sim.importing.sources import Imported, Row, rows
from podling.sim.importing.traces import Machine, Window, Work, facts, scenario_of

COLUMNS = {"machine_meta": 7, "container_meta": 8, "batch_task": 9}
FAILED = "Failed"
LARGEST = 100.0
"""The normalised memory size of the largest machine."""
WITHOUT_END = ("Running", "Waiting", "Ready", "Interrupted", "Cancelled")


def scenario_from_alibaba(files: Mapping[str, tuple[str, str]], window: Window) -> Imported:
    """Return the scenario of a window. Raises ``Unreadable``.

    Args:
        files: name and text of each file, by the table in ``COLUMNS``.
    """
    found = {table: list(rows(text, name, COLUMNS[table])) for table, (name, text) in files.items()}
    unknown = sum(
        not 0 <= row.number(column, 0.0) <= LARGEST
        for table, column in (("machine_meta", 5), ("container_meta", 7), ("batch_task", 8))
        for row in found.get(table, ())
    )
    machines = _machines(found.get("machine_meta", []), window)
    services = _services(found.get("container_meta", []), window)
    jobs, without = _jobs(found.get("batch_task", []), window)
    notes = ["memory is relative in this trace: its largest machine has the size that --machine-memory names"]
    if unknown:
        notes.append(
            f"{unknown} rows have no valid memory size: such machines are as large as the largest one, "
            "and such containers request none"
        )
    if without:
        notes.append(f"left out: {without} tasks without a start or an end")
    return scenario_of(
        "A window of Alibaba's cluster trace of 2018.", machines, [*services, *jobs], window, notes
    )


def _memory(row: Row, column: int, unknown: float) -> float:
    """Return a memory size as a part of the largest; ``unknown``: the size that stands for an invalid one."""
    size = row.number(column, 0.0)
    return (size if 0 <= size <= LARGEST else unknown) / LARGEST


def _machines(table: list[Row], window: Window) -> list[Machine]:
    """Return the machines; the first row of each is that of its begin."""
    found: dict[str, Machine] = {}
    for row in table:
        memory = _memory(row, 5, LARGEST) * window.memory
        made = Machine(row.text(0), facts(row.number(4, 0.0), memory, row.text(2)), row.number(1, 0.0))
        found.setdefault(made.id, made)
    return list(found.values())


def _services(table: list[Row], window: Window) -> list[Work]:
    """Return the services: the containers of one deploy unit with equal requests."""
    seen: set[str] = set()
    units: dict[tuple[str, float, float], list[float]] = {}
    for row in table:
        if row.text(0) in seen or row.text(4) not in ("started", "allocated"):
            continue
        seen.add(row.text(0))
        key = (row.text(3), row.number(5, 0.0) / 100, _memory(row, 7, 0.0) * window.memory)
        units.setdefault(key, []).append(row.number(2, 0.0))
    return [
        Work(f"{unit}-{number}", len(times), min(times), cpu, memory)
        for number, ((unit, cpu, memory), times) in enumerate(units.items(), 1)
    ]


def _jobs(table: list[Row], window: Window) -> tuple[list[Work], int]:
    """Return the tasks that began and ended, and the number of the others."""
    found, without = [], 0
    for row in table:
        count, start, end = row.number(1, 0.0), row.number(5, 0.0), row.number(6, 0.0)
        if row.text(4) in WITHOUT_END or not start or end < start or count < 1:
            without += 1
            continue
        work = Work(
            f"{row.text(2)}-{row.text(0)}",
            int(count),
            start,
            row.number(7, 0.0) / 100,
            _memory(row, 8, 0.0) * window.memory,
            seconds=end - start,
            exit_code=int(row.text(4) == FAILED),
        )
        found.append(work)
    return found, without
