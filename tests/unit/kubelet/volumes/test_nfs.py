"""NFS volumes: the command that mounts them, and its failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import NFSVolumeSource
from podling.kubelet.volumes import nfs


@pytest.mark.parametrize(
    ("source", "options", "share", "given"),
    [
        ({"server": "files.example.com", "path": "/a"}, (), "files.example.com:/a", ()),
        ({"server": "fd00::1", "path": "/a", "readOnly": True}, (), "[fd00::1]:/a", ("ro",)),
        ({"server": "10.0.0.1", "path": "/a"}, ("vers=4",), "10.0.0.1:/a", ("vers=4",)),
    ],
)
def test_share_is_mounted_with_its_options(
    monkeypatch: pytest.MonkeyPatch,
    source: dict[str, Any],
    options: tuple[str, ...],
    share: str,
    given: tuple[str, ...],
) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(nfs, "mount", lambda *arguments: calls.append(arguments))
    wanted = NFSVolumeSource(
        server=source["server"], path=source["path"], read_only=source.get("readOnly", False)
    )
    nfs.mount_share(wanted, Path("/target"), options)
    assert calls == [("nfs", share, Path("/target"), given)]
