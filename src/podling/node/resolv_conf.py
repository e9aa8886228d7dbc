"""The machine's ``resolv.conf`` as pods and cluster DNS need it.

On a machine with systemd-resolved ``/etc/resolv.conf`` names only its stub on the loopback address, which no
pod reaches. The servers behind it are in a file of its own, which kubeadm gives the kubelet in this case.
"""

from __future__ import annotations

from pathlib import Path

RESOLV_CONF = Path("/etc/resolv.conf")
RESOLVED = Path("/run/systemd/resolve/resolv.conf")
STUB = "127.0.0.53"


def resolv_conf_path(usual: Path = RESOLV_CONF, resolved: Path = RESOLVED) -> Path:
    """Return the file with the servers that the machine really queries."""
    try:
        rows = [line.split() for line in usual.read_text(errors="replace").splitlines()]
    except OSError:
        return usual
    servers = [row[1] for row in rows if len(row) > 1 and row[0] == "nameserver"]
    return resolved if servers and set(servers) == {STUB} and resolved.is_file() else usual
