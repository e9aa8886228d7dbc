"""Sources and environments of the suites: kept under the work directory, made anew when pins change."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.foreign_suites.suites import Suite

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STAND_INS = HERE / "stand_ins"
NODE_PACKAGES = ("@kubernetes/client-node@2.0.1", "node@22.22.0", "tsx@4.23.15")
CLIENT_MODULES = ("index", "cp", "portforward", "watch", "cache")
"""Modules that client-node's tests import by path; the published package exports all of them together."""


@dataclass(frozen=True)
class Environment:
    """A suite that is ready to run: ``command`` in ``folder``, with ``variables`` in the environment."""

    folder: Path
    command: Sequence[str]
    variables: Mapping[str, str]


def prepare(suite: Suite, work: Path, clone: Path | None, report: Path) -> Environment:
    """Fetch a suite's source, make its environment, and return how to run it so that it writes ``report``.

    Raises:
        ValueError: the suite lies in a repository and no clone was named.
        subprocess.CalledProcessError: something could not be fetched or installed.
    """
    source = unpack_source(suite, work, clone)
    if suite.node:
        return _node_environment(source, report)
    python = _python(suite, work)
    if suite.simulated is not None:
        return _plugin_environment(suite, source, python, report)
    if suite.repository:
        for name in ("pytest.ini", "conftest.py"):
            shutil.copyfile(STAND_INS / name, source / name)
    return Environment(
        source,
        [str(python), "-m", "pytest", f"--junitxml={report}", *suite.arguments],
        {
            "PYTHONPATH": f"{STAND_INS}",
            "PATH": f"{python.parent}:{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )


def _plugin_environment(suite: Suite, source: Path, python: Path, report: Path) -> Environment:
    """Return the environment of a suite that runs on the pytest plugin, with stand-ins for other tools."""
    options = (
        *("-p", "podling.testing.pytest_plugin", "-o", "podling_kubeconfig=true"),
        *("-o", "podling_session_cluster=true"),
    )
    return Environment(
        source,
        [str(python), "-m", "pytest", f"--junitxml={report}", *options, *suite.arguments],
        {
            "PYTHONPATH": os.pathsep.join(map(str, (STAND_INS, ROOT / "src", source))),
            "PATH": os.pathsep.join((str(STAND_INS / "bin"), str(python.parent), os.environ["PATH"])),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )


def unpack_source(suite: Suite, work: Path, clone: Path | None) -> Path:
    """Fetch a suite's source and return its directory; one that is there already is kept.

    Raises:
        ValueError: the suite lies in a repository and no clone was named.
        subprocess.CalledProcessError: git or pip failed.
    """
    folder = work / "sources" / f"{suite.name}-{suite.version}"
    if folder.exists():
        return folder
    arriving = folder.with_suffix(".new")
    shutil.rmtree(arriving, ignore_errors=True)
    arriving.mkdir(parents=True)
    if suite.repository:
        if clone is None:
            raise ValueError(f"{suite.name}: name a clone of {suite.repository}: --source {suite.name}=CLONE")
        _unpack_commit(clone, suite, arriving)
    else:
        _unpack_distribution(suite, arriving)
    arriving.rename(folder)
    return folder


def _unpack_commit(clone: Path, suite: Suite, folder: Path) -> None:
    command = ["git", "-C", str(clone), "archive", suite.version, *suite.paths]
    archive = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def _unpack_distribution(suite: Suite, folder: Path) -> None:
    wanted = f"{suite.name}=={suite.version}"
    download = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
    _run(*download, "--no-binary", suite.name, "--dest", folder, wanted)
    (distribution,) = folder.glob("*.tar.gz")
    with tarfile.open(distribution) as tar:
        tar.extractall(folder, filter="data")
    distribution.unlink()
    (inner,) = folder.iterdir()
    for path in inner.iterdir():
        path.rename(folder / path.name)
    inner.rmdir()


def _python(suite: Suite, work: Path) -> Path:
    """Return the interpreter of the suite's virtual environment, with its locked requirements installed."""
    requirements = HERE / "requirements" / f"{suite.name}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = work / "environments" / f"{suite.name}-{digest}"
    python = folder / "bin" / "python"
    stamp = folder / "complete"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(sys.executable, "-m", "venv", folder)
        _run(python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements)
        _mend_oscrypto(folder)
        stamp.touch()
    return python


def _mend_oscrypto(folder: Path) -> None:
    """Let oscrypto 1.3 read the version of an OpenSSL whose patch number has two digits.

    Its authors mended the pattern after the last release; kopf's own suite installs that commit.
    """
    for path in folder.glob("lib/python3*/site-packages/oscrypto/_openssl/_lib*crypto_c*.py"):
        text = path.read_text()
        path.write_text(text.replace(r"(\\d\\.\\d\\.\\d[a-z]*)", r"(\\d+\\.\\d+\\.\\d+[a-z]*)"))


def _node_environment(source: Path, report: Path) -> Environment:
    modules = source / "node_modules"
    if not (modules / ".complete").exists():
        _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", source, *NODE_PACKAGES)
        (modules / ".complete").touch()
    for name in CLIENT_MODULES:
        (source / "src" / f"{name}.js").write_text("export * from '@kubernetes/client-node';\n")
    (source / "package.json").write_text('{"type": "module"}\n')
    shutil.copyfile(STAND_INS / "integration.test.mjs", source / "src" / "integration.test.mjs")
    return Environment(
        source,
        [
            str(modules / ".bin" / "node"),
            "--import=tsx",
            "--test",
            "--test-concurrency=1",
            "--test-timeout=300000",
            "--test-reporter=junit",
            f"--test-reporter-destination={report}",
            "src/integration.test.mjs",
        ],
        {},
    )


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        done.check_returncode()
