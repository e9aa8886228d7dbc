"""``podling test-server``: its line, and its end with standard input."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

SECONDS = 60


def started(*options: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    command = [sys.executable, "-m", "podling", "test-server", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def test_server_serves_until_standard_input_closes() -> None:
    process, line = started("--nodes", "2", "--clock", "paused")
    with process:
        config = yaml.safe_load(Path(line["kubeconfig"]).read_text())
        assert config["clusters"][0]["cluster"]["server"] == line["url"]
        context = ssl.create_default_context(cadata=line["ca"])
        with urllib.request.urlopen(f"{line['url']}/readyz", context=context, timeout=SECONDS) as answer:
            assert answer.read() == b"ok"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(SECONDS) == 0
    assert not Path(line["kubeconfig"]).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_ends_with_a_signal(number: signal.Signals) -> None:
    process, line = started("--nodes", "0")
    with process:
        process.send_signal(number)
        assert process.wait(SECONDS) == 0
    assert not Path(line["kubeconfig"]).exists()


def test_wrong_settings_are_refused() -> None:
    command = [sys.executable, "-m", "podling", "test-server", "--clock", "fast"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "there are 'paused', 'running' and speeds such as '60x'" in done.stderr
