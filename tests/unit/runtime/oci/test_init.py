"""The program that holds the namespaces of a pod."""

from __future__ import annotations

import struct

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci.init import program


@pytest.mark.parametrize(("machine", "number"), [("amd64", 62), ("arm64", 183)])
def test_the_holder_is_a_whole_program(machine: str, number: int) -> None:
    elf = program(machine)
    assert elf.startswith(b"\x7fELF\x02\x01")
    kind, architecture = struct.unpack_from("<HH", elf, 16)
    assert (kind, architecture) == (2, number)
    (entry,) = struct.unpack_from("<Q", elf, 24)
    assert entry == 0x400000 + 64 + 56
    (size,) = struct.unpack_from("<Q", elf, 64 + 32)
    assert size == len(elf)


def test_the_holders_action_is_where_its_code_looks_for_it() -> None:
    """``lea rsi, [rip + 31]`` ends at offset 17 of the code; ignoring a signal is the number 1."""
    code = program("amd64")[64 + 56 :]
    assert struct.unpack_from("<Q", code, 17 + 31) == (1,)
    arm = program("arm64")[64 + 56 :]
    assert struct.unpack_from("<Q", arm, 8 + 48) == (1,)


def test_machines_without_a_holder_say_so() -> None:
    with pytest.raises(RuntimeFailure, match="not supported on riscv64"):
        program("riscv64")
