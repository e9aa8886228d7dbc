"""A container registry of the test's own, on the machine's loopback, with or without a login."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

USER, PASSWORD = "somebody", "secret"
_PASSWORD_HASH = "$2b$04$Pz7/ZMoHbMwIIeWov20BE.U.M3mBm1FPhdVQsDMjzEb8FwT6B2Rw."


@dataclass(frozen=True)
class Registry:
    """A running registry; ``address`` is the prefix of image names."""

    address: str
    login: bool

    def push(self, source: str, name: str) -> None:
        """Copy ``source`` (in skopeo's words, ``docker-archive:...``) to ``name`` in the registry."""
        login = ["--dest-creds", f"{USER}:{PASSWORD}"] if self.login else []
        command = ["skopeo", "copy", "--quiet", "--all", "--dest-tls-verify=false", *login]
        target = f"docker://{self.address}/{name}"
        subprocess.run([*command, source, target], check=True, capture_output=True)


@contextmanager
def registry(directory: Path, *, login: bool = False) -> Iterator[Registry]:
    """Run a registry that keeps its images in ``directory``."""
    directory.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = {
        "version": "0.1",
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "data")}},
        "http": {"addr": address},
    }
    if login:
        (directory / "passwords").write_text(f"{USER}:{_PASSWORD_HASH}\n")
        config["auth"] = {"htpasswd": {"realm": "test", "path": str(directory / "passwords")}}
    (directory / "config.yml").write_text(json.dumps(config))  # JSON is valid YAML
    process = subprocess.Popen(
        ["docker-registry", "serve", str(directory / "config.yml")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if "listening on" in line:
                break
        else:
            raise AssertionError(f"the registry did not start: {''.join(said)}")
        yield Registry(address, login)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
