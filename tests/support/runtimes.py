"""Helpers for tests of any runtime."""

from __future__ import annotations

import asyncio
from pathlib import Path

from podling.runtime.base import Container, ContainerSpec, ContainerState, Runtime, SandboxSpec
from podling.runtime.sim import ContainerScript
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation

DEADLINE_SECONDS = 30.0


async def exited(runtime: Runtime, container_id: str) -> Container:
    """Wait for the container's exit and return its status."""
    events = runtime.events()
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            container = await runtime.container_status(container_id)
            if container.state is ContainerState.EXITED:
                return container
            await anext(events)


async def start_app(
    runtime: Runtime, logs: Path, *, script: ContainerScript | None = None, shell: str = ""
) -> str:
    """Start a container that logs to ``0.log`` in ``logs``; return its id. Programs run ``shell``."""
    sandbox = await runtime.run_sandbox(
        SandboxSpec(pod_uid="uid", pod_name="web", pod_namespace="default", log_directory=logs)
    )
    image = await runtime.images.pull("podling.local/host")
    spec = ContainerSpec(
        name="app",
        image=image.id,
        command=("sh", "-c", shell),
        log_path=logs / "0.log",
        annotations={ANNOTATION_PREFIX + "app": annotation(script or ContainerScript())},
    )
    container_id = await runtime.create_container(sandbox.id, spec)
    await runtime.start_container(container_id)
    return container_id
