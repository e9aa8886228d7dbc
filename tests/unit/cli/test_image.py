"""The commands on images, with the store of a cluster that does not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.cli.image import image, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_900, "999.9 kB"),
        (4_200_000, "4.2 MB"),
        (1_500_000_000, "1.5 GB"),
        (2_000_000_000_000, "2000.0 GB"),
    ],
)
def test_size_uses_decimal_units(count: int, text: str) -> None:
    assert size(count) == text


def test_removing_an_unknown_image_fails_with_its_name(tmp_path: Path) -> None:
    found = CliRunner().invoke(image, ["remove", "app:1", "--data-dir", str(tmp_path)])
    assert found.exit_code == 1
    assert "app:1" in found.stderr
    assert found.stdout == ""


def test_loading_a_file_that_is_no_archive_fails(tmp_path: Path) -> None:
    archive = tmp_path / "app.tar"
    archive.write_bytes(b"no archive")
    found = CliRunner().invoke(image, ["load", str(archive), "--data-dir", str(tmp_path / "data")])
    assert found.exit_code == 1
    assert found.stderr.startswith("Error: ")
    assert "Loaded" not in found.stdout
