"""Managed files of a pod."""

from __future__ import annotations

import os
from pathlib import Path

from podling.kubelet.containers import pod_files


def test_managed_file_is_compared_without_reading_it_whole(tmp_path: Path) -> None:
    """A container may write any amount into its ``/etc/hosts``."""
    hosts = tmp_path / "etc-hosts"
    hosts.touch()
    os.truncate(hosts, 1 << 40)
    pod_files._write_if_changed(hosts, "127.0.0.1 localhost\n")
    assert hosts.read_text() == "127.0.0.1 localhost\n"
