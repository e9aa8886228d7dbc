"""Environment variables of services."""

from __future__ import annotations

import msgspec

from podling.api.core_v1 import Pod, Service
from podling.kubelet.containers.service_links import service_variables

POD = msgspec.convert(
    {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "u-1",
            "labels": {"tier": "front"},
            "annotations": {"example.com/team": "blue"},
        },
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "robot",
            "containers": [
                {
                    "name": "app",
                    "resources": {
                        "limits": {"cpu": "1500m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
                        "requests": {"cpu": "250m", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi"},
                    },
                }
            ],
        },
    },
    Pod,
)


SERVICES = msgspec.convert(
    [
        {
            "metadata": {"name": "kubernetes", "namespace": "default"},
            "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443}]},
        },
        {
            "metadata": {"name": "my-db", "namespace": "default"},
            "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 5432}]},
        },
        {"metadata": {"name": "headless", "namespace": "default"}, "spec": {"clusterIP": "None"}},
        {
            "metadata": {"name": "far", "namespace": "other"},
            "spec": {"clusterIP": "10.96.0.8", "ports": [{"port": 80}]},
        },
    ],
    tuple[Service, ...],
)


def test_services_become_variables() -> None:
    found = service_variables(POD, SERVICES)
    assert found["MY_DB_SERVICE_HOST"] == "10.96.0.7"
    assert found["MY_DB_PORT_5432_TCP"] == "tcp://10.96.0.7:5432"
    assert found["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert not any(name.startswith(("HEADLESS", "FAR")) for name in found)


def test_without_service_links_only_kubernetes_remains() -> None:
    spec = msgspec.structs.replace(POD.spec, enable_service_links=False)
    found = service_variables(msgspec.structs.replace(POD, spec=spec), SERVICES)
    assert {name.split("_")[0] for name in found} == {"KUBERNETES"}
