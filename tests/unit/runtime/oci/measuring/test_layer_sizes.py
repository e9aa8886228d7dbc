"""Sizes of writable layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.oci.measuring.layer_sizes import LayerSizes


def test_each_layer_is_measured_by_its_own_files(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    for layer, size in ((small, 4096), (large, 1 << 20)):
        layer.mkdir()
        (layer / "file").write_bytes(b"x" * size)
    sizes = LayerSizes()
    found = sizes.measure({"a": small, "b": large})
    assert found["a"].bytes >= 4096
    assert found["b"].bytes >= 1 << 20
    assert found["b"].bytes - found["a"].bytes >= (1 << 20) - 4096
    assert (found["a"].inodes, found["b"].inodes) == (1, 1)
    assert set(sizes.measure({"b": large})) == {"b"}


def test_unreadable_layer_counts_as_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    layer = tmp_path / "layer"
    layer.mkdir()
    (layer / "file").write_bytes(b"x" * 4096)
    found = LayerSizes().measure({"gone": tmp_path / "none", "b": layer})
    assert found["gone"].bytes == 0
    assert found["b"].bytes >= 4096
