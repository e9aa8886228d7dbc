"""The parts of a cluster that run in processes of their own. Pure.

The nodes of a cluster share one image store, which one process at a time may use, and simulated nodes share
one small process for the sake of memory: so all nodes of a data directory are one part.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

API = "api"
API_WORKER = "api-worker"
CONTROL = "control"
NODE = "node"

STOP_ORDER = (NODE, CONTROL, API_WORKER, API)
"""Kinds of parts in the order in which they stop: each still reaches what it reports to."""


class Part(Struct, frozen=True):
    """One part: its kind, its name, and the nodes that it runs."""

    kind: str
    name: str
    nodes: tuple[str, ...] = ()
    number: int = 0
    """The number of an API worker, from 0."""


def parts_of(node_names: Sequence[str], *, api_only: bool = False, api_workers: int = 0) -> tuple[Part, ...]:
    """Return the parts of a cluster with these nodes, in the order in which they start."""
    workers = (Part(API_WORKER, f"{API_WORKER}-{each + 1}", number=each) for each in range(api_workers))
    api = (Part(API, API), *workers)
    if api_only:
        return api
    return (*api, *_node_parts(tuple(node_names)), Part(CONTROL, CONTROL))


def _node_parts(names: tuple[str, ...]) -> tuple[Part, ...]:
    if not names:
        return ()
    return (Part(NODE, f"node-{names[0]}" if len(names) == 1 else "nodes", names),)
