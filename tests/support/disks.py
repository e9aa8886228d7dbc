"""Disks that are full."""

from __future__ import annotations

from pathlib import Path


def fill(directory: Path) -> None:
    """Use every block on the disk of ``directory``; removing ``ballast`` in it frees them again."""
    with (directory / "ballast").open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
