"""Small images from the machine's static busybox, written in pure Python, byte for byte the same each time.

``busybox_archive`` writes what ``docker save`` would, ``busybox_layout`` what ``skopeo copy ...
oci-archive:`` would; ``Tree`` is the layer they hold, for tests that need files of their own.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podling.runtime.platform import architecture as machine_architecture

APPLETS = (
    "arp awk basename cat chmod chown cp cut date dd df dirname dmesg du echo env expr false find free grep "
    "head hostname httpd id ifconfig ip kill ln ls md5sum mkdir mkfifo mknod mktemp more mount mv nc netstat "
    "nice nohup nproc nslookup od pidof ping printenv printf ps pwd readlink realpath reset rm rmdir route "
    "sed seq setsid sh sleep sort stat stty su sync tail tee test time timeout top touch tr traceroute true "
    "truncate tty umount uname uniq unlink uptime usleep vi wc wget which whoami xargs yes"
)

PASSWD = (
    "root:x:0:0:root:/root:/bin/sh\n"
    "www:x:33:33:www:/var/www:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n"
)
GROUP = "root:x:0:\nwww:x:33:\nstaff:x:50:www\nnogroup:x:65534:\n"


@dataclass
class Tree:
    """A layer in the making: entries in the order in which the tar holds them."""

    entries: list[tuple[tarfile.TarInfo, bytes]] = field(default_factory=list)

    def add(self, name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, **fields: Any) -> Tree:
        info = tarfile.TarInfo(name)
        info.type = kind
        info.size = len(content)
        info.mode = 0o644
        for key, value in fields.items():
            setattr(info, key, value)
        self.entries.append((info, content))
        return self

    def directory(self, name: str, mode: int = 0o755, **fields: Any) -> Tree:
        return self.add(name, kind=tarfile.DIRTYPE, mode=mode, **fields)

    def link(self, name: str, target: str) -> Tree:
        return self.add(name, kind=tarfile.SYMTYPE, linkname=target, mode=0o777)

    def tar(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for info, content in self.entries:
                archive.addfile(info, io.BytesIO(content))
        return buffer.getvalue()


def busybox_tree() -> Tree:
    """Return a root file system with busybox, its applets and three users."""
    program = shutil.which("busybox")
    assert program is not None, "busybox-static is not installed"
    tree = Tree()
    for name, mode in (("bin", 0o755), ("etc", 0o755), ("root", 0o700), ("tmp", 0o1777), ("home", 0o755)):
        tree.directory(name, mode)
    tree.add("bin/busybox", Path(program).read_bytes(), mode=0o755)
    for applet in APPLETS.split():
        tree.link(f"bin/{applet}", "busybox")
    return tree.add("etc/passwd", PASSWD.encode()).add("etc/group", GROUP.encode())


def configuration(
    layers: Sequence[bytes],
    *,
    entrypoint: Sequence[str] = (),
    cmd: Sequence[str] = ("sh",),
    env: Mapping[str, str] | None = None,
    user: str = "",
    architecture: str = "",
    **more: Any,
) -> bytes:
    """Return an image's configuration over uncompressed ``layers``; ``more`` goes into its ``config``."""
    run: dict[str, Any] = {
        "Cmd": list(cmd),
        "Env": [f"{name}={value}" for name, value in {"PATH": "/bin", **(env or {})}.items()],
    }
    if entrypoint:
        run["Entrypoint"] = list(entrypoint)
    if user:
        run["User"] = user
    document = {
        "architecture": architecture or machine_architecture(),
        "os": "linux",
        "config": run | more,
        "rootfs": {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]},
    }
    return json.dumps(document, sort_keys=True).encode()


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def docker_archive(path: Path, tag: str, layers: Sequence[bytes], config: bytes) -> Path:
    """Write a docker archive of one image; an empty ``tag`` leaves it without a name."""
    files = {f"{index}/layer.tar": layer for index, layer in enumerate(layers)}
    name = f"{sha256(config)[7:]}.json"
    entry = {"Config": name, "RepoTags": [tag] if tag else None, "Layers": list(files)}
    return _write(path, {**files, name: config, "manifest.json": json.dumps([entry]).encode()})


def oci_archive(path: Path, tag: str, layers: Sequence[bytes], config: bytes) -> Path:
    """Write an OCI layout in a tar, its layers compressed."""
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, kind: str) -> dict[str, Any]:
        blobs[f"blobs/sha256/{sha256(data)[7:]}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": sha256(data), "size": len(data)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(config, "config.v1+json"),
        "layers": [blob(gzip.compress(layer, mtime=0), "layer.v1.tar+gzip") for layer in layers],
    }
    described = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    described["annotations"] = {"org.opencontainers.image.ref.name": tag}
    index = {"schemaVersion": 2, "manifests": [described]}
    blobs["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    return _write(path, {**blobs, "index.json": json.dumps(index).encode()})


def busybox_archive(
    path: Path,
    tag: str = "busybox:test",
    *,
    entrypoint: Sequence[str] = (),
    cmd: Sequence[str] = ("sh",),
    env: Mapping[str, str] | None = None,
    user: str = "",
    architecture: str = "",
    **more: Any,
) -> Path:
    """Write a docker archive of busybox; returns ``path``."""
    layer = busybox_tree().tar()
    config = configuration(
        [layer], entrypoint=entrypoint, cmd=cmd, env=env, user=user, architecture=architecture, **more
    )
    return docker_archive(path, tag, [layer], config)


def busybox_layout(path: Path, tag: str = "docker.io/library/busybox:test", **options: Any) -> Path:
    """Write an OCI archive of busybox; takes the options of ``busybox_archive``; returns ``path``."""
    layer = busybox_tree().tar()
    return oci_archive(path, tag, [layer], configuration([layer], **options))


def _write(path: Path, files: Mapping[str, bytes]) -> Path:
    tree = Tree()
    for name, content in files.items():
        tree.add(name, content)
    path.write_bytes(tree.tar())
    return path
