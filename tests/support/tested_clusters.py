"""Manifests and requests for tests of users' clusters (``podling.testing``)."""

from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path
from typing import Any

from podling.testing.clusters import Cluster

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
"""
SLOW = {"containers": {"default/*/*": {"startSeconds": 40}}}


def request(cluster: Cluster, path: str, certificate: Path | None = None) -> Any:
    """Return what the API server answers over HTTPS: an administrator, or the holder of a key pair (PEM)."""
    keys = cluster._thread.keys
    context = ssl.create_default_context(cadata=cluster.ca_pem.decode())
    if certificate is None:
        context.load_cert_chain(keys.admin.certificate, keys.admin.key)
    else:
        context.load_cert_chain(certificate)
    with urllib.request.urlopen(cluster.url + path, context=context, timeout=60) as response:
        return response.read()
