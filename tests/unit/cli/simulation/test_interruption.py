"""``podling sim`` and Ctrl-C: to the whole process group, as a terminal sends it, and to one process."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FALSE = (
    "until: 30s\nnodes: [{name: n}]\n"
    "assertions: [{name: two nodes, atTheEnd: {count: {kind: Node, equals: 2}}}]\n"
)
ENDLESS = (
    "until: 80000h\nnodes: [{name: n, count: 5}]\nfaults: {count: 1000, before: 79000h}\n"
    "manifests: [{objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, "
    "spec: {containers: [{name: a, image: a}]}}]}]\n"
)
SECONDS = 120


def command(folder: Path, text: str, *options: str) -> list[str]:
    path = folder / "s.yaml"
    path.write_text(text)
    return [sys.executable, "-m", "podling", "sim", str(path), *options]


@pytest.mark.parametrize("interrupt", [os.killpg, os.kill], ids=["group", "parent"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_seeds_report_what_was(
    tmp_path: Path, interrupt: Callable[[int, int], None], jobs: str
) -> None:
    with subprocess.Popen(
        command(tmp_path, FALSE, "--seeds", "1..100000", "--jobs", jobs),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert "FAIL two nodes" in process.stdout.readline()
        interrupt(process.pid, signal.SIGINT)
        # Every process of the command has these pipes: their end is that of the last one.
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err == ""
    words = out.splitlines()[-1].split()
    assert words[:2] == ["0", "of"]
    assert words[3:5] == ["seeds", "passed"]
    assert words[5:] == ["(interrupted;", f"{100000 - int(words[2])}", "did", "not", "run)"]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_killed_search_leaves_no_process(tmp_path: Path, end: signal.Signals) -> None:
    with subprocess.Popen(
        command(tmp_path, FALSE, "--seeds", "1..100000", "--jobs", "2"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "FAIL two nodes" in process.stdout.readline()
        process.send_signal(end)
        process.communicate(timeout=SECONDS)  # until the last process has closed its output
    assert process.returncode == -end


def test_interrupted_live_view_is_removed(tmp_path: Path) -> None:
    terminal, stderr = pty.openpty()
    with subprocess.Popen(
        command(tmp_path, ENDLESS), stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
    ) as process:
        os.close(stderr)
        shown = b""
        while b"Running" not in shown:
            shown += os.read(terminal, 1 << 16)
        os.killpg(process.pid, signal.SIGINT)
        shown += rest_of(terminal)
        out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert shown.endswith(b"F\x1b[J")
    assert b"Traceback" not in shown
    first, *_, last = out.splitlines()
    assert first.endswith("(interrupted)")
    assert last.startswith("digest: ")


def rest_of(terminal: int) -> bytes:
    """Read what is written until the other side is closed, which Linux reports as an error."""
    found = b""
    with open(terminal, "rb", buffering=0) as stream:
        try:
            while more := stream.read(1 << 16):
                found += more
        except OSError:
            pass
    return found
