"""The specification of one container, complete: expanded, looked up and decided.

A missing reference or a violated rule is a ``StartFailure`` with reason ``CreateContainerConfigError``
and Kubernetes' message.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from podling.api.core_v1 import Container, Pod
from podling.client.base import Unreachable
from podling.kubelet.containers.env import EnvFacts, environment
from podling.kubelet.containers.pod_files import PodFiles
from podling.kubelet.containers.security import container_security, verify_non_root
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.downward import UnsupportedField
from podling.kubelet.expansion import expand
from podling.kubelet.failures import MissingReference, StartFailure
from podling.kubelet.labels import container_annotations, container_labels
from podling.kubelet.references import References
from podling.kubelet.resources import container_resources
from podling.kubelet.swap import NodeMemory
from podling.kubelet.topology.container_manager import ContainerManager
from podling.kubelet.volumes.volume_manager import VolumeManager
from podling.runtime.base import ContainerSpec, LinuxResources, Mount
from podling.runtime.image_service import Image

CONFIG_ERROR = "CreateContainerConfigError"


class NodeFacts(Struct, frozen=True):
    """The facts about their node that containers may see."""

    host_ips: tuple[str, ...] = ()
    hostname: str = ""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    memory: NodeMemory = NodeMemory()


class Instance(Struct, frozen=True):
    """One instance of a pod's container that is to be created."""

    pod: Pod
    container: Container
    attempt: int
    image: Image
    image_volumes: Mapping[str, Image] = field(default_factory=dict)
    """The images that the container mounts, by volume."""
    pod_ips: tuple[str, ...] = ()
    process_target: str = ""
    """For an ephemeral container: the id of the container whose processes it sees."""


class ContainerSpecs:
    """Builds container specs for one node."""

    def __init__(
        self,
        deps: KubeletDeps,
        directories: Directories,
        volumes: VolumeManager,
        files: PodFiles,
        assignments: ContainerManager,
    ) -> None:
        self._deps = deps
        self._directories = directories
        self._volumes = volumes
        self._files = files
        self._assignments = assignments
        self._references = References(deps.client)

    async def build(self, instance: Instance, node: NodeFacts, services: Mapping[str, str]) -> ContainerSpec:
        """Return the container's specification. Raises ``StartFailure``."""
        pod, container = instance.pod, instance.container
        verify_non_root(pod, container, instance.image)
        variables = await self._environment(instance, node, services)
        try:
            message_path = self._message_file(instance)
            mounts = await self._volumes.mounts(pod, container, variables, instance.image_volumes)
        except OSError as error:
            raise StartFailure(CONFIG_ERROR, str(error)) from error
        mounts += self._files.mounts(pod, container)
        if message_path is not None:
            target = container.termination_message_path or "/dev/termination-log"
            mounts += (Mount(container_path=target, host_path=str(message_path)),)
        lifecycle = container.lifecycle
        stop_signal = lifecycle.stop_signal if lifecycle is not None else None
        return ContainerSpec(
            name=container.name,
            attempt=instance.attempt,
            image=instance.image.id,
            image_name=container.image or "",
            command=tuple(expand(text, variables) for text in container.command),
            args=tuple(expand(text, variables) for text in container.args),
            working_dir=container.working_dir or "",
            env=tuple(variables.items()),
            mounts=mounts,
            devices=self._volumes.devices(pod, container),
            log_path=self._directories.container_log(pod, container.name, instance.attempt),
            stdin=bool(container.stdin),
            stdin_once=bool(container.stdin_once),
            tty=bool(container.tty),
            resources=await self._resources(pod, container, node),
            security=container_security(pod, container, self._deps.config),
            stop_signal=stop_signal or "",
            process_target=instance.process_target,
            labels=container_labels(pod, container),
            annotations=container_annotations(
                pod, container, instance.attempt, str(message_path) if message_path is not None else ""
            ),
        )

    async def _resources(self, pod: Pod, container: Container, node: NodeFacts) -> LinuxResources:
        found = container_resources(pod, container, self._deps.config, node.memory)
        await self._assignments.save()
        own = self._assignments.assigned(pod.metadata.uid or "", container.name)
        return replace(found, cpuset_cpus=own.cpus, cpuset_mems=own.mems)

    async def _environment(
        self, instance: Instance, node: NodeFacts, services: Mapping[str, str]
    ) -> dict[str, str]:
        facts = EnvFacts(
            host_ips=node.host_ips,
            pod_ips=instance.pod_ips,
            allocatable=node.allocatable,
            services=services,
            volumes=self._volumes.paths(instance.pod),
        )
        try:
            return await environment(instance.pod, instance.container, self._references, facts)
        except (MissingReference, UnsupportedField, Unreachable) as error:
            raise StartFailure(CONFIG_ERROR, str(error)) from error

    def _message_file(self, instance: Instance) -> Path | None:
        """Create and return an empty file for the termination message, writable by every user."""
        if not self._deps.config.write_files:
            return None
        directory = self._directories.container(instance.pod.metadata.uid or "", instance.container.name)
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        path = directory / str(instance.attempt)
        path.write_bytes(b"")
        path.chmod(0o666)
        return path
