"""The ends of containers that a new status shows and the one before did not. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import ContainerStateTerminated, ContainerStatus, PodStatus


def new_ends(before: PodStatus, after: PodStatus) -> Iterator[tuple[str, str, str]]:
    """Yield type, exit code and reason of each container that has ended in between."""
    for kind, old, new in (
        ("init_container", before.init_container_statuses, after.init_container_statuses),
        ("container", before.container_statuses, after.container_statuses),
        ("ephemeral_container", before.ephemeral_container_statuses, after.ephemeral_container_statuses),
    ):
        known = {end.container_id for status in old for end in _ends(status)}
        for end in (end for status in new for end in _ends(status)):
            if end.container_id and end.container_id not in known:
                yield kind, str(end.exit_code), end.reason or ""


def _ends(status: ContainerStatus) -> Iterator[ContainerStateTerminated]:
    """Yield the end of the newest container, and of the one before it."""
    for state in (status.state, status.last_state):
        if state.terminated is not None:
            yield state.terminated
