"""Graceful node shutdown: pods end in groups while an inhibitor lock delays the machine's shutdown."""
