"""Kernel settings below /proc/sys of the calling thread's network namespace."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: str, text: str) -> None:
    """Set a kernel setting. Where /proc/sys is read-only, a setting that is right already is enough."""
    try:
        _write_file(path, text)
    except FileNotFoundError:
        raise
    except OSError:
        if Path(path).read_text().strip() != text:
            raise


def _write_file(path: str, text: str) -> None:
    """Write without Python's file objects, which cost six times as much as the kernel's part."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
