"""An operator as its users write them, with kopf: a ``WebApp`` is a Deployment that outlives no WebApp.

Run by ``kopf run``; knows nothing of the tests but the names in the manifests.
"""

# The client takes plain data where its annotations say models.
# mypy: disable-error-code="arg-type"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kopf
import kubernetes

GROUP, VERSION, PLURAL = "example.com", "v1", "webapps"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.loggers = True
    settings.watching.server_timeout = 60
    settings.networking.error_backoffs = [0.1, 0.2, 0.5]


@kopf.on.create(GROUP, VERSION, PLURAL)
def create(
    body: kopf.Body, spec: Mapping[str, Any], name: str, namespace: str | None, patch: kopf.Patch, **_: Any
) -> dict[str, Any]:
    if spec.get("size", 0) > 100:
        raise kopf.PermanentError("too large")
    labels = {"app": name}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec["size"],
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }
    kopf.adopt(manifest, owner=body)
    kubernetes.client.AppsV1Api().create_namespaced_deployment(namespace, manifest)
    kopf.info(body, reason="Deployed", message=f"{spec['size']} wanted")
    patch.status["size"] = spec["size"]
    return {"deployment": name}


@kopf.on.update(GROUP, VERSION, PLURAL, field="spec.size")
def resize(old: int, new: int, name: str, namespace: str | None, patch: kopf.Patch, **_: Any) -> None:
    scale = {"spec": {"replicas": new}}
    kubernetes.client.AppsV1Api().patch_namespaced_deployment_scale(name, namespace, scale)
    patch.status["size"] = new
    patch.status["before"] = old


@kopf.on.resume(GROUP, VERSION, PLURAL)
def resume(status: Mapping[str, Any], patch: kopf.Patch, **_: Any) -> None:
    patch.status["resumed"] = status.get("resumed", 0) + 1


@kopf.on.delete(GROUP, VERSION, PLURAL)
def delete(name: str, namespace: str | None, spec: Mapping[str, Any], **_: Any) -> None:
    """Record the deletion in an object without an owner, which the garbage collector keeps."""
    metadata = {"name": f"gone-{name}", "labels": {"by": "operator"}}
    note = {"metadata": metadata, "data": {"size": str(spec["size"])}}
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, note)
