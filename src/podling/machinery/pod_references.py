"""The API objects that a pod's spec refers to.

The node authorizer lets a node read what its pods name; static pods and their mirrors may name nothing.

Upstream: ``pkg/api/pod/util.go`` (``VisitPodSecretNames``, ``VisitPodConfigmapNames``,
``HasAPIObjectReference``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from podling.api.core_v1 import Container, EphemeralContainer, Pod, Volume

SECRETS, CONFIG_MAPS, CLAIMS = "secrets", "configmaps", "persistentvolumeclaims"

Reference = tuple[str, str, str]
"""(resource, namespace, name)"""


def api_object_reference(pod: Pod) -> str:
    """Return the resource of the first API object that ``pod`` needs, empty if it needs none.

    The result is the text that Kubernetes puts behind ``static pods may not reference``.
    """
    named = {resource for resource, _, _ in named_in(pod)}
    for resource in ("serviceaccounts", SECRETS, CONFIG_MAPS):
        if resource in named:
            return resource
    if pod.spec.resource_claims:
        return "resourceclaims"
    return next((found for volume in pod.spec.volumes if (found := _object_of_volume(volume))), "")


def _object_of_volume(volume: Volume) -> str:
    if volume.csi is not None:
        return "csidrivers (via CSI volumes)"
    if volume.glusterfs is not None:
        return "endpoints (via glusterFS volumes)"
    if volume.persistent_volume_claim is not None:
        return CLAIMS
    if volume.ephemeral is not None:
        return f"{CLAIMS} (via ephemeral volumes)"
    for source in volume.projected.sources if volume.projected is not None else ():
        if source.service_account_token is not None:
            return "serviceaccounts (via projected volumes)"
        if source.cluster_trust_bundle is not None:
            return "clustertrustbundles"
        if source.pod_certificate is not None:
            return "podcertificates"
    return ""


def named_in(pod: Pod) -> Iterator[Reference]:
    """Yield every object that ``pod`` names and its node reads."""
    namespace, name, spec = pod.metadata.namespace or "", pod.metadata.name or "", pod.spec
    if spec.service_account_name:
        yield "serviceaccounts", namespace, spec.service_account_name
    yield from ((SECRETS, namespace, each.name) for each in spec.image_pull_secrets if each.name)
    for volume in spec.volumes:
        yield from ((resource, namespace, each) for resource, each in _of_volume(volume, name) if each)
    yield from named_by_variables(pod)


def named_by_volumes(pod: Pod, volumes: Set[str]) -> Iterator[Reference]:
    """Yield the objects that the pod's volumes of these names refer to."""
    namespace, name = pod.metadata.namespace or "", pod.metadata.name or ""
    for volume in pod.spec.volumes:
        if volume.name in volumes:
            yield from ((resource, namespace, each) for resource, each in _of_volume(volume, name) if each)


def named_by_variables(pod: Pod) -> Iterator[Reference]:
    """Yield the objects that the variables of the pod's containers refer to."""
    namespace, spec = pod.metadata.namespace or "", pod.spec
    containers: list[Container | EphemeralContainer] = [*spec.init_containers, *spec.containers]
    for container in (*containers, *spec.ephemeral_containers):
        yield from ((resource, namespace, each) for resource, each in _of_container(container) if each)


def _of_volume(volume: Volume, pod: str) -> Iterator[tuple[str, str]]:
    if volume.secret is not None:
        yield SECRETS, volume.secret.secret_name
    if volume.config_map is not None:
        yield CONFIG_MAPS, volume.config_map.name
    if volume.persistent_volume_claim is not None:
        yield CLAIMS, volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        yield CLAIMS, f"{pod}-{volume.name}"
    if volume.csi is not None and volume.csi.node_publish_secret_ref is not None:
        yield SECRETS, volume.csi.node_publish_secret_ref.name
    if volume.azure_file is not None:
        yield SECRETS, volume.azure_file.secret_name
    for storage in (volume.cephfs, volume.cinder, volume.flex_volume, volume.iscsi, volume.rbd):
        if storage is not None and storage.secret_ref is not None:
            yield SECRETS, storage.secret_ref.name
    for other in (volume.scale_io, volume.storageos):
        if other is not None and other.secret_ref is not None:
            yield SECRETS, other.secret_ref.name
    for source in volume.projected.sources if volume.projected is not None else ():
        if source.secret is not None:
            yield SECRETS, source.secret.name
        if source.config_map is not None:
            yield CONFIG_MAPS, source.config_map.name


def _of_container(container: Container | EphemeralContainer) -> Iterable[tuple[str, str]]:
    for source in container.env_from:
        if source.secret_ref is not None:
            yield SECRETS, source.secret_ref.name
        if source.config_map_ref is not None:
            yield CONFIG_MAPS, source.config_map_ref.name
    for variable in container.env:
        found = variable.value_from
        if found is not None and found.secret_key_ref is not None:
            yield SECRETS, found.secret_key_ref.name
        if found is not None and found.config_map_key_ref is not None:
            yield CONFIG_MAPS, found.config_map_key_ref.name
