"""Signals by the names users write: ``SIGTERM``, ``term``, ``15``, ``SIGRTMIN+3``."""

from __future__ import annotations

import signal

from podling.machinery.numbers import is_number
from podling.runtime.base import RuntimeFailure

KILLED_BASE = 128
"""A process ended by signal N has exit code 128 + N, as shells and container runtimes report it."""


def signal_number(name: str) -> int:
    """Return the number of the signal ``name``; raises ``RuntimeFailure`` for one that does not exist."""
    text = name.strip().upper().removeprefix("SIG")
    if is_number(text) and 1 <= int(text) <= signal.NSIG - 1:
        return int(text)
    for edge, base, sign in (("RTMIN", _realtime("SIGRTMIN"), 1), ("RTMAX", _realtime("SIGRTMAX"), -1)):
        rest = text.removeprefix(edge)
        if base is None or rest == text:
            continue
        if not rest:
            return base
        if is_number(rest[1:]) and rest[0] == ("+" if sign > 0 else "-"):
            return base + sign * int(rest[1:])
    number = getattr(signal, f"SIG{text}", None)
    if isinstance(number, signal.Signals):
        return int(number)
    raise RuntimeFailure(f'unknown signal "{name}"')


def signal_name(name: str) -> str:
    """The signal's full name, however it was written; raises ``RuntimeFailure`` as ``signal_number``."""
    number = signal_number(name)
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - (_realtime('SIGRTMIN') or 0)}"


def _realtime(name: str) -> int | None:
    value = getattr(signal, name, None)  # absent on macOS
    return None if value is None else int(value)
