"""APIServices for what this server answers itself: ``v1.``, ``v1.apps``, one for each group of definitions.

They change nothing: requests are ours with or without them. They show, where people look for it, what is
served and by whom. One that is deleted comes back; one of a definition goes with it.
Upstream: ``kube-aggregator/pkg/controllers/autoregister``, ``kube-apiserver/app/aggregator.go`` (priorities).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apiregistration_v1 import APIService, APIServiceSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.aggregation.local_apis import PRIORITY
from podling.apiserver.background_tasks import changed, keep_at
from podling.apiserver.customresources.catalogue import Catalogue
from podling.apiserver.http.discovery import GROUP_PRIORITIES, OTHER_GROUPS
from podling.client.local import LocalClient
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.scheme import group_versions

CHECK_SECONDS = 5.0
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
ON_START, ALWAYS = "onstart", "true"
_CUSTOM = 1000
_UNREGISTERED = "apiregistration.k8s.io"
"""The group of APIServices themselves, which has none."""

GroupVersion = tuple[str, str]


def service(group: str, version: str, *, priority: int, rank: int, managed: str) -> APIService:
    metadata = ObjectMeta(name=f"{version}.{group}", labels={MANAGED: managed})
    spec = APIServiceSpec(
        group=group, version=version, group_priority_minimum=priority, version_priority=rank
    )
    return APIService(metadata=metadata, spec=spec)


def built_in() -> Iterator[APIService]:
    """Yield the APIServices of every cluster."""
    for group, versions in group_versions().items():
        if group == _UNREGISTERED:
            continue
        for place, version in enumerate(reversed(versions)):
            rank = 1 if not group else 15 * (place + 1)
            priority = GROUP_PRIORITIES.get(group, OTHER_GROUPS)
            yield service(group, version, priority=priority, rank=rank, managed=ON_START)


def of_definitions(served: Iterable[GroupVersion]) -> dict[str, APIService]:
    """One for each group and version that definitions add, by its name."""
    made = (service(*each, priority=_CUSTOM, rank=100, managed=ALWAYS) for each in dict.fromkeys(served))
    return {each.metadata.name or "": each for each in made}


def of_local_apis(served: Iterable[GroupVersion]) -> dict[str, APIService]:
    """One for each API that we answer unless another server does, by its name."""
    made = (service(*each, priority=PRIORITY, rank=PRIORITY, managed=ON_START) for each in served)
    return {each.metadata.name or "": each for each in made}


class Registration:
    """Keeps the APIServices of one server, until cancelled or its store closes."""

    def __init__(
        self, client: LocalClient, catalogue: Catalogue, local: Callable[[], Iterable[GroupVersion]] = tuple
    ) -> None:
        self._client, self._catalogue, self._local = client, catalogue, local
        self._own = {each.metadata.name or "": each for each in built_in()}

    async def run(self) -> None:
        await keep_at(self._look_and_wait, "our own APIServices", seconds=CHECK_SECONDS)

    async def _look_and_wait(self) -> None:
        version = await self.look()
        kinds = (APIService, CustomResourceDefinition)
        await clock.first_of(*(changed(self._client, each, version, within=None) for each in kinds))
        await clock.sleep_until_round(CHECK_SECONDS)  # many definitions change at a time

    async def look(self) -> str:
        """Create what is missing, and delete what belongs to definitions that are gone.

        Returns the resource version of the APIServices that were there.
        """
        served = [(each.group, each.version) for each in self._catalogue.resources()]
        wanted = {**of_definitions(served), **self._own, **of_local_apis(self._local())}
        listing = await self._client.list(APIService)
        found = listing.items
        there = {each.metadata.name for each in found}
        for name, each in wanted.items():
            if name not in there:
                await self._create(each)
                await clock.sleep(0)  # others get a turn
        for each in found:
            if each.metadata.labels.get(MANAGED) == ALWAYS and each.metadata.name not in wanted:
                await self._delete(each)
        return listing.resource_version

    async def _create(self, wanted: APIService) -> None:
        try:
            await self._client.create(wanted)
        except ApiError as error:
            if not is_already_exists(error):
                raise

    async def _delete(self, gone: APIService) -> None:
        with unless_gone():
            await self._client.delete(APIService, gone.metadata.name or "", uid=gone.metadata.uid or "")
