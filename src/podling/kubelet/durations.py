"""Durations as Go prints them, because messages that people search for contain them."""

from __future__ import annotations


def go_duration(seconds: float) -> str:
    """Return ``seconds`` cut to milliseconds: ``0s``, ``350ms``, ``1.5s``, ``2m0.25s``, ``1h0m5s``."""
    milliseconds = int(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    whole, rest = divmod(milliseconds, 1000)
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
