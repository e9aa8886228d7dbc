"""Kubeconfig files: the server and the credentials that they select, and unsupported settings."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from podling.client.kubeconfig import Connection, KubeconfigError, load


def document(**user: Any) -> dict[str, Any]:
    return {
        "current-context": "dev",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "nobody", "context": {"cluster": "c"}},
            {"name": "broken", "context": {"cluster": "missing", "user": "u"}},
        ],
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_current_context_says_server_namespace_and_user(tmp_path: Path) -> None:
    file = write(tmp_path / "config", document(token="secret"))
    assert load(file) == Connection(server="https://10.0.0.1:6443", namespace="team", token="secret")


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    file = write(tmp_path / "config", document(token="secret"))
    assert load(file, "nobody") == Connection(server="https://10.0.0.1:6443", namespace="default")


def test_certificates_come_inline_or_from_files_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "tls.key").write_bytes(b"KEY")
    inline = base64.b64encode(b"CERTIFICATE").decode()
    user = {"client-certificate-data": inline, "client-key": "tls.key"}
    connection = load(write(tmp_path / "config", document(**user)))
    assert (connection.client_certificate, connection.client_key) == (b"CERTIFICATE", b"KEY")


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["dev", "ops"], "as-user-extra": {"scopes": ["view"]}}
    assert load(write(tmp_path / "config", document(**user))).impersonate == {
        "Impersonate-User": ("jane",),
        "Impersonate-Group": ("dev", "ops"),
        "Impersonate-Extra-scopes": ("view",),
    }


def test_of_several_files_the_first_to_name_a_thing_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(tmp_path / "first", {"users": [{"name": "u", "user": {"token": "first"}}]})
    second = write(tmp_path / "second", document(token="second"))
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'absent'}:{second}")
    assert load().token == "first"


@pytest.mark.parametrize(
    ("user", "context", "message"),
    [
        ({"exec": {"command": "login"}}, "dev", 'user "u": credentials from "exec" are not supported'),
        ({"auth-provider": {"name": "gcp"}}, "dev", 'credentials from "auth-provider" are not supported'),
        ({"client-key-data": "a2V5"}, "dev", "client-certificate and client-key go together"),
        ({"client-certificate": "absent.crt"}, "dev", "No such file"),
        ({}, "prod", 'context "prod" does not exist'),
        ({}, "broken", 'cluster "missing" does not exist'),
    ],
)
def test_unsupported_credentials_are_named(
    tmp_path: Path, user: dict[str, Any], context: str, message: str
) -> None:
    file = write(tmp_path / "config", document(**user))
    with pytest.raises(KubeconfigError, match=message):
        load(file, context)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="config does not exist"):
        load(tmp_path / "config")


def test_a_file_that_is_not_a_configuration_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("- 1\n- 2\n")
    with pytest.raises(KubeconfigError, match="not a kubeconfig file"):
        load(file)
