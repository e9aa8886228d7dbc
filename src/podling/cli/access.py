"""``podling kubeconfig`` and ``podling token``: ways in for an administrator, and for new nodes.

An administrator's token is a service account's, made by the API server itself and bound by its own rules: it
expires, and deleting the service account ``kube-system/podling-admin`` revokes every one of them. The tokens
with which nodes join are bootstrap tokens (``join_tokens``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.client.base import Client, Unreachable
from podling.client.http import HttpClient
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError, is_already_exists

T = TypeVar("T")

ADMINISTRATOR = "podling-admin"
NAMESPACE = "kube-system"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.command()
@data_directory_option
@click.option("--path", is_flag=True, help="Print where the file is instead of what it says.")
@click.option(
    "--advertised",
    is_flag=True,
    help="For other machines: with the address of 'podling up --advertise-address'.",
)
def kubeconfig(directory: DataDirectory, path: bool, advertised: bool) -> None:
    """Print the administrator's kubeconfig."""
    if path and advertised:
        raise click.UsageError("--path and --advertised exclude each other: the file leads to loopback")
    if not directory.kubeconfig.exists():
        raise Failure(
            f"there is no cluster at {directory.path}; start one: podling up --data-dir {directory.path}"
        )
    text = directory.kubeconfig.read_text()
    if advertised:
        settings = directory.settings()
        text = text.replace(loopback_url(settings), advertised_address(directory))
    click.echo(directory.kubeconfig if path else text, nl=path)


def loopback_url(settings: ClusterSettings) -> str:
    return f"https://127.0.0.1:{settings.port}"


def advertised_address(directory: DataDirectory) -> str:
    """Return the URL of the API server for other machines. Raises ``Failure`` where there is none."""
    from podling.cluster.served_api import advertised_url

    settings = directory.settings()
    url = advertised_url(settings, settings.port)
    if not url:
        raise Failure(
            "the cluster serves this machine alone; start it with --advertise-address IP, an address of this "
            "machine that the others reach"
        )
    return url


@click.group()
def token() -> None:
    """Make bearer tokens, and the tokens with which nodes join."""


@token.command("create")
@data_directory_option
@click.option(
    "--duration", "--ttl", default="24h", show_default=True, help="How long it is good: 30m, 12h, 7d ..."
)
@click.option(
    "--join", is_flag=True, help="Print a command that lets another machine join, with a token for nodes."
)
@click.option("--description", default="", help="With --join: what the token is for.")
def create(directory: DataDirectory, duration: str, join: bool, description: str) -> None:
    """Print a bearer token of an administrator, or a command with a token for nodes."""
    require_running(directory)
    seconds = parse_duration(duration)
    if join:
        from podling.cli.join_tokens import join_command

        click.echo(run_request(join_command(directory, advertised_address(directory), seconds, description)))
        return
    click.echo(run_request(_create(directory, seconds)))


@token.command("list")
@data_directory_option
def list_tokens(directory: DataDirectory) -> None:
    """Show the tokens with which nodes join."""
    from podling.cli.join_tokens import token_rows

    require_running(directory)
    for row in run_request(token_rows(directory)):
        click.echo(row)


@token.command("delete")
@data_directory_option
@click.argument("token_id", metavar="TOKEN")
def delete_token(directory: DataDirectory, token_id: str) -> None:
    """Delete a token with which nodes join, by its id or as a whole. Nodes that have joined stay."""
    from podling.cli.join_tokens import remove_token

    require_running(directory)
    click.echo(run_request(remove_token(directory, token_id)))


def run_request(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of requests to the API server. Raises ``Failure`` in place of their errors."""
    try:
        return asyncio.run(work)
    except (ApiError, Unreachable) as error:
        raise Failure(str(error)) from error


def parse_duration(text: str) -> int:
    """``90s``, ``30m``, ``12h``, ``7d`` in seconds. Raises ``Failure``."""
    match = re.fullmatch(r"(\d+)([smhd])", text)
    if not match:
        raise Failure(f"not a duration: {text!r}; write a number and s, m, h or d, such as 12h")
    return int(match[1]) * SECONDS[match[2]]


async def _create(directory: DataDirectory, seconds: int) -> str:
    from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
    from podling.api.core_v1 import ServiceAccount

    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        await _ensure_administrator(client)
        wanted = TokenRequest(spec=TokenRequestSpec(expiration_seconds=seconds))
        made = await client.create_subresource(ServiceAccount, ADMINISTRATOR, "token", wanted, NAMESPACE)
    finally:
        await client.close()
    if not isinstance(made, TokenRequest) or not made.status.token:
        raise Failure("the API server answered a token request without a token")
    return made.status.token


async def _ensure_administrator(client: Client) -> None:
    """The service account behind the tokens, and its right to do everything."""
    from podling.api.core_v1 import ServiceAccount
    from podling.api.meta_v1 import ObjectMeta
    from podling.api.rbac_v1 import ClusterRoleBinding, RoleRef, Subject

    metadata = ObjectMeta(name=ADMINISTRATOR, namespace=NAMESPACE)
    role = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="cluster-admin")
    subject = Subject(kind="ServiceAccount", name=ADMINISTRATOR, namespace=NAMESPACE)
    binding = ClusterRoleBinding(metadata=ObjectMeta(name=ADMINISTRATOR), role_ref=role, subjects=(subject,))
    for obj in (ServiceAccount(metadata=metadata), binding):
        try:
            await client.create(obj, namespace=obj.metadata.namespace)
        except ApiError as error:
            if not is_already_exists(error):
                raise
