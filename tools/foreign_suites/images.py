"""Stand-ins for the images that the suites name: the machine's busybox, and scripts for bigger programs.

A script does what the suites use of a program and no more: nginx serves a directory, python echoes on ports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clusters import RealCluster
from tests.support.images import Tree, busybox_tree, configuration, docker_archive

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

NGINX = """#!/bin/sh
trap 'exit 0' TERM QUIT
httpd -f -p 80 -h /usr/share/nginx/html &
wait
"""

PAUSE = """#!/bin/sh
trap 'exit 0' TERM
while :; do sleep 3600 & wait $!; done
"""

PORT_SERVER = """#!/bin/sh
# python -u FILE PORT...: echo on every port, as the suite's own server does.
trap 'exit 0' TERM
[ "$1" = -u ] && shift
shift
for port in "$@"; do nc -ll -p "$port" -e /bin/cat & done
wait
"""


@dataclass(frozen=True)
class StandIn:
    """An image of busybox with ``programs`` of its own, by path; it starts ``command``."""

    names: Sequence[str]
    programs: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ("sh",)


STAND_INS = (
    StandIn(("docker.io/library/busybox:latest", "docker.io/library/ubuntu:latest")),
    StandIn(
        tuple(
            f"docker.io/library/nginx:{tag}"
            for tag in ("latest", "stable", "1.7.9", "1.10", "1.14.2", "1.15.4", "1.21.4")
        ),
        {"usr/sbin/nginx": NGINX},
        ("/usr/sbin/nginx",),
    ),
    StandIn(("docker.io/library/python:latest",), {"bin/python": PORT_SERVER}),
    StandIn(("gcr.io/google_containers/pause:latest", "k8s.gcr.io/pause:2.0"), {"pause": PAUSE}, ("/pause",)),
)


def load(cluster: RealCluster, folder: Path) -> None:
    """Make every stand-in and load it into a cluster.

    Raises:
        RuntimeError: an image could not be loaded.
    """
    for image in STAND_INS:
        layer = _tree(image.programs).tar()
        config = configuration([layer], cmd=image.command, env={"PATH": PATH})
        for name in image.names:
            archive = docker_archive(folder / "image.tar", name, [layer], config)
            done = cluster.podling("image load", str(archive))
            archive.unlink()
            if done.code != 0:
                raise RuntimeError(f"{name}: {done.out}{done.err}")


def _tree(programs: Mapping[str, str]) -> Tree:
    tree = busybox_tree().link("bin/tar", "busybox")
    for name in ("usr", "usr/sbin", "usr/share", "usr/share/nginx", "usr/share/nginx/html"):
        tree.directory(name)
    tree.add("usr/share/nginx/html/index.html", b"<!DOCTYPE html><h1>Welcome to nginx!</h1>\n")
    for name, text in programs.items():
        tree.add(name, text.encode(), mode=0o755)
    return tree
