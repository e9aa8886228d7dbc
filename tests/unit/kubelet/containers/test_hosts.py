"""The managed /etc/hosts file."""

from __future__ import annotations

from typing import Any

import msgspec

from podling.api.core_v1 import Pod
from podling.kubelet.containers.hosts import host_network_content, hosts_content


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


def test_hosts_file_lists_addresses_and_aliases() -> None:
    aliases = pod(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]).spec.host_aliases
    own = hosts_content(("10.0.0.1", "fd00::1"), "box", "", aliases)
    assert own.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert own.endswith("10.0.0.1\tbox\nfd00::1\tbox\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n")
    shared = host_network_content("127.0.0.1 localhost\n", ())
    assert shared == "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n"
