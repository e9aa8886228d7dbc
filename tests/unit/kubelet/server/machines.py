"""A simulated machine as a source of pods."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from podling.api.core_v1 import Pod
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.probes.prober import ProbeLabels
from podling.runtime.base import ContainerSpec, Runtime, SandboxSpec
from podling.runtime.sim import ContainerScript, SimRuntime, Usage
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation

PROBES = {
    ProbeLabels("Readiness", "successful", "busy", "web", "default", "uid-web"): 3,
    ProbeLabels("Liveness", "failed", "busy", "web", "default", "uid-web"): 1,
}


class Source:
    """The pods of a runtime without a kubelet."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.metrics = KubeletMetrics()
        self.own_pods: tuple[Pod, ...] = ()

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        return None

    def pods(self) -> tuple[Pod, ...]:
        return self.own_pods

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        return None

    def sandbox_id(self, pod: Pod) -> str | None:
        return None

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        return None

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return PROBES

    def volume_paths(self, pod: Pod) -> Mapping[str, Path]:
        return {}

    @property
    def root_dir(self) -> Path:
        return Path("/")


async def machine() -> Source:
    """Return a source with a pod of a busy and an idle container, and a pod of a sandbox alone."""
    runtime = SimRuntime()
    image = await runtime.images.pull("app")
    for name in ("web", "empty"):
        sandbox = await runtime.run_sandbox(
            SandboxSpec(
                pod_uid=f"uid-{name}", pod_name=name, pod_namespace="default", log_directory=Path("/logs")
            )
        )
        usage = {"busy": Usage(cpu_millicores=500, memory_bytes=1000), "idle": Usage(memory_bytes=10)}
        for container, use in usage.items() if name == "web" else ():
            script = annotation(ContainerScript(usage=(use,)))
            spec = ContainerSpec(
                name=container,
                image=image.id,
                image_name="app",
                log_path=Path(f"/logs/{container}"),
                annotations={ANNOTATION_PREFIX + container: script},
            )
            await runtime.start_container(await runtime.create_container(sandbox.id, spec))
    return Source(runtime)
