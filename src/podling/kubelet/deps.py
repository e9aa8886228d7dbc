"""What a kubelet works with: everything it needs is handed to it, nothing is made behind its back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from podling.api.core_v1 import Pod
from podling.client.base import Client
from podling.client.events import Regarding
from podling.kubelet.config import KubeletConfig
from podling.runtime.base import Runtime


class Recorder(Protocol):
    """Where events are told (``client.events.EventRecorder``)."""

    def event(
        self, obj: Regarding, type: str, reason: str, message: str, *, field_path: str = ""
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class KubeletDeps:
    """A kubelet's collaborators. The runtime is started and closed by whoever made it."""

    client: Client
    runtime: Runtime
    recorder: Recorder
    root_dir: Path
    node_name: str
    config: KubeletConfig
    complete_pod: Callable[[Pod], Pod]
    """Returns a static pod with the API's defaults. Raises ``ValueError`` where the API would refuse it."""
