"""``podling.local/host``: an image made of the machine itself, so a first pod needs no registry.

The machine's ``/usr`` is mounted read-only, as far as all users may read it, with the usual links into it
(``/bin``, ``/lib`` ...), or those directories themselves where they are not links. Everything else is new: a
small ``/etc`` with two users, empty ``/root`` and ``/tmp``. From the machine's own ``/etc`` come only tables
that programs in ``/usr`` need and that hold nothing private: the linker's, public certificates, the names of
protocols and services, and (shown through like ``/usr``) the links that say which program goes by a common
name.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from podling import ids
from podling.files.trees import remove_tree
from podling.runtime.images.image_documents import RunConfig
from podling.runtime.images.records import ImageRecord
from podling.runtime.platform import architecture

HOST_IMAGE = "podling.local/host:latest"

PATH_VARIABLE = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_DIRECTORIES = {
    "dev": 0o755,
    "etc": 0o755,
    "etc/alternatives": 0o755,
    "etc/ld.so.conf.d": 0o755,
    "etc/ssl": 0o755,
    "etc/ssl/certs": 0o755,
    "home": 0o755,
    "mnt": 0o755,
    "opt": 0o755,
    "proc": 0o555,
    "root": 0o700,
    "run": 0o755,
    "srv": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "usr": 0o755,
    "var": 0o755,
    "var/cache": 0o755,
    "var/lib": 0o755,
    "var/log": 0o755,
    "var/tmp": 0o1777,
}
_FILES = {
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/sh\n"
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "etc/group": "root:x:0:\ndaemon:x:1:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "etc/hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost\n",
    "etc/resolv.conf": "",
    "etc/profile": "export " + PATH_VARIABLE + "\n",
}
_LINKS = {"etc/os-release": "../usr/lib/os-release", "etc/mtab": "/proc/mounts", "var/run": "/run"}
_COPIED = (
    "etc/ld.so.cache",
    "etc/ld.so.conf",
    "etc/protocols",
    "etc/services",
    "etc/mime.types",
    "etc/ssl/certs/ca-certificates.crt",
)


def build_host_image(layers: Path, machine: Path = Path("/")) -> ImageRecord:
    """Make the image's one layer under ``layers`` unless it is there, and return its record.

    The layer's name is the digest of all it holds, so a changed machine gets a new one.
    """
    files = dict(_FILES) | dict(_copied(machine))
    links = dict(_LINKS) | dict(_top_links(machine))
    binds = ("/usr", *(f"/{name}" for name in _top_directories(machine)), *_alternatives(machine))
    content = hashlib.sha256(repr((sorted(files.items()), sorted(links.items()), binds)).encode())
    diff_id = f"sha256:{content.hexdigest()}"
    place = layers / content.hexdigest()[:32]
    if not place.exists():
        _fill(place, files, links, binds)
    return ImageRecord(
        id=f"sha256:{hashlib.sha256(b'image ' + content.digest()).hexdigest()}",
        tags=(HOST_IMAGE,),
        layers=(diff_id,),
        size_bytes=sum(len(text) for text in files.values()),
        architecture=architecture(),
        config=RunConfig(env=[PATH_VARIABLE], cmd=["/bin/sh"], working_dir="/"),
        pinned=True,
        binds=binds,
    )


def _fill(place: Path, files: dict[str, str], links: dict[str, str], binds: tuple[str, ...]) -> None:
    work = place.with_name(f".{place.name}-{ids.hex_id(8)}")
    root = work / "files"
    root.mkdir(parents=True)
    os.chmod(work, 0o700)
    os.chmod(root, 0o755)
    for bind in binds:
        (root / bind.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for name, mode in _DIRECTORIES.items():
        (root / name).mkdir(exist_ok=True)
        os.chmod(root / name, mode)
    for name, text in files.items():
        (root / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        os.chmod(root / name, 0o644)
    for name, target in links.items():
        os.symlink(target, root / name)
    (work / "size").write_text("0")
    try:
        work.rename(place)
    except OSError:  # another process created the same one meanwhile
        remove_tree(work)


def _top_links(machine: Path) -> Iterator[tuple[str, str]]:
    for name in _TOP:
        path = machine / name
        if path.is_symlink():
            yield name, os.readlink(path)


def _top_directories(machine: Path) -> list[str]:
    return [name for name in _TOP if (machine / name).is_dir() and not (machine / name).is_symlink()]


def _alternatives(machine: Path) -> list[str]:
    """The directory of links that say which of several programs ``awk`` or ``vi`` is; Debian's has hundreds,
    so it shows through rather than being copied."""
    return ["/etc/alternatives"] if (machine / "etc/alternatives").is_dir() else []


def _copied(machine: Path) -> Iterator[tuple[str, str]]:
    names = [machine / name for name in _COPIED]
    if (machine / "etc/ld.so.conf.d").is_dir():
        names.extend(sorted((machine / "etc/ld.so.conf.d").glob("*.conf")))
    for path in names:
        if path.is_file() and path.stat().st_mode & stat.S_IROTH:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            yield os.fspath(path.relative_to(machine)), text
