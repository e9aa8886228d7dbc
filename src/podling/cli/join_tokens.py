"""The tokens with which nodes of other machines join: bootstrap tokens, as kubeadm makes them."""

from __future__ import annotations

from datetime import timedelta

from podling import clock, ids
from podling.api.core_v1 import ConfigMap, Secret
from podling.apiserver.auth.pki import Pki
from podling.cli.common_options import Failure
from podling.client.base import Client
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.machinery import cluster_info
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.tables import human_duration
from podling.machinery.tokens import bootstrap_tokens
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken

SIGNED_SECONDS = 5.0
"""The time that the signature with a new token may take."""
LOOK_SECONDS = 0.02
HEADINGS = ("TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS")


def new_token() -> BootstrapToken:
    """Return an unguessable token."""
    return BootstrapToken(
        ids.secret_letters(bootstrap_tokens.ID_LENGTH), ids.secret_letters(bootstrap_tokens.SECRET_LENGTH)
    )


async def join_command(directory: DataDirectory, url: str, seconds: int, description: str) -> str:
    """Make a token and return the command with which another machine joins.

    Raises ``Failure`` if nothing signs with the token, ``ApiError`` and ``Unreachable``.
    """
    token = new_token()
    ca_hash = cluster_info.key_hash(Pki(directory.pki).ca_pem)
    expires = clock.now() + timedelta(seconds=seconds) if seconds else None
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        await client.create(bootstrap_tokens.new_secret(token, expires, description))
        await _signed(client, token.id)
    finally:
        await client.close()
    return f"podling join {url} --token {token} --ca-hash {ca_hash}"


async def _signed(client: Client, token_id: str) -> None:
    """Wait until the cluster's information is signed with a token, without which no node can use it."""
    deadline = clock.monotonic() + SIGNED_SECONDS
    while clock.monotonic() < deadline:
        held = await client.get(ConfigMap, cluster_info.NAME, cluster_info.NAMESPACE)
        if f"{cluster_info.SIGNATURE_PREFIX}{token_id}" in held.data:
            return
        await clock.sleep(LOOK_SECONDS)
    raise Failure(
        f"the cluster has not signed its information with token {token_id}: does bootstrap-signer-controller "
        "run (--controllers)?"
    )


async def token_rows(directory: DataDirectory) -> list[str]:
    """Return a table of the tokens, one row a line. Raises ``ApiError`` and ``Unreachable``."""
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        secrets = (await client.list(Secret, bootstrap_tokens.NAMESPACE)).items
    finally:
        await client.close()
    rows = [HEADINGS, *(_row(each) for each in secrets if each.type == bootstrap_tokens.SECRET_TYPE)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return [
        "   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(secret: Secret) -> tuple[str, ...]:
    def value(key: str) -> str:
        return bootstrap_tokens.value(secret, key)

    left = bootstrap_tokens.remaining(secret, clock.now())
    usages = (
        ("authentication", bootstrap_tokens.AUTHENTICATION_KEY),
        ("signing", bootstrap_tokens.SIGNING_KEY),
    )
    token = f"{value(bootstrap_tokens.ID_KEY)}.{value(bootstrap_tokens.SECRET_KEY)}"
    return (
        token,
        "<forever>" if left is None else human_duration(left) if left else "<invalid>",
        value(bootstrap_tokens.EXPIRATION_KEY) or "<never>",
        ",".join(name for name, key in usages if value(key) == "true") or "<none>",
        value(bootstrap_tokens.DESCRIPTION_KEY) or "<none>",
        value(bootstrap_tokens.GROUPS_KEY) or "<none>",
    )


async def remove_token(directory: DataDirectory, text: str) -> str:
    """Delete the token of an id, or a whole token; return what was done. Raises ``Failure``."""
    token_id = text.partition(".")[0]
    name = bootstrap_tokens.secret_name(token_id)
    if not bootstrap_tokens.id_of_secret(name):
        raise Failure(f"{text!r} is no token: its id is six small letters and digits")
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        await client.delete(Secret, name, bootstrap_tokens.NAMESPACE)
    except ApiError as error:
        if not is_not_found(error):
            raise
        raise Failure(f"there is no token {token_id}; 'podling token list' shows them") from error
    finally:
        await client.close()
    return f'bootstrap token "{token_id}" deleted'
