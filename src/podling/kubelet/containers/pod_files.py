"""The single files that the kubelet manages for a pod: ``/etc/hosts`` and ``/etc/resolv.conf``.

They are written when the pod's addresses are known, before its first container starts, and mounted into
every container that does not mount something of its own there.
"""

from __future__ import annotations

from pathlib import Path

from podling.api.core_v1 import Container, ObjectReference, Pod
from podling.kubelet.containers.dns import ResolvConf, parse_resolv_conf, pod_resolution, search_line_problem
from podling.kubelet.containers.hosts import host_network_content, hosts_content
from podling.kubelet.containers.sandbox_spec import hostname_and_domain
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.runtime.base import Mount

HOSTS = "/etc/hosts"
RESOLV_CONF = "/etc/resolv.conf"


class PodFiles:
    """The managed files of one node's pods."""

    def __init__(self, deps: KubeletDeps, directories: Directories) -> None:
        self._deps = deps
        self._directories = directories

    def write(
        self, pod: Pod, pod_ips: tuple[str, ...], node_hostname: str, *, new_sandbox: bool = False
    ) -> None:
        """Write both files where they differ from what is there. Raises ``OSError``.

        ``new_sandbox``: report the warnings about name resolution, once for each sandbox.
        """
        resolution = pod_resolution(pod, self._node_resolver(), self._deps.config)
        if new_sandbox:
            for reason, message in resolution.warnings:
                self._deps.recorder.event(pod, "Warning", reason, message)
        if not self._deps.config.write_files:
            return
        uid = pod.metadata.uid or ""
        self._directories.pod(uid).mkdir(mode=0o750, parents=True, exist_ok=True)
        _write_if_changed(self._directories.hosts_file(uid), self._hosts(pod, pod_ips, node_hostname))
        _write_if_changed(self._directories.resolv_conf(uid), resolution.conf.text())

    def check_node_resolver(self) -> None:
        """Report a search line of the node that is too long for pods: once, when the kubelet starts."""
        path = self._deps.config.resolv_conf
        if path is None or not self._deps.config.write_files:
            return
        try:
            found = parse_resolv_conf(path.read_text(errors="replace"))
            problem = search_line_problem(found, str(path), self._deps.config.cluster_domain)
        except OSError as error:
            problem = f"open {path}: {(error.strerror or str(error)).lower()}"
        if problem:
            self._deps.recorder.event(self._node(), "Warning", "CheckLimitsForResolvConf", problem)

    def _node(self) -> ObjectReference:
        """Return the node as its kubelet's events name it: by its name for a UID."""
        name = self._deps.node_name
        return ObjectReference(api_version="v1", kind="Node", name=name, uid=name)

    def _hosts(self, pod: Pod, pod_ips: tuple[str, ...], node_hostname: str) -> str:
        aliases = pod.spec.host_aliases
        if pod.spec.host_network:
            return host_network_content(_read(Path(HOSTS)), aliases)
        hostname, domain = hostname_and_domain(pod, self._deps.config, node_hostname)
        return hosts_content(pod_ips, hostname, domain, aliases)

    def _node_resolver(self) -> ResolvConf:
        path = self._deps.config.resolv_conf
        if path is None or not self._deps.config.write_files:
            return ResolvConf()
        return parse_resolv_conf(_read(path))

    def mounts(self, pod: Pod, container: Container) -> tuple[Mount, ...]:
        """Return the managed files as mounts of ``container``."""
        if not self._deps.config.write_files:
            return ()
        uid = pod.metadata.uid or ""
        own = {mount.mount_path.rstrip("/") for mount in container.volume_mounts}
        files = (
            (HOSTS, self._directories.hosts_file(uid)),
            (RESOLV_CONF, self._directories.resolv_conf(uid)),
        )
        return tuple(
            Mount(container_path=target, host_path=str(path)) for target, path in files if target not in own
        )


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _holds(path: Path, data: bytes) -> bool:
    """Return whether the file holds exactly ``data``. Containers may have written any amount to it."""
    try:
        with path.open("rb") as file:
            return file.read(len(data) + 1) == data
    except FileNotFoundError:
        return False


def _write_if_changed(path: Path, text: str) -> None:
    """Write ``text`` in place, because containers have this very file mounted."""
    if _holds(path, text.encode()):
        return
    path.write_text(text)
    path.chmod(0o644)
