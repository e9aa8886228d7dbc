"""The state files; contents and checksums are those of upstream's ``state_checkpoint_test.go``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podling.kubelet.topology.cpu_rules import CpuState
from podling.kubelet.topology.memory_rules import Block, MemoryState, MemoryTable, NumaState
from podling.kubelet.topology.state_files import (
    DamagedState,
    decode_cpu_state,
    decode_memory_state,
    encode_cpu_state,
    encode_memory_state,
    write_state,
)

CPU = {
    "policyName": "none",
    "defaultCpuSet": "1-3",
    "entries": {"pod": {"container1": "4-6", "container2": "1-3"}},
    "checksum": 3610638499,
}
CPU_STATE = CpuState(
    frozenset({1, 2, 3}), {"pod": {"container1": frozenset({4, 5, 6}), "container2": frozenset({1, 2, 3})}}
)
MEMORY = {
    "policyName": "static",
    "machineState": {
        "0": {
            "numberOfAssignments": 0,
            "memoryMap": {
                "memory": {
                    "total": 2048,
                    "systemReserved": 512,
                    "allocatable": 1536,
                    "reserved": 512,
                    "free": 1024,
                }
            },
            "cells": [],
        }
    },
    "entries": {"pod": {"container1": [{"numaAffinity": [0], "type": "memory", "size": 512}]}},
    "checksum": 4215593881,
}
MEMORY_STATE = MemoryState(
    {0: NumaState(0, {"memory": MemoryTable(2048, 512, 1536, 512, 1024)}, ())},
    {"pod": {"container1": (Block((0,), "memory", 512),)}},
)


def test_files_are_those_of_kubernetes() -> None:
    assert json.loads(encode_cpu_state("none", CPU_STATE)) == CPU
    assert json.loads(encode_memory_state("static", MEMORY_STATE)) == MEMORY
    empty = {"policyName": "none", "defaultCpuSet": "4-6", "entries": {}, "checksum": 354655845}
    assert json.loads(encode_cpu_state("none", CpuState(frozenset({4, 5, 6})))) == empty


def test_files_of_kubernetes_are_read() -> None:
    assert decode_cpu_state(json.dumps(CPU).encode(), "none") == CPU_STATE
    assert decode_memory_state(json.dumps(MEMORY).encode(), "static") == MEMORY_STATE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"checksum": 1337}, "checkpoint is corrupted"),
        ({"defaultCpuSet": "1-4"}, "checkpoint is corrupted"),
        (
            {"policyName": "other", "checksum": 0},
            'configured policy "none" differs from state checkpoint policy "other"',
        ),
        ({"defaultCpuSet": "1.3", "checksum": 0}, "'1.3' is not the number of a CPU"),
        ({"entries": {"pod": {"container2": "asd"}}, "checksum": 0}, "'asd' is not the number of a CPU"),
        ({"entries": {"container1": "4-6"}}, "Expected `object`"),
    ],
)
def test_damaged_file_of_the_cpu_manager_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(DamagedState) as raised:
        decode_cpu_state(json.dumps({**CPU, **change}).encode(), "none")
    assert problem in str(raised.value)


def test_damaged_file_of_the_memory_manager_is_refused() -> None:
    for content in (b"{", json.dumps({**MEMORY, "checksum": 101010}).encode()):
        with pytest.raises(DamagedState):
            decode_memory_state(content, "static")
    with pytest.raises(DamagedState, match="differs from state checkpoint policy"):
        decode_memory_state(json.dumps(MEMORY).encode(), "Static")


def test_written_file_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, b"first")
    write_state(path, b"second")
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    assert path.read_bytes() == b"second"
