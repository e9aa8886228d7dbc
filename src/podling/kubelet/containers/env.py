"""A container's environment: literal values, references, and whole ConfigMaps and Secrets.

Later entries win over earlier ones and may use them by ``$(NAME)``: first the services' variables, then
``envFrom`` in order, then ``env`` in order. A reference that is missing and not optional fails the
container with Kubernetes' message (``kubelet_pods.go`` makeEnvironmentVariables).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from podling.api.core_v1 import (
    ConfigMap,
    ConfigMapKeySelector,
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    Pod,
    Secret,
    SecretKeySelector,
)
from podling.kubelet.containers.env_file import read_env_file
from podling.kubelet.downward import field_value, resource_value
from podling.kubelet.expansion import expand
from podling.kubelet.failures import MissingReference
from podling.kubelet.pod_spec import find_container
from podling.kubelet.references import References


class EnvFacts(Struct, frozen=True):
    """Sources of values other than the API: addresses, the node, services, directories of volumes."""

    host_ips: tuple[str, ...] = ()
    pod_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, Path] = field(default_factory=dict)
    """The directories of the pod's volumes on the node, by name."""


async def environment(
    pod: Pod, container: Container, references: References, facts: EnvFacts
) -> dict[str, str]:
    """Return every variable of ``container``, in order. Raises ``MissingReference``."""
    result: dict[str, str] = {}
    for source in container.env_from:
        for name, value in (await _whole_source(pod, source, references)).items():
            result[f"{source.prefix or ''}{name}"] = value
    for variable in container.env:
        found = await _variable(pod, container, variable, result, references, facts)
        if found is not None:
            result[variable.name] = found
    return {**{name: value for name, value in facts.services.items() if name not in result}, **result}


async def _whole_source(pod: Pod, source: EnvFromSource, references: References) -> Mapping[str, str]:
    namespace = pod.metadata.namespace or ""
    if source.config_map_ref is not None:
        ref = source.config_map_ref
        config_map = await references.config_map(namespace, ref.name or "", optional=bool(ref.optional))
        return config_map.data if config_map is not None else {}
    if source.secret_ref is not None:
        secret_ref = source.secret_ref
        secret = await references.secret(namespace, secret_ref.name or "", optional=bool(secret_ref.optional))
        return {name: _text(value) for name, value in secret.data.items()} if secret is not None else {}
    return {}


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode(errors="surrogateescape")


async def _variable(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    so_far: Mapping[str, str],
    references: References,
    facts: EnvFacts,
) -> str | None:
    """Return one variable's value; None if it comes from an optional reference that is missing."""
    source = variable.value_from
    if variable.value or source is None:
        return expand(variable.value or "", so_far, facts.services)
    if source.field_ref is not None:
        return field_value(pod, source.field_ref.field_path, host_ips=facts.host_ips, pod_ips=facts.pod_ips)
    if source.resource_field_ref is not None:
        name = source.resource_field_ref.container_name or container.name
        subject = find_container(pod.spec, name) or container
        return resource_value(pod, subject, source.resource_field_ref, facts.allocatable)
    if source.file_key_ref is not None:
        file_ref = source.file_key_ref
        directory = facts.volumes.get(file_ref.volume_name)
        return await read_env_file(pod.metadata.uid or "", directory, file_ref)
    return await _from_key(pod, source, references)


async def _from_key(pod: Pod, source: EnvVarSource, references: References) -> str | None:
    namespace = pod.metadata.namespace or ""
    if source.config_map_key_ref is not None:
        ref = source.config_map_key_ref
        config_map = await references.config_map(namespace, ref.name or "", optional=bool(ref.optional))
        return _value(config_map, ref, f"ConfigMap {namespace}")
    if source.secret_key_ref is not None:
        secret_ref = source.secret_key_ref
        secret = await references.secret(namespace, secret_ref.name or "", optional=bool(secret_ref.optional))
        found = _value(secret, secret_ref, f"Secret {namespace}")
        return None if found is None else _text(found)
    return ""


def _value(
    source: ConfigMap | Secret | None, ref: ConfigMapKeySelector | SecretKeySelector, where: str
) -> str | None:
    """Return the value of the key; None if it is missing and optional. Raises ``MissingReference``."""
    found = source.data.get(ref.key) if source is not None else None
    if found is None and not ref.optional:
        raise MissingReference(f"couldn't find key {ref.key} in {where}/{ref.name}")
    return found
