"""Fixtures: a cluster with custom resource definitions that a test creates."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, definition


@pytest.fixture
def define(cluster: ControlPlane) -> Define:
    """Create a definition, wait until it is established, and return the type of its objects."""

    async def make(*arguments: Any, **options: Any) -> type[Any]:
        made = await cluster.client.create(definition(*arguments, **options))
        await clock.sleep(1)
        version = made.spec.versions[0].name
        found = cluster.server.catalogue.by_path(made.spec.group, version, made.spec.names.plural)
        assert found is not None, f"{made.metadata.name} is not served"
        return found.type

    return make
