"""A page of metrics in Prometheus' text format. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

Kinds = Mapping[str, tuple[str, str]]
"""Metric families of a page: kind and help text by name."""


class Page:
    """A page of metrics under construction; a family without samples is not shown."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._families: dict[str, list[str]] = {name: [] for name in kinds}

    def add(
        self, name: str, labels: str, number: float, at: datetime | None = None, suffix: str = ""
    ) -> None:
        """Add a sample; ``labels`` are written between the braces, ``suffix`` after the family's name."""
        braces = f"{{{labels}}}" if labels else ""
        moment = f" {int(at.timestamp() * 1000)}" if at is not None else ""
        self._families[name].append(f"{name}{suffix}{braces} {number:.15g}{moment}")

    def text(self) -> str:
        lines: list[str] = []
        for name, samples in self._families.items():
            if samples:
                kind, text = self._kinds[name]
                lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *samples]
        return "".join(f"{line}\n" for line in lines)


def labels_of(**values: str) -> str:
    """Return labels as they are written between the braces, in the order given."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in values.items())


def escaped(value: str) -> str:
    """Return a label's value as Prometheus' format writes it."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
