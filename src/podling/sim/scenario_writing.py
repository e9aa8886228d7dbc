"""Scenarios as text: the file that would be read as a scenario. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml
from msgspec import NODEFAULT, Struct

from podling.runtime.sim.script import Script
from podling.sim.scenario import Scenario
from podling.sim.scenario_parts import Duration, Part

WIDTH = 110


def scenario_text(scenario: Scenario, comment: str = "") -> str:
    """Return a file's text, which ``read_scenario`` reads as this scenario. ``comment`` stands above it."""
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    plain = plain_part(scenario)
    return lines + yaml.dump(plain, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)


def plain_part(value: Any) -> Any:
    """Return a part as plain data, in the file's names and without what has its default."""
    if isinstance(value, Duration):
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, Part | Script):
        return _fields(value)
    if isinstance(value, Struct):
        return msgspec.to_builtins(value)
    if isinstance(value, Mapping):
        return {key: plain_part(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain_part(each) for each in value]
    return value


def _fields(part: Part | Script) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        default = field.default
        if default is NODEFAULT and field.default_factory is not NODEFAULT:
            default = field.default_factory()
        if default is NODEFAULT or value != default:
            found[field.encode_name] = plain_part(value)
    return found


class _Dumper(yaml.SafeDumper):
    """Writes every value out, however often it occurs."""

    def ignore_aliases(self, data: object) -> bool:
        return True
