"""The image made of the machine: what it shows, and what it must not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.runtime.images.host_image import build_host_image


def machine(root: Path) -> Path:
    """Return a small machine with public and private things."""
    for directory in ("usr/bin", "etc/alternatives", "etc/ssl/certs", "etc/ssl/private", "root", "home/me"):
        (root / directory).mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    (root / "lib").mkdir()
    (root / "etc/alternatives/awk").symlink_to("/usr/bin/mawk")
    (root / "etc/alternatives/odd").symlink_to("/home/me/tool")
    (root / "etc/ssl/certs/ca-certificates.crt").write_text("public")
    for private in (
        "etc/shadow",
        "etc/passwd",
        "etc/hostname",
        "etc/ssl/private/key",
        "root/.ssh",
        "home/me/x",
    ):
        (root / private).write_text("private")
    return root


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    build_host_image(tmp_path / "layers", machine(tmp_path / "machine"))
    (made,) = (tmp_path / "layers").iterdir()
    return made / "files"


def test_links_into_usr_stay_links_and_directories_show_through(tmp_path: Path) -> None:
    record = build_host_image(tmp_path / "layers", machine(tmp_path / "machine"))
    assert record.binds == ("/usr", "/lib", "/etc/alternatives")
    (made,) = (tmp_path / "layers").iterdir()
    assert os.readlink(made / "files/bin") == "usr/bin"
    assert (made / "files/lib").is_dir()


def test_nothing_private_is_in_it(layer: Path) -> None:
    texts = [path.read_text() for path in layer.rglob("*") if path.is_file() and not path.is_symlink()]
    assert "private" not in texts
    assert os.listdir(layer / "root") == []
    assert os.listdir(layer / "home") == []
    assert not (layer / "etc/shadow").exists()


def test_tables_that_only_root_may_read_are_not_copied(tmp_path: Path) -> None:
    root = machine(tmp_path / "machine")
    (root / "etc/services").write_text("private")
    (root / "etc/services").chmod(0o640)
    build_host_image(tmp_path / "layers", root)
    (made,) = (tmp_path / "layers").iterdir()
    assert not (made / "files/etc/services").exists()


def test_host_image_holds_files_that_programs_need(layer: Path) -> None:
    assert (layer / "etc/ssl/certs/ca-certificates.crt").read_text() == "public"
    assert (layer / "etc/alternatives").is_dir()
    assert "root:x:0:0:" in (layer / "etc/passwd").read_text()
    assert (layer / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_a_changed_machine_is_another_image(tmp_path: Path) -> None:
    root = machine(tmp_path / "machine")
    before = build_host_image(tmp_path / "layers", root)
    assert build_host_image(tmp_path / "layers", root) == before
    (root / "etc/ssl/certs/ca-certificates.crt").write_text("renewed")
    after = build_host_image(tmp_path / "layers", root)
    assert after.id != before.id
    assert after.tags == before.tags
