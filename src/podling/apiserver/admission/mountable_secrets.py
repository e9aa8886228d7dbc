"""Accounts whose pods may use no secrets but those that the account lists.

Upstream: ``limitSecretReferences`` in ``plugin/pkg/admission/serviceaccount``.
"""

from __future__ import annotations

from collections.abc import Container as Names
from collections.abc import Iterator

from podling.api.core_v1 import Container, EphemeralContainer, PodSpec, ServiceAccount
from podling.apiserver.kinds.auth.service_accounts import MOUNTABLE_ONLY

_TRUE = ("1", "t", "T", "true", "TRUE", "True")


def is_limited(account: ServiceAccount) -> bool:
    annotations = account.metadata.annotations
    return bool(annotations) and annotations.get(MOUNTABLE_ONLY) in _TRUE


def foreign_secrets(account: ServiceAccount, spec: PodSpec) -> Iterator[str]:
    """Yield messages about the secrets that a pod refers to but its account does not list."""
    listed, unlisted = _listed(account), _unlisted(account)
    for volume in spec.volumes:
        if volume.secret is not None and volume.secret.secret_name not in listed:
            yield f'volume with secret.secretName="{volume.secret.secret_name}" {unlisted} secret'
    for container in spec.init_containers:
        yield from _of_container("init container", container, listed, unlisted)
    for container in spec.containers:
        yield from _of_container("container", container, listed, unlisted)
    pulled = {secret.name for secret in account.image_pull_secrets}
    for position, secret in enumerate(spec.image_pull_secrets):
        if secret.name not in pulled:
            yield f'imagePullSecrets[{position}].name="{secret.name}" {unlisted} imagePullSecret'


def foreign_secrets_of_debuggers(account: ServiceAccount, spec: PodSpec) -> Iterator[str]:
    """Yield the same of the containers that are added to a pod later."""
    for container in spec.ephemeral_containers:
        yield from _of_container("ephemeral container", container, _listed(account), _unlisted(account))


def _listed(account: ServiceAccount) -> set[str | None]:
    return {secret.name for secret in account.secrets}


def _unlisted(account: ServiceAccount) -> str:
    return f"is not allowed because service account {account.metadata.name} does not reference that"


def _of_container(
    kind: str, container: Container | EphemeralContainer, listed: Names[str | None], unlisted: str
) -> Iterator[str]:
    for variable in container.env:
        chosen = variable.value_from.secret_key_ref if variable.value_from is not None else None
        if chosen is not None and chosen.name not in listed:
            yield (
                f"{kind} {container.name} with envVar {variable.name} referencing "
                f'secret.secretName="{chosen.name}" {unlisted} secret'
            )
    for source in container.env_from:
        whole = source.secret_ref
        if whole is not None and whole.name not in listed:
            yield (
                f"{kind} {container.name} with envFrom referencing "
                f'secret.secretName="{whole.name}" {unlisted} secret'
            )
