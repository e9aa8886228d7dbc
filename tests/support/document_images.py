"""Images under the names in the manifests of Kubernetes' documentation: busybox with small stand-in programs.

Only the images' content is ours; the manifests' commands, probes and hooks run as written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.clusters import RealCluster
from tests.support.images import Tree, busybox_tree, configuration, docker_archive

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path of the documentation's images: their hooks call ``nginx`` without a path."""

PAGE = "<!DOCTYPE html> the page of "
"""The first lines of every page that the images' ``wget`` fetches."""

FETCH = f"""#!/bin/sh
[ "$1" = -O ] || exec busybox wget "$@"
sleep 1
echo "{PAGE}$3" >"$2"
"""

WEB_SERVER = """#!/bin/sh
if [ "$1" = -s ]; then touch /tmp/quit; kill -QUIT 1; exit; fi
trap 'trap "" TERM; echo quit gracefully; exit 0' QUIT
trap 'echo terminated; exit 0' TERM
[ -e /tmp/quit ] && exit 0
root=/usr/share/nginx/html
[ -d "$root" ] || root=/var/www
httpd -p 80 -h "$root"
sleep 36000 & wait
"""
"""``nginx`` as far as the documentation uses it: it serves a page, and ``-s quit`` ends it, even just after
its start. A server that quits ignores SIGTERM, which the kubelet sends as soon as the hook has returned."""

LIVENESS = """#!/bin/sh
[ "$1" = liveness ] || exit 64
date +%s >/tmp/started
trap 'exit 0' TERM
nc -ll -p 8080 -e /bin/healthz &
wait
"""

HEALTHZ = """#!/bin/sh
while read -r line && [ "${#line}" -gt 1 ]; do echo "${line%?}"; done >/proc/1/fd/1
age=$(($(date +%s) - $(cat /tmp/started)))
if [ "$age" -gt 10 ]; then
    printf 'HTTP/1.0 500 Internal Server Error\\r\\n\\r\\nerror: %s' "$age"
else
    printf 'HTTP/1.0 200 OK\\r\\n\\r\\nok'
fi
"""
"""A server that is healthy for ten seconds, then fails, as the documentation's own does. It logs the
requests."""

PROXY = """#!/bin/sh
trap 'exit 0' TERM
nc -ll -p 8080 -e /bin/cat &
wait
"""

ECHO = """#!/bin/sh
busybox echo "$@" >/proc/1/fd/1
"""
"""``echo`` into the container's own log, so that the log shows when a probe ran it."""


def _tree(programs: Mapping[str, str]) -> Tree:
    tree = busybox_tree()
    names = {f"bin/{name.rpartition('/')[2]}" for name in programs}
    tree.entries = [entry for entry in tree.entries if entry[0].name not in names]
    for folder in ("usr", "usr/sbin", "usr/share", "var", "var/www"):
        tree.directory(folder)
    tree.add("var/www/index.html", b"it works\n")
    for name, text in programs.items():
        tree.add(name, text.encode(), mode=0o755)
    return tree


IMAGES: Mapping[str, tuple[Mapping[str, str], Sequence[str], Sequence[str]]] = {
    "docker.io/library/busybox:latest": ({"bin/wget": FETCH}, (), ("sh",)),
    "docker.io/library/busybox:1.28": ({}, (), ("sh",)),
    "docker.io/library/nginx:latest": ({"usr/sbin/nginx": WEB_SERVER}, (), ("/usr/sbin/nginx",)),
    "docker.io/library/nginx:1.14.2": ({"usr/sbin/nginx": WEB_SERVER}, (), ("/usr/sbin/nginx",)),
    "registry.k8s.io/busybox:latest": ({"bin/echo": ECHO}, (), ("sh",)),
    "registry.k8s.io/e2e-test-images/agnhost:2.40": (
        {"bin/agnhost": LIVENESS, "bin/healthz": HEALTHZ},
        ("/bin/agnhost",),
        (),
    ),
    "registry.k8s.io/goproxy:0.1": ({"bin/goproxy": PROXY}, ("/bin/goproxy",), ()),
}
"""Programs, entrypoint and command by image name."""


def load(cluster: RealCluster, folder: Path, *names: str) -> None:
    """Make these images, or all, and load them into a cluster."""
    for name in names or IMAGES:
        programs, entrypoint, command = IMAGES[name]
        layer = _tree(programs).tar()
        config = configuration([layer], entrypoint=entrypoint, cmd=command, env={"PATH": PATH})
        archive = docker_archive(folder / "image.tar", name, [layer], config)
        done = cluster.podling("image load", str(archive))
        archive.unlink()
        assert done.code == 0, done.err
