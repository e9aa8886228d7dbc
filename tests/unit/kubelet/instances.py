"""Sandboxes and containers as a runtime lists them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from podling.runtime.base import Container, ContainerState, Sandbox

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def container(
    name: str = "app",
    attempt: int = 0,
    state: ContainerState = ContainerState.EXITED,
    *,
    sandbox: str = "s0",
    exit_code: int | None = None,
) -> Container:
    """Return a container whose id is its name and attempt."""
    made = NOON + timedelta(seconds=attempt)
    id_ = f"{name}{attempt}"
    return Container(
        id=id_,
        sandbox_id=sandbox,
        name=name,
        attempt=attempt,
        state=state,
        created_at=made,
        exit_code=exit_code,
    )


def sandbox(attempt: int = 0, *, ready: bool = True) -> Sandbox:
    """Return a sandbox with the id ``s`` and its attempt."""
    return Sandbox(
        id=f"s{attempt}",
        pod_uid="u-1",
        pod_name="web",
        pod_namespace="default",
        attempt=attempt,
        ready=ready,
        created_at=NOON + timedelta(seconds=attempt),
    )
