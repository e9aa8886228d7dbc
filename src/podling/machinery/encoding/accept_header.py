"""The media types of an ``Accept`` header, in the order in which a server tries them. Pure."""

from __future__ import annotations

CLAUSES_MAX = 64
"""Media types of a header, and parameters of one, that are looked at."""


def clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Return the media types and their parameters: those that are wanted more, or named, come first."""
    found = []
    for clause in accept.split(",", CLAUSES_MAX)[:CLAUSES_MAX]:
        media_type, *parameters = (part.strip() for part in clause.split(";", CLAUSES_MAX)[:CLAUSES_MAX])
        found.append((media_type, dict(_pair(parameter) for parameter in parameters)))
    return sorted(found, key=lambda each: (-_weight(each[1]), each[0].startswith("*"), each[0].endswith("*")))


def _weight(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 0.0


def _pair(parameter: str) -> tuple[str, str]:
    name, _, value = parameter.partition("=")
    return name.strip(), value.strip().strip('"')
