"""Probes: how they are sent, and how their results are counted."""
