"""Pods of certain sizes for tests of the CPU and memory managers."""

from __future__ import annotations

from typing import Any

import msgspec

from podling.api.core_v1 import Pod

Size = tuple[str, str]
"""Requests, which are the limits as well: CPUs and memory."""


def sized(name: str, size: Size, **fields: Any) -> dict[str, Any]:
    amounts = {"cpu": size[0], "memory": size[1]}
    return {"name": name, "image": "app:1", "resources": {"requests": amounts, "limits": amounts}, **fields}


def guaranteed(uid: str, *sizes: Size, init: tuple[Size, ...] = (), sidecars: tuple[Size, ...] = ()) -> Pod:
    """Return a Guaranteed pod with containers c0, c1, init containers i0 and, before them, sidecars s0."""
    before = [sized(f"s{n}", size, restartPolicy="Always") for n, size in enumerate(sidecars)]
    before += [sized(f"i{n}", size) for n, size in enumerate(init)]
    containers = [sized(f"c{n}", size) for n, size in enumerate(sizes)]
    spec = {"initContainers": before, "containers": containers}
    return msgspec.convert({"metadata": {"name": uid, "uid": uid}, "spec": spec}, Pod)
