"""The extension ``snapshots``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from podling.extensions.extension import Extension

if TYPE_CHECKING:
    from podling.api.apiextensions_v1 import CustomResourceDefinition
    from podling.controllers.base import ControllerFactory


class SnapshotExtension(Extension):
    """The kinds of ``snapshot.storage.k8s.io/v1``."""

    name: ClassVar[str] = "snapshots"

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        from podling.controllers.volumes.snapshots.kinds import DEFINITIONS

        return DEFINITIONS

    def objects(self) -> Sequence[Any]:
        from podling_snapshots.roles import roles

        return roles()

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from podling.controllers.volumes.snapshots.controller import SnapshotController

        return {SnapshotController.name: SnapshotController}
