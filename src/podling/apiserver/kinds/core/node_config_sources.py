"""Validation of the config sources of nodes: kubelets ignore them, but Kubernetes checks them.

Upstream: ``validateNodeConfigSourceSpec`` and ``validateNodeConfigStatus`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import ConfigMapNodeConfigSource, Node, NodeConfigSource
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path


def config_source_errors(node: Node) -> Errors:
    errors: Errors = []
    if node.spec.config_source is not None:
        errors += _source_errors(Path("spec.configSource"), node.spec.config_source, in_status=False)
    found = node.status.config
    if found is None:
        return errors
    for name, source in (
        ("assigned", found.assigned),
        ("active", found.active),
        ("lastKnownGood", found.last_known_good),
    ):
        if source is not None:
            errors += _source_errors(Path("status.config").child(name), source, in_status=True)
    return errors


def _source_errors(path: Path, source: NodeConfigSource, *, in_status: bool) -> Errors:
    if source.config_map is None:
        return [fields.invalid(path, source, "exactly one reference subfield must be non-nil")]
    return _config_map_errors(path.child("configMap"), source.config_map, in_status=in_status)


def _config_map_errors(path: Path, source: ConfigMapNodeConfigSource, *, in_status: bool) -> Errors:
    """Return the errors in a ConfigMap reference. Its UID and resource version are set only in the status."""
    errors: Errors = []
    for name, value in (("uid", source.uid), ("resourceVersion", source.resource_version)):
        where = path.child(name)
        if in_status and not value:
            errors.append(fields.required(where, f"{name} must be set in status"))
        elif value and not in_status:
            errors.append(fields.forbidden(where, f"{name} must not be set in spec"))
    for name, value, check in (
        ("namespace", source.namespace, names.dns_label_errors),
        ("name", source.name, names.dns_subdomain_errors),
        ("kubeletConfigKey", source.kubelet_config_key, names.config_map_key_errors),
    ):
        where = path.child(name)
        errors += [] if value else [fields.required(where, f"{name} must be set")]
        errors += fields.invalid_each(where, value, check(value)) if value else []
    return errors
