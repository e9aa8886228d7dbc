"""Steps before a node starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cli.common_options import Failure
from podling.cli.node_start import refuse_joined
from podling.cluster.directory import DataDirectory
from podling.cluster.joined import settings as joined_settings
from podling.cluster.joined.settings import JoinedSettings


def test_directory_of_a_joined_node_runs_no_cluster(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    refuse_joined(directory)
    joined_settings.write(directory, JoinedSettings(server="https://192.0.2.1:6443", node_name="n1"))
    with pytest.raises(Failure, match="is the directory of node n1 of the cluster at"):
        refuse_joined(directory)
