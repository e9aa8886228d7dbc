"""The specification of a pod's sandbox: names, namespaces, ports, cgroup, sysctls."""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.directories import Directories
from podling.kubelet.labels import pod_labels
from podling.kubelet.resources import cgroup_parent, pod_resources
from podling.machinery.pods import is_sidecar
from podling.runtime.base import NamespaceOptions, PortMapping, SandboxSpec

HOSTNAME_LENGTH_MAX = 63
FQDN_LENGTH_MAX = 64
"""The longest hostname that the kernel accepts."""


class HostnameTooLong(Exception):
    """The fully qualified name that is to be the pod's hostname is too long."""


def hostname_and_domain(pod: Pod, config: KubeletConfig, node_hostname: str) -> tuple[str, str]:
    """Return the pod's hostname, and its domain (empty without a subdomain)."""
    spec = pod.spec
    if spec.hostname_override is not None:
        return spec.hostname_override, ""
    if spec.host_network:
        return node_hostname, ""
    name = spec.hostname or (pod.metadata.name or "")[:HOSTNAME_LENGTH_MAX].rstrip("-.")
    domain = ""
    if spec.subdomain:
        domain = f"{spec.subdomain}.{pod.metadata.namespace}.svc.{config.cluster_domain}"
    return name, domain


def sandbox_spec(
    pod: Pod, attempt: int, config: KubeletConfig, directories: Directories, node_hostname: str
) -> SandboxSpec:
    """Return the specification of the pod's sandbox, by what its spec alone says.

    Raises ``HostnameTooLong``.
    """
    spec = pod.spec
    hostname, domain = hostname_and_domain(pod, config, node_hostname)
    if spec.set_hostname_as_fqdn and domain:
        hostname = f"{hostname}.{domain}"
        if len(hostname) > FQDN_LENGTH_MAX:
            raise HostnameTooLong(
                f"failed to construct FQDN from pod hostname and cluster domain, FQDN {hostname} is too long "
                f"({FQDN_LENGTH_MAX} characters is the max, {len(hostname)} characters requested)"
            )
    context = spec.security_context
    sysctls = {sysctl.name: sysctl.value for sysctl in context.sysctls} if context is not None else {}
    return SandboxSpec(
        pod_uid=pod.metadata.uid or "",
        pod_name=pod.metadata.name or "",
        pod_namespace=pod.metadata.namespace or "",
        attempt=attempt,
        hostname=hostname,
        domainname=domain,
        log_directory=directories.pod_logs(pod),
        cgroup_parent=cgroup_parent(pod, config),
        resources=pod_resources(spec, config),
        namespaces=NamespaceOptions(
            host_network=bool(spec.host_network),
            host_pid=bool(spec.host_pid),
            host_ipc=bool(spec.host_ipc),
            share_processes=bool(spec.share_process_namespace),
        ),
        port_mappings=_port_mappings(pod),
        sysctls=sysctls,
        labels=pod_labels(pod),
        annotations=dict(pod.metadata.annotations),
    )


def _port_mappings(pod: Pod) -> tuple[PortMapping, ...]:
    if pod.spec.host_network:
        return ()
    containers = (*filter(is_sidecar, pod.spec.init_containers), *pod.spec.containers)
    return tuple(
        PortMapping(
            container_port=port.container_port,
            host_port=port.host_port,
            protocol=port.protocol or "TCP",
            host_ip=port.host_ip or "",
        )
        for container in containers
        for port in container.ports
        if port.host_port
    )
