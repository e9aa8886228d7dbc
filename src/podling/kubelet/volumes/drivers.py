"""The messages for volumes that need a driver of their vendor, which this kubelet does not have. Pure.

Upstream: ``pkg/volume/csi``, ``pkg/kubelet/volumemanager/populator``.
"""

from __future__ import annotations


def csi_failure(driver: str) -> str:
    """Return the message for a volume of a CSI driver: no driver can register with this kubelet."""
    return (
        "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name "
        f"{driver} not found in the list of registered CSI drivers"
    )


def no_plugin(volume: str) -> str:
    """Return the message for a volume of a kind that no plugin handles."""
    return f'failed to get Plugin from volumeSpec for volume "{volume}" err=no volume plugin matched'
