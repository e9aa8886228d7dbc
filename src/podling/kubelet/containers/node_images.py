"""The node's images, for controllers of extensions: ``node_controllers.NodeImages``."""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import Secret
from podling.kubelet.containers.images import ImageManager
from podling.kubelet.node_controllers import NodeImage, PullFailed
from podling.runtime.failures import ImageFailure, RuntimeFailure
from podling.runtime.image_service import Image


class ManagedImages:
    """``NodeImages`` over the kubelet's image manager."""

    def __init__(self, manager: ImageManager) -> None:
        self._manager = manager

    async def find(self, name: str) -> NodeImage | None:
        try:
            found = await self._manager.find(name)
        except (ImageFailure, RuntimeFailure) as error:
            raise PullFailed(str(error)) from error
        return None if found is None else _shown(found)

    async def pull(self, name: str, secrets: Sequence[Secret] = ()) -> NodeImage:
        try:
            return _shown(await self._manager.pull(name, secrets))
        except (ImageFailure, RuntimeFailure) as error:
            raise PullFailed(str(error)) from error


def _shown(image: Image) -> NodeImage:
    return NodeImage(id=image.id, is_local=image.local)
