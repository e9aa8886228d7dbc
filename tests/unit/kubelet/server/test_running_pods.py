"""The pods that run according to the runtime."""

from __future__ import annotations

from podling.kubelet.server.running_pods import running_pods
from tests.unit.kubelet.server.served_kubelet import one_pod


async def test_running_containers_are_listed_by_pod() -> None:
    source = await one_pod()
    (found,) = await running_pods(source.runtime)
    identity = found.metadata.namespace, found.metadata.name, found.metadata.uid
    assert identity == ("default", "web", "uid-1")
    assert [container.name for container in found.spec.containers] == ["app"]
    await source.runtime.stop_sandbox(source.sandbox)
    assert await running_pods(source.runtime) == ()
