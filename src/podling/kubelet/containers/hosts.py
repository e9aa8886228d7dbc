"""The pod's ``/etc/hosts``: written by the kubelet, the same for all containers of the pod. Pure.

A pod on the host's network sees the host's own file instead, with its aliases added
(``kubelet_pods.go`` managedHostsFileContent).
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import HostAlias

HEADER = "# Kubernetes-managed hosts file.\n"
HOST_NETWORK_HEADER = "# Kubernetes-managed hosts file (host network).\n"
_LOCAL = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


def hosts_content(pod_ips: Sequence[str], hostname: str, domain: str, aliases: Sequence[HostAlias]) -> str:
    """Return the file of a pod with a network of its own. ``domain`` is empty without a subdomain."""
    lines = [HEADER, _LOCAL]
    for address in pod_ips:
        names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
        lines.append(f"{address}\t{names}\n")
    return "".join(lines) + aliases_content(aliases)


def host_network_content(host_file: str, aliases: Sequence[HostAlias]) -> str:
    """Return the file of a pod on the host's network; ``host_file`` is the host's own."""
    return HOST_NETWORK_HEADER + host_file + aliases_content(aliases)


def aliases_content(aliases: Sequence[HostAlias]) -> str:
    if not aliases:
        return ""
    lines = ["\n# Entries added by HostAliases.\n"]
    lines += [alias.ip + "\t" + "\t".join(alias.hostnames) + "\n" for alias in aliases]
    return "".join(lines)
