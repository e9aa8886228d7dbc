"""``podling join`` and its refusals, as far as no cluster is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.cli.join import join
from podling.cli.up import up
from podling.cluster.directory import DataDirectory
from podling.cluster.joined import settings as joined_settings

HASH = f"sha256:{'0' * 64}"
TOKEN = "abcdef.0123456789abcdef"


def refusal(path: Path, *arguments: str) -> str:
    done = CliRunner().invoke(join, [*arguments, "--data-dir", str(path), "--runtime", "sim"])
    assert done.exit_code == 1
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no node has joined from here: podling join URL --token TOKEN"),
        (("https://192.0.2.1:6443",), "--token is no token"),
        (("https://192.0.2.1:6443", "--token", "abc", "--ca-hash", HASH), "--token is no token"),
        (("https://192.0.2.1:6443", "--token", TOKEN), "--ca-hash is no hash"),
        (("https://192.0.2.1:6443", "--token", TOKEN, "--ca-hash", HASH[:-1]), "--ca-hash is no hash"),
        (("192.0.2.1", "--token", TOKEN, "--ca-hash", HASH), "is no address of an API server"),
        (("http://192.0.2.1:80", "--token", TOKEN, "--ca-hash", HASH), "is no address of an API server"),
        (("127.0.0.1:1", "--token", TOKEN, "--ca-hash", HASH), "no API server answers"),
    ],
)
def test_join_names_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(tmp_path / "data", *arguments)
    assert joined_settings.read(DataDirectory(tmp_path / "data")) is None


def test_directory_of_a_cluster_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{}")
    assert "is the data directory of a cluster" in refusal(tmp_path, "https://192.0.2.1:6443")


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "0.0.0.0", "::", "224.0.0.1", "fe80::1", "here", "1.2.3.4:5"]
)
def test_addresses_that_lead_nowhere_are_refused(tmp_path: Path, address: str) -> None:
    done = CliRunner().invoke(up, [f"--data-dir={tmp_path}", "--advertise-address", address])
    assert done.exit_code == 2
    assert "is no IP address" in done.stderr or "other machines cannot reach" in done.stderr
