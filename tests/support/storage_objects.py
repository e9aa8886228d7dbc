"""One valid object of each kind of storage."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)

VALID: dict[type[Any], dict[str, Any]] = {
    PersistentVolumeClaim: {
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
    PersistentVolume: {
        "metadata": {"name": "x"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "csi.example.com", "volumeHandle": "v"},
        },
    },
    StorageClass: {"metadata": {"name": "x"}, "provisioner": "csi.example.com"},
    VolumeAttributesClass: {
        "metadata": {"name": "x"},
        "driverName": "csi.example.com",
        "parameters": {"iops": "1"},
    },
    CSIDriver: {"metadata": {"name": "csi.example.com"}, "spec": {}},
    CSINode: {
        "metadata": {"name": "n"},
        "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n"}]},
    },
    CSIStorageCapacity: {"metadata": {"name": "x", "namespace": "default"}, "storageClassName": "fast"},
    VolumeAttachment: {
        "metadata": {"name": "x"},
        "spec": {
            "attacher": "csi.example.com",
            "nodeName": "n",
            "source": {"persistentVolumeName": "v"},
        },
    },
}
