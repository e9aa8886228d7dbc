"""Loop devices that a disk image is left with."""

from __future__ import annotations

import subprocess
from pathlib import Path


def lasting_devices(image: Path) -> tuple[str, ...]:
    """Return the loop devices of ``image`` that stay: mounted here, or not detached with their last use.

    Other mount namespaces of this machine may have copied a mount: that of ``ip netns exec`` in another test,
    or of a container while it starts. They keep its device until they end, and the kernel detaches it then.
    """
    command = ["losetup", "--associated", str(image), "--noheadings", "--output", "NAME,AUTOCLEAR"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    devices = dict(line.split() for line in output.splitlines())
    mounted = {line.split()[0] for line in Path("/proc/self/mounts").read_text().splitlines()}
    return tuple(name for name, autoclear in devices.items() if autoclear == "0" or name in mounted)
