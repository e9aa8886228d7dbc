"""Image archives: links among members are followed, and documents have a limit."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.base import ImageFailure
from podling.runtime.images import archive, image_documents
from podling.runtime.images.archive import Found, opened, pulled
from tests.support.images import Tree, configuration, sha256

LAYER = Tree().add("file", b"content").tar()
PLATFORM = image_documents.Platform(os="linux", architecture="amd64")


def docker(path: Path, tree: Tree, layers: list[str], config: bytes = b"", images: int = 1) -> Path:
    config = config or configuration([LAYER] * len(layers))
    entry = {"Config": "config.json", "RepoTags": None, "Layers": layers}
    tree.add("config.json", config).add("manifest.json", json.dumps([entry] * images).encode())
    path.write_bytes(tree.tar())
    return path


def read(path: Path) -> list[tuple[Found, list[bytes]]]:
    with opened(path, PLATFORM, path.parent) as images:
        return [(found, [layer().read() for layer in found.layers]) for found in images]


def layout(directory: Path, *indexes: int, config: bytes = b"") -> dict[str, bytes]:
    """Return the blobs of an OCI layout whose manifest lies under so many indexes."""
    blobs: dict[str, bytes] = {}

    def blob(document: bytes) -> dict[str, Any]:
        blobs[f"blobs/sha256/{sha256(document)[7:]}"] = document
        return {"digest": sha256(document), "size": len(document)}

    manifest = {"config": blob(config or configuration([LAYER])), "layers": [blob(LAYER)]}
    described = blob(json.dumps(manifest).encode())
    for _ in range(*indexes):
        described = blob(json.dumps({"manifests": [described]}).encode())
    blobs["index.json"] = json.dumps({"manifests": [described]}).encode()
    return blobs


def tar_of(path: Path, files: dict[str, bytes]) -> Path:
    tree = Tree()
    for name, content in files.items():
        tree.add(name, content)
    path.write_bytes(tree.tar())
    return path


@pytest.mark.parametrize(
    ("kind", "target"), [(tarfile.SYMTYPE, "../a/layer.tar"), (tarfile.LNKTYPE, "./a/layer.tar")]
)
def test_linked_layers_are_found(tmp_path: Path, kind: bytes, target: str) -> None:
    tree = Tree().add("./a/layer.tar", LAYER).add("b/layer.tar", kind=kind, linkname=target)
    ((_, layers),) = read(docker(tmp_path / "a.tar", tree, ["a/layer.tar", "b/layer.tar"]))
    assert layers == [LAYER, LAYER]


@pytest.mark.parametrize("target", ["layer.tar", "../../../../etc/passwd", "/etc/passwd", "missing"])
def test_links_lead_nowhere_else(tmp_path: Path, target: str) -> None:
    path = docker(tmp_path / "a.tar", Tree().link("layer.tar", target), ["layer.tar"])
    with pytest.raises(ImageFailure, match=r"layer.tar is missing"):
        read(path)


def test_documents_have_a_limit(tmp_path: Path) -> None:
    large = configuration([LAYER], Labels={"large": "x" * image_documents.DOCUMENT_BYTES_MAX})
    tree = Tree().add("layer.tar", LAYER)
    with pytest.raises(ImageFailure, match=r"config.json is longer than 4194304 bytes"):
        read(docker(tmp_path / "a.tar", tree, ["layer.tar"], large))
    with pytest.raises(ImageFailure, match="longer than 4194304 bytes"):
        read(tar_of(tmp_path / "b.tar", layout(tmp_path, 0, config=large)))
    (tmp_path / "manifest.json").write_bytes(b" " * (image_documents.DOCUMENT_BYTES_MAX + 1))
    with pytest.raises(ImageFailure, match=r"manifest.json is longer than 4194304 bytes"):
        pulled(tmp_path, "")


def test_documents_together_have_a_limit(tmp_path: Path) -> None:
    """One configuration of 3 MB, named by an archive's table forty times."""
    large = configuration([LAYER], Labels={"large": "x" * (3 << 20)})
    tree = Tree().add("layer.tar", LAYER)
    with pytest.raises(ImageFailure, match="documents are too long together"):
        read(docker(tmp_path / "a.tar", tree, ["layer.tar"], large, images=40))


def test_an_index_leads_to_an_index_a_few_times_only(tmp_path: Path) -> None:
    ((_, layers),) = read(tar_of(tmp_path / "a.tar", layout(tmp_path, 2)))
    assert layers == [LAYER]
    with pytest.raises(ImageFailure, match="names no configuration"):
        read(tar_of(tmp_path / "b.tar", layout(tmp_path, 100)))


def test_an_archive_of_headers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ARCHIVE_HEADER_BYTES_MAX", 1 << 20)
    info = tarfile.TarInfo("x")
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(info.tobuf() * 2100, 1))
    with pytest.raises(ImageFailure, match="too many bytes that are no files"):
        read(tmp_path / "a.tar.gz")
    assert os.listdir(tmp_path) == ["a.tar.gz"]


def test_a_fifo_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ImageFailure):
        read(tmp_path / "fifo")
