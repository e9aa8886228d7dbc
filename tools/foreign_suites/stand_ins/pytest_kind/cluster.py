"""``KindCluster`` of pytest-kind, over the cluster that KUBECONFIG names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


class KindCluster:
    """The part of pytest-kind's class that suites use."""

    def __init__(self, name: str, image: str | None = None) -> None:
        self.name = name
        self.image = image
        self.kubeconfig_path = Path(os.environ["KUBECONFIG"])
        self.kubectl_path = shutil.which("kubectl")

    def create(self) -> None:
        """Do nothing: the cluster exists."""

    def delete(self) -> None:
        """Do nothing: the creator of the cluster deletes it."""

    def load_docker_image(self, image: str) -> None:
        """Do nothing: the cluster's images are the stand-ins, or simulated."""

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl and return its output; raise CalledProcessError if it fails."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig_path)}
        return subprocess.check_output(["kubectl", *arguments], env=environment, encoding="utf-8")
