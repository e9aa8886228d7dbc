"""The kinds of parts, and what runs in the process of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podling.cluster.processes.api_part import ApiPart
from podling.cluster.processes.api_worker_part import ApiWorkerPart
from podling.cluster.processes.control_part import ControlPart
from podling.cluster.processes.node_part import NodePart
from podling.cluster.processes.parts import API, API_WORKER, CONTROL, NODE
from podling.cluster.processes.surroundings import RunningPart, Surroundings

_KINDS: Mapping[str, Callable[[Surroundings], RunningPart]] = {
    API: ApiPart,
    API_WORKER: ApiWorkerPart,
    CONTROL: ControlPart,
    NODE: NodePart,
}


def make_part(surroundings: Surroundings) -> RunningPart:
    """Return what runs in the process of this part, not yet started."""
    return _KINDS[surroundings.part.kind](surroundings)
