"""ServiceAccount: every pod acts as some account, which must exist, and gets its token mounted.

The token, the cluster's CA certificate and the namespace come in one projected volume, so the token is
bound to the pod and renewed by the kubelet.

Upstream: ``plugin/pkg/admission/serviceaccount``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling import clock, ids
from podling.api.core_v1 import (
    ConfigMapProjection,
    Container,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    KeyToPath,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    ProjectedVolumeSource,
    ServiceAccount,
    ServiceAccountTokenProjection,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.admission.mountable_secrets import (
    foreign_secrets,
    foreign_secrets_of_debuggers,
    is_limited,
)
from podling.apiserver.kinds.common.filling import change, map_items
from podling.machinery.errors import ApiError
from podling.machinery.pods import is_mirror
from podling.machinery.scheme import Resource

DEFAULT_ACCOUNT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
ROOT_CA = "kube-root-ca.crt"
"""The ConfigMap in every namespace that holds the cluster's CA certificate."""

TOKEN_SECONDS = 3607
"""An hour and seven seconds: the odd number identifies default tokens among those that pods request."""

ATTEMPTS = 10
"""Number of look-ups of the default account: a controller creates it soon after its namespace."""


class ServiceAccountAdmission(Plugin):
    name = "ServiceAccount"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if (resource.group, resource.plural) != ("", "pods"):
            return False
        if subresource:
            return operation is Operation.UPDATE and subresource == "ephemeralcontainers"
        return operation is Operation.CREATE

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        pod: Pod = request.object
        if request.subresource or is_mirror(pod):
            return pod
        name = pod.spec.service_account_name or DEFAULT_ACCOUNT
        account = await _find(objects, name, request.namespace)
        if account is None:
            raise _no_account(request, name)
        spec = change(pod.spec, service_account_name=name, service_account=name)
        if automounts(account, spec):
            spec = _with_token(spec)
        if not spec.image_pull_secrets and account.image_pull_secrets:
            spec = change(spec, image_pull_secrets=account.image_pull_secrets)
        if is_limited(account):
            _refuse(request, foreign_secrets(account, spec))
        return change(pod, spec=spec)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        pod: Pod = request.object
        if request.subresource:
            _check_debuggers(request, objects)
            return
        if not is_mirror(pod):
            return
        if pod.spec.service_account_name:
            raise request.forbidden("a mirror pod may not reference service accounts")
        if _refers_to_secrets(pod.spec):
            raise request.forbidden("a mirror pod may not reference secrets")
        if any(
            source.service_account_token
            for volume in pod.spec.volumes
            for source in (volume.projected.sources if volume.projected else ())
        ):
            raise request.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _check_debuggers(request: AdmissionRequest, objects: Objects) -> None:
    spec = request.object.spec
    name = spec.service_account_name or ""
    if not name:
        pod = request.object.metadata.name
        raise request.forbidden(f"no service account specified for pod {request.namespace}/{pod}")
    account = objects.get(ServiceAccount, name, request.namespace)
    if account is None:
        raise _no_account(request, name)
    if is_limited(account):
        _refuse(request, foreign_secrets_of_debuggers(account, spec))


def _refuse(request: AdmissionRequest, problems: Iterator[str]) -> None:
    """Raise the first problem, if there is one."""
    for problem in problems:
        raise request.forbidden(problem)


def _no_account(request: AdmissionRequest, name: str) -> ApiError:
    return request.forbidden(
        f'error looking up service account {request.namespace}/{name}: serviceaccount "{name}" not found'
    )


async def _find(objects: Objects, name: str, namespace: str) -> ServiceAccount | None:
    attempts = ATTEMPTS if name == DEFAULT_ACCOUNT else 1
    for attempt in range(attempts):
        if attempt:
            await clock.machine_sleep(ids.uniform(0.1, 0.2))
        account = objects.get(ServiceAccount, name, namespace)
        if account is not None:
            return account
    return None


def automounts(account: ServiceAccount, spec: PodSpec) -> bool:
    """Return whether the pod gets the token: by its own field, else by the account's; the default is true."""
    own = spec.automount_service_account_token
    if own is None:
        own = account.automount_service_account_token
    return own is not False


def _with_token(spec: PodSpec) -> PodSpec:
    """``spec`` with the token in every container that has nothing of its own in the place."""
    present = [
        volume for volume in spec.volumes if volume.name.startswith(VOLUME_PREFIX) and volume.projected
    ]
    name = present[0].name if present else VOLUME_PREFIX + ids.suffix(5)
    mount = VolumeMount(name=name, mount_path=MOUNT_PATH, read_only=True)

    def mounted(container: Container) -> Container:
        if any(each.mount_path == MOUNT_PATH for each in container.volume_mounts):
            return container
        return change(container, volume_mounts=(*container.volume_mounts, mount))

    changed = change(
        spec,
        init_containers=map_items(spec.init_containers, mounted),
        containers=map_items(spec.containers, mounted),
    )
    if changed is spec or present:
        return changed
    return change(changed, volumes=(*spec.volumes, token_volume(name)))


def token_volume(name: str) -> Volume:
    """Return the projected volume with everything a client in the pod needs."""
    namespace = DownwardAPIVolumeFile(
        path="namespace", field_ref=ObjectFieldSelector(api_version="v1", field_path="metadata.namespace")
    )
    sources = (
        VolumeProjection(
            service_account_token=ServiceAccountTokenProjection(
                path="token", expiration_seconds=TOKEN_SECONDS
            )
        ),
        VolumeProjection(
            config_map=ConfigMapProjection(name=ROOT_CA, items=(KeyToPath(key="ca.crt", path="ca.crt"),))
        ),
        VolumeProjection(downward_api=DownwardAPIProjection(items=(namespace,))),
    )
    return Volume(name=name, projected=ProjectedVolumeSource(sources=sources, default_mode=0o644))


def _refers_to_secrets(spec: PodSpec) -> bool:
    if any(volume.secret for volume in spec.volumes) or spec.image_pull_secrets:
        return True
    return any(
        any(source.secret_ref for source in container.env_from)
        or any(variable.value_from and variable.value_from.secret_key_ref for variable in container.env)
        for container in (*spec.init_containers, *spec.containers)
    )
