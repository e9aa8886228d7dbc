"""What the parts of pod validation need to know of the pod beside the value they look at."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from podling.api.core_v1 import Container, EphemeralContainer, PodSpec, Volume
from podling.machinery.fields import Path

AnyContainer = Container | EphemeralContainer


class PodScope(Struct):
    """One pod spec under validation.

    ``volumes`` are those that were found valid, by name: what mounts may refer to. ``pod_name`` is
    empty for templates. A template may leave out what only a real pod must have (``is_pod``).
    """

    spec: PodSpec
    is_pod: bool = False
    is_kept: bool = False
    """Whether it is there already: what newer rules refuse may stay."""
    pod_name: str = ""
    volumes: dict[str, Volume] = {}
    windows_options: bool = False
    """Whether a security context was met that has any."""
    reads_files: bool = False
    """Whether a variable was met that comes from a file of a volume."""

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
    """Every container of every sort with its path, in the order in which Kubernetes visits them."""
    for position, container in enumerate(spec.init_containers):
        yield container, path.child("initContainers").index(position)
    for position, container in enumerate(spec.containers):
        yield container, path.child("containers").index(position)
    for position, ephemeral in enumerate(spec.ephemeral_containers):
        yield ephemeral, path.child("ephemeralContainers").index(position)
