"""``PodScope``: data about the whole pod for the validation of its parts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from podling.api.core_v1 import Container, EphemeralContainer, PodSpec, Volume
from podling.machinery.fields import Path

AnyContainer = Container | EphemeralContainer


class PodScope(Struct):
    """One pod spec under validation.

    ``volumes`` are the valid volumes by name, which mounts may refer to. ``pod_name`` is empty for templates.
    A template may omit fields that only a real pod requires (``is_pod``).
    """

    spec: PodSpec
    is_pod: bool = False
    is_stored: bool = False
    """True if the pod is stored: newer rules do not apply to its fields."""
    pod_name: str = ""
    volumes: dict[str, Volume] = {}
    windows_options: bool = False
    """Set to True by a security context with Windows options."""
    reads_files: bool = False
    """Set to True by a variable from a file on a volume."""

    @property
    def grace_seconds(self) -> int | None:
        return self.spec.termination_grace_period_seconds

    @property
    def host_users(self) -> bool:
        return self.spec.host_users is not False

    @property
    def claim_names(self) -> frozenset[str]:
        return frozenset(claim.name for claim in self.spec.resource_claims if claim.name)


def each_container(spec: PodSpec, path: Path) -> Iterator[tuple[AnyContainer, Path]]:
    """Yield every container of every type with its path, in the order in which Kubernetes visits them."""
    for position, container in enumerate(spec.init_containers):
        yield container, path.child("initContainers").index(position)
    for position, container in enumerate(spec.containers):
        yield container, path.child("containers").index(position)
    for position, ephemeral in enumerate(spec.ephemeral_containers):
        yield ephemeral, path.child("ephemeralContainers").index(position)
