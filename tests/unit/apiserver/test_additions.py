"""Definitions and objects that extensions add to a server, at its first start and at later ones."""

from __future__ import annotations

from msgspec import structs

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, PolicyRule
from podling.apiserver.additions import Additions
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.machinery.encoding.custom import is_established
from podling.store.memory import MemoryStore
from tests.support.custom_resources import definition

RULE = PolicyRule(api_groups=("example.com",), resources=("widgets",), verbs=("get",))
ROLE = ClusterRole(metadata=ObjectMeta(name="widgets-view"), rules=(RULE,))


async def test_definitions_are_served_from_the_start_and_follow_the_extension() -> None:
    store = MemoryStore()
    first = definition()
    server = ApiServer(store, plugins_without_controllers(), additions=Additions((first,), (ROLE,)))
    await server.start()
    stored = await server.client().get(CustomResourceDefinition, "widgets.example.com")
    assert is_established(stored)
    assert server.catalogue.by_path("example.com", "v1", "widgets") is not None
    assert (await server.client().get(ClusterRole, "widgets-view")).rules == (RULE,)
    await server.stop()

    names = structs.replace(first.spec.names, categories=("all",))
    newer = structs.replace(first, spec=structs.replace(first.spec, names=names))
    later = ApiServer(store, plugins_without_controllers(), additions=Additions((newer,), (ROLE,)))
    await later.start()
    found = later.catalogue.by_path("example.com", "v1", "widgets")
    assert found is not None
    assert found.categories == ("all",)
    await later.stop()


async def test_unchanged_definition_is_not_written_again() -> None:
    store, additions = MemoryStore(), Additions((definition(),), (ROLE,))
    revisions = []
    for _ in range(2):
        server = ApiServer(store, plugins_without_controllers(), additions=additions)
        await server.start()
        stored = await server.client().get(CustomResourceDefinition, "widgets.example.com")
        revisions.append(stored.metadata.resource_version)
        await server.stop()
    assert revisions[0] == revisions[1]
    await store.close()
