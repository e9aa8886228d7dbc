"""The images of a cluster, whether it runs or not.

When the cluster runs, one process owns the image store, so commands use its kubelet
(``kubelet.server.image_api``); otherwise this process takes the data directory's lock and opens the store
itself. Nodes of one cluster on one machine share one store: the images of one are those of all.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import msgspec

from podling.api.core_v1 import Node
from podling.cli.common_options import Failure
from podling.client.base import Unreachable
from podling.client.http import HttpClient
from podling.client.kubeconfig import load as load_kubeconfig
from podling.client.transport import ssl_context
from podling.cluster.directory import DataDirectory
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.identity import NodeIdentity
from podling.kubelet.server.image_api import Images, LoadRequest, PullRequest
from podling.machinery.errors import ApiError
from podling.runtime.base import Credentials, Image, ImageFailure

PULL_SECONDS = 1800.0


class ImageDoor(Protocol):
    """The part of ``ImageService`` that the commands use."""

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]: ...

    async def pull(self, name: str, credentials: Sequence[Credentials] = ()) -> Image: ...

    async def list_images(self) -> tuple[Image, ...]: ...

    async def remove_image(self, name: str) -> None: ...


@asynccontextmanager
async def images_of(directory: DataDirectory) -> AsyncIterator[ImageDoor]:
    """The way to a cluster's images. Raises ``Failure`` when there is none."""
    if directory.running_pid():
        joined = joined_settings.read(directory)
        if joined is not None:
            context = NodeIdentity(directory).client_context()
            url = await _own_kubelet(HttpClient(joined.server, context), joined.node_name)
        else:
            context = ssl_context(load_kubeconfig(directory.kubeconfig))
            url = await _local_kubelet(directory)
        timeout = aiohttp.ClientTimeout(total=PULL_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            yield KubeletImages(session, url, context)
        return
    from podling.runtime.images.store import ImageStore

    directory.create()
    with directory.locked():
        yield ImageStore(directory.images)


class KubeletImages:
    """``ImageDoor`` over a running node's kubelet."""

    def __init__(self, session: aiohttp.ClientSession, url: str, context: ssl.SSLContext) -> None:
        self._session = session
        self._url = url
        self._context = context

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]:
        return await self._ask("POST", "/images/load", LoadRequest(str(archive), tuple(names)))

    async def pull(self, name: str, credentials: Sequence[Credentials] = ()) -> Image:
        login = credentials[0] if credentials else Credentials()
        (image,) = await self._ask("POST", "/images/pull", PullRequest(name, login.username, login.password))
        return image

    async def list_images(self) -> tuple[Image, ...]:
        return await self._ask("GET", "/images")

    async def remove_image(self, name: str) -> None:
        await self._ask("DELETE", "/images", name=name)

    async def _ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[Image, ...]:
        data = msgspec.json.encode(body) if body is not None else None
        async with self._session.request(
            method, self._url + path, data=data, params=query, ssl=self._context
        ) as response:
            text = await response.read()
        try:
            answer = msgspec.json.decode(text, type=Images)
        except msgspec.DecodeError:
            answer = Images(error=text.decode(errors="replace") or f"the node answered {response.status}")
        if answer.error:
            raise ImageFailure(answer.error)
        return answer.images


async def _own_kubelet(client: HttpClient, node: str) -> str:
    """Return the address of the kubelet of a node that has joined from here."""
    try:
        return kubelet_url(await client.get(Node, node))
    except (ApiError, Unreachable) as error:
        raise Failure(f"the API server does not say where the kubelet is: {error}") from error
    finally:
        await client.close()


async def _local_kubelet(directory: DataDirectory) -> str:
    """Return the address of a kubelet of this machine: others have other images."""
    here = directory.node_names()
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        nodes = (await client.list(Node)).items
    finally:
        await client.close()
    for node in nodes:
        if node.metadata.name in here and (url := kubelet_url(node)):
            return url
    raise Failure("no node of this machine has a kubelet that answers; see: podling status")


def kubelet_url(node: Node) -> str:
    """Return the address of a node's kubelet, empty if it has no server."""
    port = node.status.daemon_endpoints.kubelet_endpoint.port
    address = next((item.address for item in node.status.addresses if item.type == "InternalIP"), "")
    host = f"[{address}]" if ":" in address else address
    return f"https://{host}:{port}" if port and address else ""
