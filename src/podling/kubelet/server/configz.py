"""``/configz``: the kubelet's present configuration as a ``KubeletConfiguration``. Pure."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.mapping import ELSEWHERE, SET_BY_NODE, every_field, kinds_of
from podling.kubelet.configuration.types import API_VERSION, KIND, KubeletConfiguration
from podling.machinery.durations import go_duration
from podling.machinery.quantity import Format, of


def configz(config: KubeletConfig) -> dict[str, Any]:
    """Return what ``/configz`` shows: every supported field with its present value, under its path."""
    shown: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    own = {each.name for each in msgspec.structs.fields(KubeletConfig)}
    for field in every_field(KubeletConfiguration):
        target = ELSEWHERE.get(field.name, field.name)
        if target not in own - SET_BY_NODE:
            continue
        value = _shown(field.name, getattr(config, target), field.hint)
        if value is None:
            continue
        place = shown
        *parents, last = field.path.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return {"kubeletconfig": shown}


def _shown(name: str, value: Any, hint: Any) -> Any:
    if name == "static_pod_url_header":
        return {header: ["<masked>"] for header in value}
    if name == "container_log_max_size":
        return str(of(value, Format.BINARY_SI))
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and str in kinds_of(hint):
        return go_duration(value)
    if isinstance(value, typing.Mapping) and any(isinstance(each, float) for each in value.values()):
        return {key: go_duration(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [msgspec.to_builtins(each) if isinstance(each, Struct) else each for each in value]
    return value
